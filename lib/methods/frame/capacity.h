/* SPDX-License-Identifier: BSD-3-Clause */
/* Hard capacities of parts: items move until no part exceeds its capacity, or until it is proven that no assignment
 * fits. */
#ifndef EQUIPOISE_METHODS_FRAME_CAPACITY_H
#define EQUIPOISE_METHODS_FRAME_CAPACITY_H

#include <equipoise/balance.h>

#include <stdbool.h>
#include <stdint.h>

/* Largest allowed sum of all sizes. */
#define EQP__SIZES_MAX (INT64_C(1) << 61)

/* Items in curve order with sizes, which sum to at most EQP__SIZES_MAX, and options with capacities. Both borrowed. */
typedef struct eqp__capping {
    const eqp_balance_items *items;
    const eqp_balance_options *options;
} eqp__capping;

typedef struct eqp__capped {
    bool fits;       /* no part exceeds its capacity */
    bool proven;     /* if !fits: true if no such assignment exists, false if none was found */
    int64_t moved;   /* items whose part changed */
    eqp_message why; /* if !fits: the proof, or the reason for giving up; else empty */
} eqp__capped;

/* Moves items until no part exceeds its capacity: runs of the curve first, in ever shorter pieces, then single
 * items. Each goes to the part of a neighbour along the curve, else to the least loaded part. At each length, moves
 * and swaps within the capacities then reduce the imbalance until it is within the tolerance, back at its initial
 * value, or no longer falls. If moves do not suffice, eqp__capacity_pack() packs all items anew. part: [n];
 * unchanged unless the items fit. Local, deterministic. EQP_OK (also if the items do not fit) or EQP_ERR_MEMORY. */
int eqp__capacity_repair(const eqp__capping *in, int *part, eqp__capped *result);

/* *broken: true if a lower bound proves that no assignment fits; `why` names the bound. For a monotone,
 * superadditive f, items that fit into a part satisfy sum f(size) <= f(capacity), so an assignment needs sum f(size)
 * <= sum f(capacity) over all items and parts. The functions tried, each for at most 256 thresholds: the size
 * itself, the size of large items only, the number of times a threshold fits into the size, and that of Martello and
 * Toth's bound L2 (S. Martello and P. Toth, Lower bounds and reduction procedures for the bin packing problem,
 * Discrete Appl. Math. 28 (1990)). A bound that holds proves nothing. O(n log n + thresholds (n + nparts)). EQP_OK
 * or EQP_ERR_MEMORY. */
int eqp__capacity_bounds(const eqp__capping *in, bool *broken, eqp_message *why);

/* Packs all items into the capacities, regardless of weight: by falling size, each into the part with the least
 * sufficient room, then into other parts by depth-first search with a limited number of steps. part: [n]; unchanged
 * unless *found. *exhausted: the search was complete and found no assignment. O(steps nparts). EQP_OK or
 * EQP_ERR_MEMORY. */
int eqp__capacity_pack(const eqp__capping *in, int *part, bool *found, bool *exhausted);

#endif
