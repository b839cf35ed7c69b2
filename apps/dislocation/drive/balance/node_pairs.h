/* SPDX-License-Identifier: BSD-3-Clause */
/* What every own node's segments do, cell by cell of their sources: all that a trace has to know of the forces. Near
 * parallel pairs cost more, and which ones these are depends on positions, so they are counted pair by pair; once for a
 * state of the network, and only for the nodes that somebody thinks of sharing out. */
#ifndef DD_NODE_PAIRS_H
#define DD_NODE_PAIRS_H

#include "../evaluate.h"

/* What a node's segments do with those of one cell. */
typedef struct dd_meeting {
    int32_t pair, parallel;
    int32_t runs; /* segments of the node that meet any */
} dd_meeting;

typedef struct dd_node_pairs {
    const dd_domain *domain; /* borrowed, as is all else that is not said to be owned */
    const dd_halo *halo;
    const dd_evaluator *evaluator;
    const dd_stage *stage; /* with every own node's segments and all that they meet */
    dd_stage whole;        /* it, where the run's stage has not got all of that; owned */
    int64_t n;             /* own nodes */
    int64_t *first;        /* [n + 1] own segments of each; owned */
    int *cell;             /* [n + ghosts] of each node, and of the halo's ghosts, if it owns segments; owned */
    dd_counts *of_node;    /* [n] what each does if it is computed whole; owned */
    dd_meeting **meeting;  /* [n] for each source cell; NULL: not yet counted; owned, each */
} dd_node_pairs;

/* Takes the state for which the evaluator has computed forces last; nothing of it may change while the node pairs is
 * used. *node_pairs is zeroed. Collective; the caller frees it in any case. */
int dd_node_pairs_take(dd_domain *domain, const dd_halo *halo, const dd_stage *stage, const dd_evaluator *evaluator,
                       dd_node_pairs *node_pairs);
void dd_node_pairs_free(dd_node_pairs *node_pairs);

/* What an own node does with each of dd_grid_sources() of its cell: *meeting is borrowed from the node pairs. O(its
 * pairs) the first time. EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_node_pairs_meet(dd_node_pairs *node_pairs, int64_t node, const dd_meeting **meeting);

#endif
