/* SPDX-License-Identifier: BSD-3-Clause */
/* A network as the balancer sees it (<equipoise/problem.h>): owners are nodes with the segments they own, interactions
 * are pairs of segments, ghosts are segments. */
#ifndef DD_PROBLEM_H
#define DD_PROBLEM_H

#include "../forces/evaluate.h"

#include <equipoise/survey.h>

/* ---- Pairs of every own node's segments by source cell, which is all that a trace needs of the forces. Near-parallel
 * pairs cost more and depend on positions, so pairs are counted one by one, once per state of the network, and only for
 * nodes that a method considers sharing. */

typedef struct dd_meeting {
    int32_t pair, parallel;
    int32_t runs; /* segments of the node with pairs there */
} dd_meeting;

typedef struct dd_node_pairs {
    const dd_domain *domain; /* borrowed, as everything not marked owned */
    const dd_halo *halo;
    const dd_evaluator *evaluator;
    const dd_stage *stage; /* has every own node's segments and their partners */
    dd_stage whole;        /* such a stage, if the run's is not; owned */
    int64_t n;             /* own nodes */
    int64_t *first;        /* [n + 1] own segments of each; owned */
    int *cell;             /* [n + ghosts] cell of each node and ghost that owns segments; owned */
    dd_counts *of_node;    /* [n] work of each node computed whole; owned */
    dd_meeting **meeting;  /* [n] for each source cell; NULL: not counted; each owned */
} dd_node_pairs;

/* Takes the state of the last evaluation, which must not change while the node pairs are in use. *node_pairs is zeroed.
 * Collective; the caller frees it in any case. */
int dd_node_pairs_take(dd_domain *domain, const dd_halo *halo, const dd_stage *stage, const dd_evaluator *evaluator,
                       dd_node_pairs *node_pairs);
void dd_node_pairs_free(dd_node_pairs *node_pairs);

/* Pairs of an own node with each of dd_grid_sources() of its cell. *meeting is borrowed from the node pairs. The first
 * call costs O(its pairs). EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_node_pairs_meet(dd_node_pairs *node_pairs, int64_t node, const dd_meeting **meeting);

/* ---- Nodes as owners of their segments' interactions. */

/* Curve key of a position in a cube around the box. Local. */
int dd_key(const dd_domain *domain, const double x[3], uint64_t *key);

/* Adds the own nodes without their work. EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_survey_names(const dd_domain *domain, eqp_survey *survey);

/* Adds the own nodes with the work of the last evaluation at the survey's detail, and this rank's work on shared nodes
 * with all of their tiles, since each rank knows only a part of them. A tile is an owner's work with one source cell.
 * Collective. */
int dd_survey(const dd_domain *domain, const dd_stage *stage, const dd_evaluator *evaluator, uint64_t seed,
              eqp_survey *survey);

/* ---- Traces a force evaluation under an assignment of nodes to any number of parts: loads, and data between parts.
 * Nothing moves: each rank traces its own nodes. Real ranks with such a map send the same messages and bytes. */

/* Adds loads by the costs and, unless loads_only, blocks and needs of this rank's nodes to the evaluation. placement:
 * [own nodes]. A block known to several ranks is declared by one of them. Collective. EQP_OK, EQP_ERR_MEMORY,
 * EQP_ERR_MPI on all ranks. */
int dd_trace(dd_node_pairs *node_pairs, const eqp_cost_fit *costs, int nparts, const eqp_map *map,
             const eqp_placement *placement, bool loads_only, eqp_evaluation *evaluation);

struct dd_simulation;

/* Set `sim` (borrowed) and zero the rest. Must not move while its balancer lives. */
typedef struct dd_problem {
    struct dd_simulation *sim;
    /* Between open and close: */
    eqp_cost_fit costs;
    dd_node_pairs node_pairs;
    const dd_grid *grid;
} dd_problem;

/* Functions for the state after an evaluation. close frees the stage, since making a map takes memory; the next plan
 * makes it again. advance: motion only, since topology changes would leave placements and owners unmatched. assign:
 * sectioning and bisection, after as many wall moves as a run would have made. */
eqp_problem dd_problem_functions(dd_problem *problem);

#endif
