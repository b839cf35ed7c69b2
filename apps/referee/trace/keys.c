/* SPDX-License-Identifier: BSD-3-Clause */
#define _DEFAULT_SOURCE /* getentropy */
#include "build.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t *key_of(const rf_keys *t, int64_t number)
{
    return t->word + number * (1 + t->more);
}

static bool is_key(const rf_keys *t, int64_t number, const int64_t *word)
{
    return memcmp(key_of(t, number), word, (size_t)(1 + t->more) * sizeof *word) == 0;
}

static uint64_t slot_of(const rf_keys *t, int64_t size, const int64_t *word)
{
    uint64_t x = t->seed;

    for (int d = 0; d <= t->more; d++) {
        x = eqp_random_bits(x, (uint64_t)d, (uint64_t)word[d]);
    }
    return x & (uint64_t)(size - 1);
}

static int grow(rf_keys *t)
{
    const int64_t size = t->size > 0 ? 2 * t->size : 64;
    int64_t *slot = NULL;

    if (t->seed == 0) {
        /* Without entropy a file made to collide is slow, not wrong. */
        t->seed = getentropy(&t->seed, sizeof t->seed) == 0 ? t->seed | 1 : 1;
    }
    EQP_CHECK(eqp_array_create(&slot, size, sizeof *slot));
    for (int64_t i = 0; i < t->n; i++) {
        uint64_t at = slot_of(t, size, key_of(t, i));
        for (t->probes++; slot[at] != 0; t->probes++) {
            at = (at + 1) & (uint64_t)(size - 1);
        }
        slot[at] = i + 1;
    }
    free(t->slot);
    t->slot = slot;
    t->size = size;
    return EQP_OK;
}

static uint64_t look_up(const rf_keys *t, const int64_t *word, int64_t *probes)
{
    uint64_t at = slot_of(t, t->size, word);

    for (++*probes; t->slot[at] != 0 && !is_key(t, t->slot[at] - 1, word); ++*probes) {
        at = (at + 1) & (uint64_t)(t->size - 1);
    }
    return at;
}

int64_t rf_keys_find(const rf_keys *keys, const int64_t *word)
{
    return keys->size > 0 ? keys->slot[look_up(keys, word, &(int64_t){0})] - 1 : -1;
}

int rf_keys_take(rf_keys *t, const int64_t *word, int64_t *number)
{
    for (int64_t guess = t->newest; guess < t->n && guess <= t->newest + 1; guess++) {
        if (is_key(t, guess, word)) { /* the same key as before, or the next one in the previous phase's order */
            *number = t->newest = guess;
            return EQP_OK;
        }
    }
    if (2 * (t->n + 1) > t->size) {
        EQP_CHECK(grow(t));
    }
    const uint64_t at = look_up(t, word, &t->probes);
    if (t->slot[at] == 0) {
        EQP_CHECK(t->n < INT32_MAX ? EQP_OK : EQP_ERR_OVERFLOW);
        EQP_CHECK(eqp_array_reserve(&t->word, &t->room, (t->n + 1) * (1 + t->more), sizeof *t->word));
        memcpy(t->word + t->n * (1 + t->more), word, (size_t)(1 + t->more) * sizeof *word);
        t->slot[at] = ++t->n;
    }
    *number = t->newest = t->slot[at] - 1;
    return EQP_OK;
}

void rf_keys_free(rf_keys *keys)
{
    free(keys->word);
    free(keys->slot);
    *keys = (rf_keys){.n = 0};
}
