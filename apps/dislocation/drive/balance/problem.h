/* SPDX-License-Identifier: BSD-3-Clause */
/* A network as the balancer sees it (<equipoise/problem.h>): owners are nodes with the segments they own, interactions
 * are pairs of segments, ghosts are segments. */
#ifndef DD_PROBLEM_H
#define DD_PROBLEM_H

#include "node_pairs.h"

struct dd_simulation;

/* Set `sim` (borrowed), the rest is zero. Must not move while its balancer lives. */
typedef struct dd_problem {
    struct dd_simulation *sim;
    /* Between open and close: */
    eqp_cost_fit costs;
    dd_node_pairs node_pairs;
    const dd_grid *grid;
} dd_problem;

/* The functions, for the state of a simulation after an evaluation. Closing frees the stage, since making a map takes
 * memory; the next plan makes it again. advance: motion only, since nodes that the topology creates or removes would
 * leave placements and owners unmatched. assign: sectioning and bisection, after as many wall moves as a run would have
 * made. */
eqp_problem dd_problem_functions(dd_problem *problem);

#endif
