/* SPDX-License-Identifier: BSD-3-Clause */
/* Things that are known by several numbers, numbered from 0 in the order in which they are met. Private to this folder.
 */
#ifndef RF_KEYS_H
#define RF_KEYS_H

#include <stdint.h>

enum { RF_KEY_WORDS = 4 };

/* Start from zeros. */
typedef struct rf_keys {
    int64_t n, room, nslots;
    struct rf_key *key; /* [n] */
    int64_t *slot;      /* [nslots] first one, or -1 */
    uint64_t seed;      /* of the hash; 0: none yet */
} rf_keys;

/* The number of a thing, a new one where it was never met. Amortised O(1). EQP_OK or EQP_ERR_MEMORY. */
int rf_keys_take(rf_keys *keys, const int64_t word[RF_KEY_WORDS], int64_t *number);
/* Its number, or -1. */
int64_t rf_keys_find(const rf_keys *keys, const int64_t word[RF_KEY_WORDS]);
void rf_keys_free(rf_keys *keys);

#endif
