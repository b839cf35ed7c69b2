/* SPDX-License-Identifier: BSD-3-Clause */
#define _DEFAULT_SOURCE /* getentropy */
#include "ids.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <stdlib.h>
#include <unistd.h>

uint64_t rf_hash_seed(void)
{
    uint64_t seed = 0;

    /* Without entropy numbers that were chosen to collide are slow, not wrong. */
    return getentropy(&seed, sizeof seed) == 0 ? seed | 1 : 1;
}

static uint64_t scatter(const rf_ids *t, int64_t id)
{
    return eqp_random_bits(t->seed, 0, (uint64_t)id);
}

static int grow(rf_ids *t)
{
    const int64_t size = t->size > 0 ? 2 * t->size : 64;
    int64_t *slot = NULL;
    int code;

    t->seed = t->seed != 0 ? t->seed : rf_hash_seed();
    EQP_TRY(eqp_array_create(&slot, size, sizeof *slot));
    for (int64_t i = 0; i < t->n; i++) {
        uint64_t at = scatter(t, t->id[i]) & (uint64_t)(size - 1);
        t->probes++;
        while (slot[at] != 0) {
            t->probes++;
            at = (at + 1) & (uint64_t)(size - 1);
        }
        slot[at] = i + 1;
    }
    free(t->slot);
    t->slot = slot;
    t->size = size;
done:
    return code;
}

int rf_ids_take(rf_ids *t, int64_t id, int64_t *index)
{
    uint64_t at;
    int code = EQP_OK;

    for (int64_t guess = t->newest; guess < t->n && guess <= t->newest + 1; guess++) {
        if (t->id[guess] == id) { /* as before, or the next one as in the phase before */
            *index = t->newest = guess;
            return EQP_OK;
        }
    }
    if (2 * (t->n + 1) > t->size) {
        EQP_TRY(grow(t));
    }
    at = scatter(t, id) & (uint64_t)(t->size - 1);
    t->probes++;
    while (t->slot[at] != 0 && t->id[t->slot[at] - 1] != id) {
        t->probes++;
        at = (at + 1) & (uint64_t)(t->size - 1);
    }
    if (t->slot[at] == 0) {
        EQP_TRY(t->n < INT32_MAX ? EQP_OK : EQP_ERR_OVERFLOW);
        EQP_TRY(eqp_array_reserve(&t->id, &t->room, t->n + 1, sizeof *t->id));
        t->id[t->n++] = id;
        t->slot[at] = t->n;
    }
    *index = t->newest = t->slot[at] - 1;
done:
    return code;
}

void rf_ids_free(rf_ids *t)
{
    free(t->id);
    free(t->slot);
}
