/* SPDX-License-Identifier: BSD-3-Clause */
/* The routes of a plan, as arithmetic shared by the model and the executor. Nodes (parts, if memory is not shared) form
 * a ring. The route between two nodes is their distance around the ring in mixed radix: stage j covers the j-th digit,
 * the most significant first, so that a block crosses the long distance once and is distributed near its users. In a
 * stage of radix b a node talks to b - 1 others. Direct: one digit. Works for any number of nodes. */
#ifndef EQUIPOISE_MOVE_STAGES_H
#define EQUIPOISE_MOVE_STAGES_H

#include <equipoise/problem.h>

#define EQP__STAGES_MAX 17

typedef struct eqp__stages {
    int nnodes, node;            /* nodes, parts in each */
    int n;                       /* stages */
    int stride[EQP__STAGES_MAX]; /* of each stage: descending, the last is 1; stage j's digit of a distance d that the
                                    stages before have left is d / stride[j] */
} eqp__stages;

/* EQP_OK, or EQP_ERR_ARGUMENT for a node that does not divide the parts. No stages for one node. */
int eqp__stages_make(const eqp_exchange_plan *plan, int nparts, eqp__stages *stages);

/* Distance around the ring. */
static inline int eqp__distance(const eqp__stages *stages, int from, int to)
{
    return to >= from ? to - from : to - from + stages->nnodes;
}

/* The node that lies `distance` further. */
static inline int eqp__further(const eqp__stages *stages, int from, int distance)
{
    const int to = from + distance;
    return to >= stages->nnodes ? to - stages->nnodes : to;
}

/* True if a block is hot: more than nparts / broadcast parts need it. */
static inline int eqp__is_hot(const eqp_exchange_plan *plan, int nparts, int64_t users)
{
    return plan->broadcast > 0 && users * plan->broadcast > nparts;
}

#endif
