/* SPDX-License-Identifier: BSD-3-Clause */
/* What a step takes beside the work that a map deals out: fitted to what ranks were busy with in steps that kept their
 * map. */
#ifndef RUN_OVERHEAD_H
#define RUN_OVERHEAD_H

#include "map/costs.h"

#include <equipoise/balancer.h>

/* The same on all ranks. */
typedef struct eqp_overheads {
    eqp_overhead nominal;
    eqp_costs costs;
} eqp_overheads;

/* nominal: NULL, none. EQP_OK or EQP_ERR_ARGUMENT for costs out of their range. */
int eqp__overheads_init(eqp_overheads *o, const eqp_overhead *nominal);

/* What holds now: the nominal costs before any step has told. */
eqp_overhead eqp__overheads_now(const eqp_overheads *o);

/* CPU seconds beside its load that a rank's row makes expect, in a step of so many evaluations. */
double eqp__overheads_predict(const eqp_overheads *o, const eqp_rank_row *row, int64_t evaluations);

/* All ranks' rows of a step that kept its map; those that do not say what they were busy with teach nothing. EQP_OK or
 * EQP_ERR_DATA for seconds that are none. Local; needs no memory: it comes after the ranks have met, and they must all
 * succeed or none. */
int eqp__overheads_learn(eqp_overheads *o, int nranks, const eqp_rank_row *rows, int64_t evaluations);

#endif
