/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the traffic of blocks once for several values of `broadcast`: plans that differ only in that send the same
 * blocks on the same routes, except hot ones. */
#ifndef EQUIPOISE_MOVE_TRAFFIC_H
#define EQUIPOISE_MOVE_TRAFFIC_H

#include "base/internal.h"
#include "move/evaluation.h"
#include "stages.h"

#include <stdint.h>

#define EQP__LEVELS_MAX 3

typedef struct eqp__plan_family {
    eqp_stages stages;
    int node;
    int nlevels;                    /* plans */
    int broadcast[EQP__LEVELS_MAX]; /* of each plan; earlier plans treat more blocks as hot; the last is 0 */
} eqp__plan_family;

/* The family of plan[first], which broadcasts nothing, among the plans of eqp__exchange_plans(). index[level]: index
 * of each plan. */
eqp__plan_family eqp__plan_family_of(int nplans, const eqp_exchange_plan *plan, int first, int *index);

/* Counts one phase by every plan of a family: exactly what eqp_route of <equipoise/more/comm.h> sends. Adds to all
 * arrays of traffic[nlevels], nothing on error; NULL arrays are skipped. A message counts if it has at least one block,
 * even one of 0 bytes. In an allgather or reduce-scatter of hot blocks every part has ceil(log2 N) messages out and in
 * (N: parts, or nodes) and receives the bytes of all hot blocks (of its lane) except its own; sent bytes are counted as
 * received bytes. It is one more stage; a lane without hot blocks skips it. Homes of blocks ascend, and
 * parts of a block. At most EQP__TRAFFIC_MAX bytes of blocks times parts. EQP_OK, EQP_ERR_ARGUMENT (a node that does
 * not divide the parts), EQP_ERR_MEMORY. Local, O(needs x stages), deterministic. */
int eqp__traffic_count(const eqp_phase *phase, int nparts, const eqp__plan_family *family, const eqp_network *network,
                       const eqp_traffic *traffic);

/* Limit on a phase's sum over blocks of bytes (or elements) times users, below which sums over the stages of all
 * phases cannot overflow. */
#define EQP__TRAFFIC_MAX ((int64_t)1 << 55)

/* Adds a block to such a sum. EQP_OK or EQP_ERR_OVERFLOW. */
static inline int eqp__traffic_add(int64_t *sum, int64_t size, int64_t users)
{
    EQP__FAIL_IF(size > (EQP__TRAFFIC_MAX - *sum) / (users > 1 ? users : 1), EQP_ERR_OVERFLOW);
    *sum += size * (users > 1 ? users : 1);
    return EQP_OK;
}

static inline int64_t eqp__larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Adds to one part's sum, unless it is not wanted. */
static inline void eqp__add_if(int64_t *sum, int part, int64_t n)
{
    if (sum) {
        sum[part] += n;
    }
}

/* Checks that one or several phases can be added without overflow. EQP_OK or EQP_ERR_OVERFLOW. */
int eqp__traffic_check(const eqp_traffic *traffic, int nparts);

/* Smallest k with 2^k >= n: the number of messages in an allgather. */
static inline int eqp__log2_ceil(int n)
{
    int k = 0;

    while ((INT64_C(1) << k) < n) {
        k++;
    }
    return k;
}

#endif
