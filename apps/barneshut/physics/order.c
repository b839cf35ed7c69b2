/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree.h"

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FEW 32        /* items for which insertion beats radix passes */
#define DIGITS 3      /* sorted in one round, from the highest bit on that differs */
#define MOST_BITS 11  /* of a digit: its bins stay in the L1 cache */
#define PLACE_BITS 31 /* of a word; the digits are above */

typedef struct sorter {
    const uint64_t *key;
    const int64_t *id;
} sorter;

/* Item i as a number: by key, or by id with the sign bit flipped, so that negative ones come first. */
static uint64_t value_of(const sorter *s, bool by_id, int64_t i)
{
    return by_id ? (uint64_t)s->id[i] ^ (uint64_t)1 << 63 : s->key[i];
}

static bool comes_later(const sorter *s, int64_t a, int64_t b)
{
    return s->key[a] != s->key[b] ? s->key[a] > s->key[b] : s->id != NULL && s->id[a] > s->id[b];
}

static void insertion_sort(const sorter *s, int64_t n, int32_t *order)
{
    for (int64_t i = 1; i < n; i++) {
        const int32_t moved = order[i];
        int64_t j = i;
        for (; j > 0 && comes_later(s, order[j - 1], moved); j--) {
            order[j] = order[j - 1];
        }
        order[j] = moved;
    }
}

/* Stable scatter by the digit above `shift`; count [bins]: how often each occurs, overwritten. */
static void scatter(int64_t n, const uint64_t *from, uint64_t *to, int shift, uint32_t bins, uint32_t *count)
{
    uint32_t sum = 0;

    for (uint32_t bin = 0; bin < bins; bin++) {
        const uint32_t here = count[bin];
        count[bin] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < n; i++) {
        to[count[from[i] >> shift & (bins - 1)]++] = from[i];
    }
}

/* Sorts words, the value's bits from `lowest` on and then the place, by DIGITS digits of these bits. Returns the
 * sorted words, in one of the two arrays. */
static uint64_t *sort_words(const sorter *s, bool by_id, int64_t n, const int32_t *order, int lowest, int bits,
                            uint64_t *word, uint64_t *spare)
{
    const uint32_t bins = (uint32_t)1 << bits;
    const uint64_t mask = ((uint64_t)1 << DIGITS * bits) - 1;
    uint32_t count[DIGITS][1 << MOST_BITS];

    for (int d = 0; d < DIGITS; d++) {
        memset(count[d], 0, bins * sizeof **count);
    }
    for (int64_t i = 0; i < n; i++) {
        const uint64_t digits = value_of(s, by_id, order[i]) >> lowest & mask;
        word[i] = digits << PLACE_BITS | (uint64_t)order[i];
        for (int d = 0; d < DIGITS; d++) {
            count[d][digits >> d * bits & (bins - 1)]++;
        }
    }
    for (int d = 0; d < DIGITS; d++) {
        uint64_t *const sorted = spare;
        scatter(n, word, sorted, PLACE_BITS + d * bits, bins, count[d]);
        spare = word;
        word = sorted;
    }
    return word;
}

/* Sorts places by (key, id), or by id alone where all keys are equal; stable. word, spare [n]: scratch. A digit has no
 * more values than there are items, so that short runs of equal digits cost no more than long ones. */
static void sort_places(const sorter *s, bool by_id, int64_t n, int32_t *order, uint64_t *word, uint64_t *spare)
{
    uint64_t differing = 0;
    int bits = MOST_BITS;

    if (n <= FEW) {
        insertion_sort(s, n, order);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        differing |= value_of(s, by_id, order[i]) ^ value_of(s, by_id, order[0]);
    }
    if (differing == 0) {
        if (!by_id && s->id != NULL) {
            sort_places(s, true, n, order, word, spare);
        }
        return;
    }
    while (n >> bits == 0) {
        bits--;
    }
    const int highest = 63 - __builtin_clzll(differing),
              lowest = highest >= DIGITS * bits ? highest + 1 - DIGITS * bits : 0;
    const uint64_t *sorted = sort_words(s, by_id, n, order, lowest, bits, word, spare);
    for (int64_t i = 0; i < n; i++) {
        order[i] = (int32_t)(sorted[i] & (((uint64_t)1 << PLACE_BITS) - 1));
    }
    for (int64_t first = 0, last; first < n; first = last) {
        const uint64_t digits = sorted[first] >> PLACE_BITS;
        for (last = first + 1; last < n && sorted[last] >> PLACE_BITS == digits; last++) {
        }
        if (last - first > 1) {
            sort_places(s, by_id, last - first, order + first, word + first, spare + first);
        }
    }
}

int bh_order(int64_t n, const uint64_t *key, const int64_t *id, int32_t *order)
{
    bool ascending = true;

    EQP_CHECK(n >> PLACE_BITS > 0 ? EQP_ERR_OVERFLOW : EQP_OK);
    for (int64_t i = 1; i < n && ascending; i++) {
        ascending = key[i] > key[i - 1];
    }
    uint64_t *word = ascending ? NULL : malloc(2 * (size_t)n * sizeof *word);
    EQP_CHECK(!ascending && word == NULL ? EQP_ERR_MEMORY : EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        order[i] = (int32_t)i;
    }
    if (!ascending) {
        sort_places(&(sorter){key, id}, false, n, order, word, word + n);
    }
    free(word);
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
