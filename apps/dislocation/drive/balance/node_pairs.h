/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of every own node's segments by source cell: all that a trace needs to know of the forces. Near-parallel pairs
 * cost more and depend on positions, so they are counted pair by pair; once for each state of the network, and only for
 * nodes that a method considers sharing. */
#ifndef DD_NODE_PAIRS_H
#define DD_NODE_PAIRS_H

#include "../forces/evaluate.h"

/* Pairs of a node's segments with those of one cell. */
typedef struct dd_meeting {
    int32_t pair, parallel;
    int32_t runs; /* segments of the node with pairs there */
} dd_meeting;

typedef struct dd_node_pairs {
    const dd_domain *domain; /* borrowed, as everything not marked owned */
    const dd_halo *halo;
    const dd_evaluator *evaluator;
    const dd_stage *stage; /* has every own node's segments and their partners */
    dd_stage whole;        /* such a stage, if the run's has not all of that; owned */
    int64_t n;             /* own nodes */
    int64_t *first;        /* [n + 1] own segments of each; owned */
    int *cell;             /* [n + ghosts] cell of each node and ghost that owns segments; owned */
    dd_counts *of_node;    /* [n] work of each node computed whole; owned */
    dd_meeting **meeting;  /* [n] for each source cell; NULL: not counted; each owned */
} dd_node_pairs;

/* Takes the state of the last evaluation, of which nothing may change while the node pairs are in use. *node_pairs is
 * zeroed. Collective; the caller frees it in any case. */
int dd_node_pairs_take(dd_domain *domain, const dd_halo *halo, const dd_stage *stage, const dd_evaluator *evaluator,
                       dd_node_pairs *node_pairs);
void dd_node_pairs_free(dd_node_pairs *node_pairs);

/* Pairs of an own node with each of dd_grid_sources() of its cell: *meeting is borrowed from the node pairs. O(its
 * pairs) the first time. EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_node_pairs_meet(dd_node_pairs *node_pairs, int64_t node, const dd_meeting **meeting);

#endif
