/* SPDX-License-Identifier: BSD-3-Clause */
/* Hard caps on what parts hold: items are moved until no part is above its own, or it is proven that none of all
 * assignments keeps to them. */
#ifndef EQUIPOISE_METHODS_FRAME_CAPACITY_H
#define EQUIPOISE_METHODS_FRAME_CAPACITY_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdint.h>

/* Most that sizes may sum to. */
#define EQP__SIZES_MAX (INT64_C(1) << 61)

/* Items in curve order, and the caps. All borrowed. */
typedef struct eqp__capping {
    int64_t n;
    const int64_t *size;  /* [n] >= 0, sum at most EQP__SIZES_MAX */
    const double *weight; /* [n] of which parts are to have equal shares */
    int nparts;
    const int64_t *capacity; /* [nparts] most that the sizes of a part may sum to, >= 0 */
    const double *share;     /* [nparts] or NULL */
    double imbalance_tol;    /* imbalance of the weights that is good enough */
} eqp__capping;

/* What came out. */
typedef struct eqp__capped {
    bool fits;       /* no part is above its capacity; else: */
    bool proven;     /* no assignment keeps to the capacities; else none was found */
    int64_t moved;   /* items with another part than before */
    eqp_message why; /* the proof, or what was looked at in vain; empty where it fits */
} eqp__capped;

/* Moves items until no part is above its capacity. Runs of the curve go first, ever shorter ones, then items: to the
 * part of a neighbour along the curve, else to the part with least load. Then runs and items are moved and exchanged,
 * within the capacities, until the imbalance is within the tolerance, or what it was, or gets no smaller. Where moves
 * do not suffice all items are packed anew, by eqp__capacity_pack(). part: [n]; unchanged unless it fits. Local,
 * deterministic. EQP_OK (also if it does not fit), EQP_ERR_MEMORY. */
int eqp__capacity_repair(const eqp__capping *in, int *part, eqp__capped *result);

/* capacity_bounds.c: whether a lower bound proves that no assignment keeps to the capacities; `why` says which. f being
 * monotone and superadditive, sizes that fit into one part have f's that sum to f(capacity) at most, so all sizes need
 * sum f(size) <= sum f(capacity). Of such functions it looks at the size itself, at that of large items only, at how
 * often a threshold is in it, and at that of Martello and Toth's bound L2 (S. Martello and P. Toth, Lower bounds and
 * reduction procedures for the bin packing problem, Discrete Appl. Math. 28 (1990)), by at most some hundred
 * thresholds. A bound that is broken is a proof; one that holds proves nothing. O(n log n + thresholds (n + nparts)).
 * EQP_OK or EQP_ERR_MEMORY. */
int eqp__capacity_bounds(const eqp__capping *in, bool *broken, eqp_message *why);

/* capacity_search.c: packs all items into the capacities, whatever they weigh: each of falling size into the part that
 * has least room for it, then other parts, depth first, within a number of steps. part: [n]; unchanged unless *found.
 * *exhausted: there is no other assignment to be tried. O(steps nparts). EQP_OK or EQP_ERR_MEMORY. */
int eqp__capacity_pack(const eqp__capping *in, int *part, bool *found, bool *exhausted);

#endif
