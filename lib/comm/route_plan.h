/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the two halves of the inspector: route_plan.c passes descriptions of blocks from stage to
 * stage, route_keep.c handles blocks that stay in a node. */
#ifndef EQUIPOISE_COMM_ROUTE_PLAN_H
#define EQUIPOISE_COMM_ROUTE_PLAN_H

#include "comm/route_tables.h"

/* A block at this rank that this or further ranks still need. */
typedef struct eqp__traveller {
    int64_t id, bytes, seq; /* seq: its place among its home's blocks */
    int64_t at;             /* in own blocks or the pool */
    int64_t user, nusers;   /* into inspector.user: ranks that it has not been sent towards, nearest node first */
    int home, own;
} eqp__traveller;

/* A broadcast block, followed by one bit per rank, set for its users. */
typedef struct eqp__hot {
    int64_t id, bytes, seq;
    int64_t home;
} eqp__hot;

typedef struct eqp__inspector {
    eqp_route *route;
    eqp__traveller *travellers;
    int64_t n, capacity;
    int *user;
    int64_t nusers, users_capacity;
    uint64_t *hot; /* [nhot][hot_words] records */
    int64_t nhot, hot_capacity, hot_words;
    int64_t pool; /* bytes so far */
} eqp__inspector;

/* Sets first[nkeys + 1] and order[n] so that items first[k] to first[k + 1] of the order have key k; stable. */
void eqp__order_by(int64_t n, const int *key, int nkeys, int64_t *first, int64_t *order);

/* Adds to a number of bytes: EQP_OK or EQP_ERR_OVERFLOW. */
int eqp__add_bytes(int64_t *sum, int64_t bytes);

/* Appends; EQP_OK or EQP_ERR_MEMORY. */
int eqp__span_add(eqp__spans *spans, int64_t from, int64_t to, int64_t bytes, int who);

/* Lists blocks that stay after the last stage: memory, arrivals, contributions. For plans with nodes or broadcast it is
 * collective and returns the code of all ranks; otherwise it is local. *alone: this rank's code, before and after */
int eqp__route_keep(eqp__inspector *in, int *alone);

#endif
