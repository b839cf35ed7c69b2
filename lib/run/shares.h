/* SPDX-License-Identifier: BSD-3-Clause */
/* Fraction of the work for each rank: equal, declared, or measured. */
#ifndef RUN_SHARES_H
#define RUN_SHARES_H

#include "map/options.h"
#include "run/overhead.h"

#include <equipoise/balancer.h>

/* Speeds of a run's ranks. */
typedef struct eqp_rank_shares eqp_rank_shares;

/* choice: borrowed. automatic: the policy decides when maps are made. Local, O(ranks). EQP_OK, EQP_ERR_ARGUMENT for
 * speeds that do not fit the ranks, EQP_ERR_MEMORY. */
int eqp__rank_shares_create(const eqp_share_options *choice, bool automatic, int nranks, eqp_rank_shares **shares);
void eqp__rank_shares_free(eqp_rank_shares *shares);

/* Records a step: rows [ranks], with the work of all its evaluations (a size is the work of one). Rows without work or
 * with an invalid time are left out. Local. */
void eqp__rank_shares_learn(eqp_rank_shares *shares, int64_t evaluations, const eqp_rank_row *rows);

/* True if measured speeds differ from those of the present map by more than a tenth and by more than its granularity
 * can resolve. A map is then due before the next step, regardless of the policy; after ten such maps in a row the
 * waits grow. Always false unless the policy is automatic. */
bool eqp__rank_shares_want(const eqp_rank_shares *shares);

/* Renews the speeds for the next map from the recorded steps. Local; EQP_OK or EQP_ERR_MEMORY with unchanged speeds. */
int eqp__rank_shares_renew(eqp_rank_shares *shares);

/* Relative speeds by the last renewal, i.e. those of the present map. Borrowed until the next renewal. */
eqp_part_speeds eqp__rank_shares_speeds(const eqp_rank_shares *shares);

/* Numbers per rank in a restart file: its speed, its work and seconds since the last renewal, its last speed. */
enum { EQP__SHARE_ROWS = 4 };

/* Passes these for all ranks: [EQP__SHARE_ROWS][ranks]. Invalid numbers count as not measured. */
void eqp__rank_shares_pass(eqp_rank_shares *shares, eqp__cursor *c);

/* The remaining state, the same on all ranks; a restart file holds it. */
typedef struct eqp__kept_shares {
    int64_t maps;               /* consecutive maps made for different speeds */
    int64_t steps, evaluations; /* since the last renewal */
} eqp__kept_shares;

eqp__kept_shares *eqp__rank_shares_kept(eqp_rank_shares *shares);

#endif
