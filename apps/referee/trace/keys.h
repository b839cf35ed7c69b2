/* SPDX-License-Identifier: BSD-3-Clause */
/* Integers, or tuples of integers, numbered from 0 in order of appearance. Private to this folder. */
#ifndef RF_KEYS_H
#define RF_KEYS_H

#include <stdint.h>

enum { RF_KEY_WORDS = 4 }; /* of a tuple */

/* Start from zeros. */
typedef struct rf_keys {
    int more; /* words of a key beyond its first: 0, or RF_KEY_WORDS - 1 */
    int64_t n, room;
    int64_t *word;  /* [n][1 + more] */
    int64_t *slot;  /* [size] number + 1, or 0 */
    int64_t size;   /* a power of two, or 0 */
    int64_t newest; /* number of the last lookup */
    uint64_t seed;  /* of the hash: random, so that no file can be made to collide; 0: not set */
    int64_t probes; /* slots probed so far */
} rf_keys;

/* Number of a key, added if it is new. Amortised O(1). EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW for more than 2^31 -
 * 1. */
int rf_keys_take(rf_keys *keys, const int64_t *word, int64_t *number);
/* Number of a key, or -1. */
int64_t rf_keys_find(const rf_keys *keys, const int64_t *word);
void rf_keys_free(rf_keys *keys);

#endif
