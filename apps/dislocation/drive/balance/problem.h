/* SPDX-License-Identifier: BSD-3-Clause */
/* A network as the balancer sees it (<equipoise/problem.h>): owners are nodes with the segments that they own,
 * interactions are pairs of segments, what they touch are nodes. */
#ifndef DD_PROBLEM_H
#define DD_PROBLEM_H

#include "node_pairs.h"

struct dd_simulation;

/* Set `sim` (borrowed), the rest is zero; must stay where it is while its balancer lives. */
typedef struct dd_problem {
    struct dd_simulation *sim;
    /* Between open and close: */
    eqp_cost_fit costs;
    dd_node_pairs node_pairs;
    const dd_grid *grid;
} dd_problem;

/* The functions, for the state of a simulation after an evaluation. To close it frees the stage, since to make a map
 * takes room: forces can be computed again when that is planned anew. advance: motion alone, as nodes that come and go
 * with the topology would leave placements without owners and owners without placements. assign: sectioning and
 * bisection, after as many moves of their walls as a run would have made. */
eqp_problem dd_problem_functions(dd_problem *problem);

#endif
