/* SPDX-License-Identifier: BSD-3-Clause */
/* Fraction of the work for each rank: equal, declared, or measured. */
#ifndef RUN_SHARES_H
#define RUN_SHARES_H

#include "map/options.h"
#include "run/overhead.h"

#include <equipoise/balancer.h>

/* The speeds of a run's ranks, and how they are found. */
typedef struct eqp_rank_shares eqp_rank_shares;

/* choice: borrowed. automatic: the policy leaves it open when maps are made. Local, O(ranks). EQP_OK, EQP_ERR_ARGUMENT
 * for speeds that do not fit the ranks, EQP_ERR_MEMORY. */
int eqp__rank_shares_create(const eqp_share_options *choice, bool automatic, int nranks, eqp_rank_shares **shares);
void eqp__rank_shares_free(eqp_rank_shares *shares);

/* Records a step: rows [ranks], with the work of all its evaluations (a size is the work of one). Rows without work or
 * with an invalid time are left out. Local. */
void eqp__rank_shares_learn(eqp_rank_shares *shares, int64_t evaluations, const eqp_rank_row *rows);

/* True if measured speeds differ by more than a tenth from those of the present map, beyond what its granularity can
 * resolve. A map is then due before the next step, regardless of the policy; after ten such maps in a row the waits
 * grow. Always false unless the policy is automatic. */
bool eqp__rank_shares_want(const eqp_rank_shares *shares);

/* New speeds for the next map, by what was learnt. Local; EQP_OK or EQP_ERR_MEMORY, and the speeds stay. */
int eqp__rank_shares_renew(eqp_rank_shares *shares);

/* Relative speeds of the ranks that the last renewal has found: those of the present map. Borrowed until the next. */
eqp_part_speeds eqp__rank_shares_speeds(const eqp_rank_shares *shares);

/* Numbers of a rank that bytes hold: its speed, its work and seconds since the last renewal, its last speed. */
enum { EQP__SHARE_ROWS = 4 };

/* Passes them for all ranks: [EQP__SHARE_ROWS][ranks]. What cannot be is left as if nothing had been seen. */
void eqp__rank_shares_pass(eqp_rank_shares *shares, eqp__cursor *c);

/* The remaining state as plain data, the same on all ranks, and a check of that data. */
typedef struct eqp__kept_shares {
    int64_t maps, steps, evaluations;
} eqp__kept_shares;

void eqp__rank_shares_keep(const eqp_rank_shares *shares, eqp__kept_shares *kept);
bool eqp__rank_shares_can_be(const eqp__kept_shares *kept);
void eqp__rank_shares_take_back(eqp_rank_shares *shares, const eqp__kept_shares *kept);

#endif
