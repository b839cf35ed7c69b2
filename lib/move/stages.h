/* SPDX-License-Identifier: BSD-3-Clause */
/* The routes of a plan, as arithmetic shared by the model and the executor. Nodes (parts, if memory is not shared)
 * form a ring. The route between two nodes is their distance around the ring in mixed radix: stage j covers the j-th
 * digit, most significant first, so that a block crosses the long distance once and is distributed near its users.
 * In a stage of radix b a node exchanges messages with b - 1 nodes. Direct exchange has one digit. Works for any
 * number of nodes. */
#ifndef EQUIPOISE_MOVE_STAGES_H
#define EQUIPOISE_MOVE_STAGES_H

#include <equipoise/problem.h>

#define EQP__STAGES_MAX 17

typedef struct eqp__stages {
    int nnodes, node;            /* nodes, parts per node */
    int n;                       /* stages */
    int stride[EQP__STAGES_MAX]; /* descending, the last is 1; d / stride[j] is stage j's digit of the distance d left
                                  * by earlier stages */
} eqp__stages;

/* EQP_OK, or EQP_ERR_ARGUMENT for a node that does not divide the parts. No stages for one node. */
int eqp__stages_make(const eqp_exchange_plan *plan, int nparts, eqp__stages *stages);

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
