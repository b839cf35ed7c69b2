/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways of a plan, as arithmetic that the model and the executor share. Nodes (parts, where nobody shares memory)
 * stand in a ring. The way from one to another is the distance between them around the ring, written in mixed radix:
 * stage j covers the j-th digit, the most significant first, so that a block crosses far once and is dealt out near its
 * users. A stage of radix b lets a node talk to b - 1 others. Direct: one digit. Works for any number of nodes. */
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

/* Whether a block is hot: more than nparts / broadcast parts need it. */
static inline int eqp__is_hot(const eqp_exchange_plan *plan, int nparts, int64_t users)
{
    return plan->broadcast > 0 && users * plan->broadcast > nparts;
}

#endif
