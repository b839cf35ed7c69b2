/* SPDX-License-Identifier: BSD-3-Clause */
/* Fractiling (section 2.1.8): every rank starts with one tile, a range of the Morton order, and takes subtiles of
 * decreasing size; a rank that has finished helps where most is left. */
#include "rules.h"

#include "base/internal.h"

#include <stdlib.h>

/* The fullest pool; among equals, the first at or after the rank's own, so that helpers spread. */
static int fullest_pool(const eqp_schedule *s, int rank)
{
    int best = rank;

    for (int k = 0; k < s->npools; k++) {
        const int p = (rank + k) % s->npools;
        best = s->end[p] - s->next[p] > s->end[best] - s->next[best] ? p : best;
    }
    return best;
}

/* The chunk is the largest tile, growing by 2^d per level, that is not larger than eq. 2.2 allows, or the iterations up
 * to the start of one. */
static void propose_fractiling(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    const int64_t wanted = eqp__at_most((double)s->left / (s->nranks * s->options.factor), s->left);
    int64_t tile = 1;

    *pool = s->next[rank] < s->end[rank] ? rank : fullest_pool(s, rank);
    while (tile <= wanted >> s->options.dimensions) {
        tile <<= s->options.dimensions;
    }
    *count = tile - s->next[*pool] % tile;
}

const eqp_schedule_method eqp__schedule_fractiling = {"fractiling", "tiles of the Morton order, first each rank's own",
                                                      EQP_SCHEDULE_LEARNS_NOTHING, true, propose_fractiling};

/* Inserts a zero bit before each of 31 bits. */
static uint64_t spread_bits(uint64_t x)
{
    x = (x | x << 16) & 0x0000FFFF0000FFFF;
    x = (x | x << 8) & 0x00FF00FF00FF00FF;
    x = (x | x << 4) & 0x0F0F0F0F0F0F0F0F;
    x = (x | x << 2) & 0x3333333333333333;
    return (x | x << 1) & 0x5555555555555555;
}

typedef struct place {
    uint64_t key;
    int64_t cell;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *p = a, *q = b;

    return (p->key > q->key) - (p->key < q->key);
}

int eqp__schedule_morton(int64_t width, int64_t height, int64_t *cell)
{
    place *places = NULL;
    int64_t n = 0;

    EQP__FAIL_IF(width < 0 || height < 0 || width > INT32_MAX || height > INT32_MAX ||
                     (width > 0 && height > 0 && !cell),
                 EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp_array_create(&places, width * height, sizeof *places));
    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < width; x++, n++) {
            places[n] = (place){spread_bits((uint64_t)y) << 1 | spread_bits((uint64_t)x), n};
        }
    }
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int64_t i = 0; i < n; i++) {
        cell[i] = places[i].cell;
    }
    free(places);
    return EQP_OK;
}
