/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces a force evaluation in one phase (motion.h) by an assumed map on any number of parts: every part's work, and
 * the messages to and from it in each phase of the exchange, as evaluate.c would send them. */
#ifndef BH_TRACE_H
#define BH_TRACE_H

#include "../domain/domain.h"
#include "../forces/evaluate.h"

#include <equipoise/problem.h>

/* The groups at home, whose essential trees are here. */
typedef struct bh_trace {
    const bh_domain *domain;
    const bh_mac *mac;
    const eqp_cost_fit *costs;
    int64_t first_group; /* groups of lower ranks */
    int phase;           /* particles on earlier rungs are not active */
    bool overlaps;       /* tasks that need no ghosts are computed while the essential trees are sent */
} bh_trace;

/* Adds loads, blocks and needs of the phases BH_PHASE_... to the evaluation, or its loads alone. placement [groups] of
 * this rank's groups. Collective. */
int bh_trace_map(const bh_trace *trace, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation);

#endif
