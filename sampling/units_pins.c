/* SPDX-License-Identifier: BSD-3-Clause */
/* Coordinated bottom-k samples: every unit keeps the ids with the smallest keys, and an id has the same key in all
 * units. Keys are a permutation of the ids, so a sample stores keys and computes ids when read. Candidate keys are
 * collected in any order and sorted when the buffer is full; as they are uniform, one pass into buckets suffices. */
#include "units_internal.h"

#include "memory.h"
#include <string.h>

#define PIECE 256

#define LEAST_BUCKETS 16
#define MOST_BUCKETS (1 << 15)

/* The finalizer of splitmix64: D. Stafford's variant 13 of the mixer of MurmurHash3, as in G. L. Steele, D. Lea and
 * C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, section 4. */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* The inverse of mix(), with the factors' inverses modulo 2^64. */
static uint64_t unmix(uint64_t x)
{
    x = (x ^ x >> 31 ^ x >> 62) * UINT64_C(0x319642B2D24D8EC3);
    x = (x ^ x >> 27 ^ x >> 54) * UINT64_C(0x96DE1B173F119089);
    return x ^ x >> 30 ^ x >> 60;
}

/* A different permutation for every seed; for seed 0 it is not mix() alone. */
static uint64_t offset_of(uint64_t seed)
{
    return mix(seed + UINT64_C(0x9E3779B97F4A7C15));
}

uint64_t eqp_pin_key(uint64_t seed, int64_t id)
{
    return mix((uint64_t)id ^ offset_of(seed));
}

void eqp__sketches_init(struct eqp__sketches *sketches, uint64_t seed, int max, bool many_cells)
{
    *sketches = (struct eqp__sketches){
        .offset = offset_of(seed), .max = max, .room = many_cells ? 2 * (int64_t)max : 2 * (int64_t)max + 4 * PIECE};
}

/* About two keys per bucket. */
static int buckets_of(int64_t room)
{
    int buckets = LEAST_BUCKETS;

    while (buckets < MOST_BUCKETS && 2 * (int64_t)buckets < room) {
        buckets *= 2;
    }
    return buckets;
}

int eqp__sketches_reset(struct eqp__sketches *sketches, int64_t ncells)
{
    if (sketches->max == 0) {
        return EQP_OK;
    }
    if (ncells > sketches->capacity) {
        int64_t capacity = ncells < sketches->capacity * 2 ? sketches->capacity * 2 : ncells;
        eqp__sketches_free(sketches);
        sketches->count = eqp__malloc((size_t)capacity, sizeof *sketches->count);
        sketches->limit = eqp__malloc((size_t)capacity, sizeof *sketches->limit);
        sketches->key = eqp__malloc((size_t)capacity * (size_t)sketches->room, sizeof *sketches->key);
        sketches->sorted = eqp__malloc((size_t)sketches->room, sizeof *sketches->sorted);
        sketches->place = eqp__malloc((size_t)buckets_of(sketches->room), sizeof *sketches->place);
        if (!sketches->count || !sketches->limit || !sketches->key || !sketches->sorted || !sketches->place) {
            eqp__sketches_free(sketches);
            return EQP_ERR_MEMORY;
        }
        sketches->capacity = capacity;
    }
    memset(sketches->count, 0, (size_t)ncells * sizeof *sketches->count);
    memset(sketches->limit, 0xFF, (size_t)ncells * sizeof *sketches->limit);
    return EQP_OK;
}

/* The width of the buckets, a power of two that covers all keys up to the limit. */
static int shift_of(uint64_t limit, int buckets)
{
    int shift = 0;

    while (limit >> shift >= (uint64_t)buckets) {
        shift++;
    }
    return shift;
}

/* Sorts n keys <= limit and drops duplicates; returns their number, at most `max`. */
static int64_t sort_keys(struct eqp__sketches *sketches, int64_t n, uint64_t *key, uint64_t limit)
{
    const int buckets = buckets_of(n), shift = shift_of(limit, buckets);
    int32_t *place = sketches->place;
    int32_t sum = 0;
    int64_t kept = 0;

    memset(place, 0, (size_t)buckets * sizeof *place);
    for (int64_t i = 0; i < n; i++) {
        place[key[i] >> shift]++;
    }
    for (int b = 0; b < buckets; b++) {
        int32_t count = place[b];
        place[b] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) {
        sketches->sorted[place[key[i] >> shift]++] = key[i];
    }
    for (int64_t i = 0, b = 0; i < n && kept < sketches->max; b++) {
        for (const int64_t start = kept; i < place[b]; i++) {
            const uint64_t new = sketches->sorted[i];
            int64_t at = kept;
            for (; at > start && key[at - 1] > new; at--) {
                key[at] = key[at - 1];
            }
            if (at == start || key[at - 1] != new) {
                key[at] = new;
                kept++;
                continue;
            }
            for (; at < kept; at++) { /* duplicates */
                key[at] = key[at + 1];
            }
        }
    }
    return kept < sketches->max ? kept : sketches->max;
}

/* Sorts a cell's keys and drops those that are too large. */
static void tidy(struct eqp__sketches *sketches, int64_t cell)
{
    uint64_t *key = sketches->key + cell * sketches->room;
    int64_t n = sort_keys(sketches, sketches->count[cell], key, sketches->limit[cell]);

    sketches->count[cell] = n;
    if (n == sketches->max) {
        sketches->limit[cell] = key[n - 1];
    }
}

void eqp__sketches_add(struct eqp__sketches *sketches, int64_t cell, int64_t id)
{
    if (sketches->max == 0) {
        return;
    }
    const uint64_t key = mix((uint64_t)id ^ sketches->offset);
    if (key <= sketches->limit[cell] && sketches->count[cell] == sketches->room) {
        tidy(sketches, cell);
    }
    if (key <= sketches->limit[cell]) {
        sketches->key[cell * sketches->room + sketches->count[cell]++] = key;
    }
}

void eqp__sketches_add_all(struct eqp__sketches *sketches, int64_t cell, int64_t n, const int64_t *id)
{
    const uint64_t offset = sketches->offset;

    for (int64_t from = 0; from < n && sketches->max > 0; from += PIECE) {
        const int64_t to = n - from < PIECE ? n : from + PIECE;
        if (sketches->count[cell] > sketches->room - PIECE) {
            tidy(sketches, cell);
        }
        const uint64_t limit = sketches->limit[cell];
        uint64_t *end = sketches->key + cell * sketches->room + sketches->count[cell];
        int64_t added = 0;
        for (int64_t i = from; i < to; i++) { /* no branch, which would be mispredicted */
            const uint64_t key = mix((uint64_t)id[i] ^ offset);
            end[added] = key;
            added += (key <= limit) & (id[i] >= 0);
        }
        sketches->count[cell] += added;
    }
}

void eqp__sketches_keep(struct eqp__sketches *sketches, int64_t cell, int64_t id)
{
    if (sketches->max == 0) {
        return;
    }
    eqp__sketches_add(sketches, cell, id);
    tidy(sketches, cell);
    const uint64_t key = mix((uint64_t)id ^ sketches->offset);
    if (key > sketches->limit[cell]) {
        /* the key was left out as the largest, so appending it keeps the order */
        sketches->key[cell * sketches->room + sketches->max - 1] = key;
        sketches->limit[cell] = key;
    }
}

int64_t eqp__sketches_read(struct eqp__sketches *sketches, int64_t cell, int64_t *id)
{
    if (sketches->max == 0) {
        return 0;
    }
    tidy(sketches, cell);
    for (int64_t i = 0; i < sketches->count[cell]; i++) {
        id[i] = (int64_t)(unmix(sketches->key[cell * sketches->room + i]) ^ sketches->offset);
    }
    return sketches->count[cell];
}

void eqp__sketches_free(struct eqp__sketches *sketches)
{
    EQP__FREE(sketches->count, sketches->limit, sketches->key, sketches->sorted, sketches->place);
    sketches->count = NULL;
    sketches->limit = sketches->key = sketches->sorted = NULL;
    sketches->place = NULL;
    sketches->capacity = 0;
}
