/* SPDX-License-Identifier: BSD-3-Clause */
#include "ids.h"

#include <stdlib.h>

static uint64_t scatter(int64_t id)
{
    uint64_t x = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15);

    return x ^ (x >> 29);
}

static int grow(rf_ids *t)
{
    const int64_t size = t->size > 0 ? 2 * t->size : 64;
    int64_t *slot = NULL;
    int code;

    EQP_TRY(eqp_array_create(&slot, size, sizeof *slot));
    for (int64_t i = 0; i < t->n; i++) {
        uint64_t at = scatter(t->id[i]) & (uint64_t)(size - 1);
        while (slot[at] != 0) {
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
    at = scatter(id) & (uint64_t)(t->size - 1);
    while (t->slot[at] != 0 && t->id[t->slot[at] - 1] != id) {
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
