/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of any kind, numbered anew from 0 in the order in which they come. Private to this folder. */
#ifndef RF_IDS_H
#define RF_IDS_H

#include <stdint.h>

/* Start from zeros. */
typedef struct rf_ids {
    int64_t n, room;
    int64_t *id;    /* [n] */
    int64_t *slot;  /* [size] index + 1, or 0 */
    int64_t size;   /* a power of two, or 0 */
    int64_t newest; /* index of the last one that was asked for */
    uint64_t seed;  /* of the hash; 0: none yet */
    int64_t probes; /* slots looked at so far: the work of the table */
} rf_ids;

/* The index of a number, which is taken in if it is new. Amortised O(1). EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW for
 * more than 2^31 - 1. */
int rf_ids_take(rf_ids *t, int64_t id, int64_t *index);
void rf_ids_free(rf_ids *t);

/* The key of a hash that no file can have been made for: random, never 0. */
uint64_t rf_hash_seed(void);

#endif
