/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

#include <equipoise/curve.h>
#include <equipoise/error.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RADIX_BITS 9
#define RADIX (1 << RADIX_BITS)
#define PASSES (3 * EQP_CURVE_BITS / RADIX_BITS)

typedef struct entry {
    uint64_t key;
    int64_t place;
} entry;

static void count_digits(int64_t n, const uint64_t *key, int64_t count[PASSES][RADIX])
{
    memset(count, 0, sizeof(int64_t[PASSES][RADIX]));
    for (int64_t i = 0; i < n; i++) {
        for (int pass = 0; pass < PASSES; pass++) {
            count[pass][(key[i] >> (pass * RADIX_BITS)) & (RADIX - 1)]++;
        }
    }
}

/* A digit that all keys share needs no pass: keys of a small region share most of them. */
static bool is_one_bin(int64_t n, const int64_t count[RADIX])
{
    for (int bin = 0; bin < RADIX; bin++) {
        if (count[bin] != 0) {
            return count[bin] == n;
        }
    }
    return true;
}

static void scatter(int64_t n, const entry *from, entry *to, int pass, const int64_t count[RADIX])
{
    int64_t start[RADIX];
    int64_t sum = 0;

    for (int bin = 0; bin < RADIX; bin++) {
        start[bin] = sum;
        sum += count[bin];
    }
    for (int64_t i = 0; i < n; i++) {
        to[start[(from[i].key >> (pass * RADIX_BITS)) & (RADIX - 1)]++] = from[i];
    }
}

typedef struct tie {
    int64_t id, place;
} tie;

static int compare_ties(const void *a, const void *b)
{
    const tie *first = a, *second = b;

    if (first->id != second->id) {
        return first->id < second->id ? -1 : 1;
    }
    return (first->place > second->place) - (first->place < second->place);
}

/* Sorts the places of every run of equal keys by id. scratch [n] is free space. */
static void break_ties(int64_t n, const entry *sorted, const int64_t *id, tie *scratch, int64_t *order)
{
    for (int64_t first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n && sorted[last].key == sorted[first].key; last++) {
        }
        if (last - first == 1) {
            order[first] = sorted[first].place;
            continue;
        }
        for (int64_t i = first; i < last; i++) {
            scratch[i] = (tie){id[sorted[i].place], sorted[i].place};
        }
        qsort(scratch + first, (size_t)(last - first), sizeof *scratch, compare_ties);
        for (int64_t i = first; i < last; i++) {
            order[i] = scratch[i].place;
        }
    }
}

int bh_order(int64_t n, const uint64_t *key, const int64_t *id, int64_t *order)
{
    size_t bytes = (size_t)(n > 0 ? n : 1) * sizeof(entry);
    entry *from = malloc(bytes), *to = malloc(bytes);
    int64_t(*count)[RADIX] = malloc(sizeof(int64_t[PASSES][RADIX]));
    int code = EQP_ERR_MEMORY;

    if (from == NULL || to == NULL || count == NULL) {
        goto done;
    }
    count_digits(n, key, count);
    for (int64_t i = 0; i < n; i++) {
        from[i] = (entry){key[i], i};
    }
    for (int pass = 0; pass < PASSES; pass++) {
        if (!is_one_bin(n, count[pass])) {
            scatter(n, from, to, pass, count[pass]);
            entry *swap = from;
            from = to;
            to = swap;
        }
    }
    _Static_assert(sizeof(tie) <= sizeof(entry), "the spare buffer holds the ties");
    break_ties(n, from, id, (tie *)to, order);
    code = EQP_OK;
done:
    free(count);
    free(to);
    free(from);
    return code;
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
