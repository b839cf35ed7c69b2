/* SPDX-License-Identifier: BSD-3-Clause */
/* The referee's own method: maps cost nothing here, so it searches for the most even map that fits into memory. */
#ifndef RF_GREEDY_H
#define RF_GREEDY_H

#include "memory.h"

#include <equipoise/balance.h>

extern const eqp_methods rf_methods;

/* Items to be divided. */
typedef struct rf_packing {
    const rf_trace *trace;  /* its memory counts where capacity is not NULL */
    const double *load;     /* [n] >= 0, finite */
    const int *pinned;      /* [n] part of an item that may not move, else -1 */
    int nparts;             /* >= 1 */
    const double *capacity; /* [nparts] bytes; NULL: memory does not matter */
    double bound;           /* no largest load is below it: a map that reaches it is the best one */
    uint64_t seed;          /* of the search */
} rf_packing;

/* Gives each item a part: the heaviest first to the part with least, blocks together where memory matters; then moves
 * and exchanges, by simulated annealing with a fixed number of trials, until the largest load is at the bound, or as
 * low as is found. Where nothing that fits is found, the map that is nearest to it. Deterministic. Local; O(n log n +
 * trials). part: [n]. EQP_OK, EQP_ERR_MEMORY; unchanged on error. */
int rf_pack(const rf_packing *packing, int *part);

#endif
