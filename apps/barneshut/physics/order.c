/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree.h"

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define BINS (1 << DIGIT_BITS)
#define FEW 32 /* items for which insertion beats radix passes */

typedef struct item {
    uint64_t key;
    int64_t place;
} item;

static void insertion_sort(int64_t n, item *items)
{
    for (int64_t i = 1; i < n; i++) {
        const item moved = items[i];
        int64_t j = i;
        for (; j > 0 && items[j - 1].key > moved.key; j--) {
            items[j] = items[j - 1];
        }
        items[j] = moved;
    }
}

/* Stable scatter by the digit above `shift`. */
static void scatter(int64_t n, const item *from, item *to, int shift)
{
    uint32_t next[BINS] = {0}, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        next[from[i].key >> shift & (BINS - 1)]++;
    }
    for (int bin = 0; bin < BINS; bin++) {
        const uint32_t count = next[bin];
        next[bin] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) {
        to[next[from[i].key >> shift & (BINS - 1)]++] = from[i];
    }
}

/* Stable radix sort by key; spare [n]. */
static void sort_items(int64_t n, item *items, item *spare)
{
    item *from = items, *to = spare;
    uint64_t differing = 0;

    if (n <= FEW) {
        insertion_sort(n, items);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        differing |= items[i].key ^ items[0].key;
    }
    for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differing >> shift & (BINS - 1)) != 0) {
            scatter(n, from, to, shift);
            item *const sorted = to;
            to = from;
            from = sorted;
        }
    }
    if (from != items) {
        memcpy(items, from, (size_t)n * sizeof *items);
    }
}

/* Sorts each run of equal keys by id; the sign bit is flipped so that negative ids come first. */
static void break_ties(int64_t n, item *items, item *spare, const int64_t *id)
{
    for (int64_t first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n && items[last].key == items[first].key; last++) {
        }
        if (last - first > 1) {
            for (int64_t i = first; i < last; i++) {
                items[i].key = (uint64_t)id[items[i].place] ^ (uint64_t)1 << 63;
            }
            sort_items(last - first, items + first, spare + first);
        }
    }
}

static bool is_ascending(int64_t n, const uint64_t *key)
{
    for (int64_t i = 1; i < n; i++) {
        if (key[i] <= key[i - 1]) {
            return false;
        }
    }
    return true;
}

int bh_order(int64_t n, const uint64_t *key, const int64_t *id, int64_t *order)
{
    if (is_ascending(n, key)) {
        for (int64_t i = 0; i < n; i++) {
            order[i] = i;
        }
        return EQP_OK;
    }
    item *items = malloc(2 * (size_t)n * sizeof *items);
    EQP_CHECK(items == NULL ? EQP_ERR_MEMORY : EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        items[i] = (item){key[i], i};
    }
    sort_items(n, items, items + n);
    break_ties(n, items, items + n, id);
    for (int64_t i = 0; i < n; i++) {
        order[i] = items[i].place;
    }
    free(items);
    return EQP_OK;
}

int64_t bh_order_lower(int64_t n, const uint64_t *keys, uint64_t key)
{
    int64_t low = 0, high = n;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (keys[middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
