/* SPDX-License-Identifier: BSD-3-Clause */
/* Coordinated bottom-k samples: every unit keeps the ids with the smallest keys, and an id has the same key everywhere.
 */
#include "units_internal.h"

#include "memory.h"
#include <equipoise/random.h>
#include <string.h>

uint64_t eqp_pin_key(uint64_t seed, int64_t id)
{
    return eqp_random_bits(seed, EQP__PURPOSE_PIN, (uint64_t)id);
}

int eqp__sketches_reset(struct eqp__sketches *sketches, int64_t ncells)
{
    if (sketches->max == 0) {
        return EQP_OK;
    }
    if (ncells > sketches->capacity) {
        int64_t capacity = ncells < sketches->capacity * 2 ? sketches->capacity * 2 : ncells;
        size_t room = (size_t)capacity * (size_t)sketches->max;
        eqp__sketches_free(sketches);
        sketches->count = eqp__malloc((size_t)capacity, sizeof *sketches->count);
        sketches->key = eqp__malloc(room, sizeof *sketches->key);
        sketches->id = eqp__malloc(room, sizeof *sketches->id);
        if (!sketches->count || !sketches->key || !sketches->id) {
            eqp__sketches_free(sketches);
            return EQP_ERR_MEMORY;
        }
        sketches->capacity = capacity;
    }
    sketches->ncells = ncells;
    memset(sketches->count, 0, (size_t)ncells * sizeof *sketches->count);
    return EQP_OK;
}

/* Inserts in order of (key, id); an id that is there, or too large where it is full, is left out. */
static bool insert(struct eqp__sketches *sketches, int64_t cell, uint64_t key, int64_t id)
{
    uint64_t *keys = sketches->key + cell * sketches->max;
    int64_t *ids = sketches->id + cell * sketches->max;
    int n = sketches->count[cell];
    int low = 0;

    if (n == sketches->max && key > keys[n - 1]) {
        return false;
    }
    for (int high = n; low < high;) {
        int middle = low + (high - low) / 2;
        if (keys[middle] < key || (keys[middle] == key && ids[middle] < id)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < n && keys[low] == key && ids[low] == id) {
        return true;
    }
    if (low == sketches->max) {
        return false;
    }
    int moved = (n < sketches->max ? n : n - 1) - low;
    memmove(keys + low + 1, keys + low, (size_t)moved * sizeof *keys);
    memmove(ids + low + 1, ids + low, (size_t)moved * sizeof *ids);
    keys[low] = key;
    ids[low] = id;
    sketches->count[cell] = n < sketches->max ? n + 1 : n;
    return true;
}

void eqp__sketches_add(struct eqp__sketches *sketches, int64_t cell, int64_t id)
{
    if (sketches->max > 0) {
        insert(sketches, cell, eqp_pin_key(sketches->seed, id), id);
    }
}

void eqp__sketches_keep(struct eqp__sketches *sketches, int64_t cell, int64_t id)
{
    if (sketches->max == 0) {
        return;
    }
    uint64_t key = eqp_pin_key(sketches->seed, id);
    if (!insert(sketches, cell, key, id)) {
        int64_t last = cell * sketches->max + sketches->max - 1;
        sketches->key[last] = key; /* it was left out because it is larger than all: the order stays */
        sketches->id[last] = id;
    }
}

void eqp__sketches_free(struct eqp__sketches *sketches)
{
    eqp__free(sketches->count);
    eqp__free(sketches->key);
    eqp__free(sketches->id);
    sketches->count = NULL;
    sketches->key = NULL;
    sketches->id = NULL;
    sketches->capacity = 0;
    sketches->ncells = 0;
}
