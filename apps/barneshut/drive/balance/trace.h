/* SPDX-License-Identifier: BSD-3-Clause */
/* What an assumed map makes of a force evaluation, one turn of a phase of a cycle (motion.h), on any number of parts:
 * every part's work, and what travels to and from it in each phase of the exchange, as evaluate.c would send it. */
#ifndef BH_TRACE_H
#define BH_TRACE_H

#include "../domain/domain.h"
#include "../forces/evaluate.h"

#include <equipoise/problem.h>

/* Groups whose lists are walked: those at home, whose essential trees are here. */
typedef struct bh_trace {
    const bh_domain *domain;
    const bh_mac *mac;
    const eqp_cost_fit *costs;
    int64_t first_group; /* groups of lower ranks */
    int phase;           /* particles on earlier rungs are not active */
    bool overlaps;       /* tasks that need nothing of others are computed while the essential trees travel */
} bh_trace;

/* Adds loads, blocks and needs of the phases BH_PHASE_... to the evaluation. placement [groups] of this rank's groups.
 * Collective. */
int bh_trace_map(const bh_trace *trace, int nparts, const eqp_map *map, const eqp_placement *placement,
                 eqp_evaluation *evaluation);

/* The loads alone; tag [groups]. Local. */
int bh_trace_loads(const bh_trace *trace, int nparts, const eqp_map *map, const int64_t *tag,
                   eqp_evaluation *evaluation);

#endif
