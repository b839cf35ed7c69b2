/* SPDX-License-Identifier: BSD-3-Clause */
#include "keys.h"

#include "ids.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <stdlib.h>
#include <string.h>

struct rf_key {
    int64_t word[RF_KEY_WORDS];
    int64_t next; /* of the same slot, or -1 */
};

static uint64_t hash(const rf_keys *keys, const int64_t word[RF_KEY_WORDS])
{
    uint64_t x = keys->seed;

    for (int d = 0; d < RF_KEY_WORDS; d += 2) {
        x = eqp_random_bits(x, (uint64_t)word[d], (uint64_t)word[d + 1]);
    }
    return x;
}

static int grow(rf_keys *keys)
{
    const int64_t n = keys->nslots > 0 ? 2 * keys->nslots : 256;
    int64_t *slot = NULL;
    int code;

    keys->seed = keys->seed != 0 ? keys->seed : rf_hash_seed();
    EQP_TRY(eqp_array_create(&slot, n, sizeof *slot));
    memset(slot, -1, (size_t)n * sizeof *slot);
    for (int64_t i = 0; i < keys->n; i++) {
        int64_t *first = &slot[hash(keys, keys->key[i].word) % (uint64_t)n];
        keys->key[i].next = *first;
        *first = i;
    }
    free(keys->slot);
    keys->slot = slot;
    keys->nslots = n;
done:
    return code;
}

int64_t rf_keys_find(const rf_keys *keys, const int64_t word[RF_KEY_WORDS])
{
    int64_t i = keys->nslots > 0 ? keys->slot[hash(keys, word) % (uint64_t)keys->nslots] : -1;

    while (i >= 0 && memcmp(keys->key[i].word, word, sizeof keys->key[i].word) != 0) {
        i = keys->key[i].next;
    }
    return i;
}

int rf_keys_take(rf_keys *keys, const int64_t word[RF_KEY_WORDS], int64_t *number)
{
    int code = EQP_OK;

    *number = rf_keys_find(keys, word);
    if (*number >= 0) {
        return EQP_OK;
    }
    if (keys->n >= keys->nslots) {
        EQP_TRY(grow(keys));
    }
    EQP_TRY(eqp_array_reserve(&keys->key, &keys->room, keys->n + 1, sizeof *keys->key));
    int64_t *slot = &keys->slot[hash(keys, word) % (uint64_t)keys->nslots];
    memcpy(keys->key[keys->n].word, word, sizeof keys->key->word);
    keys->key[keys->n].next = *slot;
    *number = *slot = keys->n++;
done:
    return code;
}

void rf_keys_free(rf_keys *keys)
{
    free(keys->key);
    free(keys->slot);
    *keys = (rf_keys){.n = 0};
}
