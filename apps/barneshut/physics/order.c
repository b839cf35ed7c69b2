/* SPDX-License-Identifier: BSD-3-Clause */
#include "order.h"

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Words are sorted instead of keys: as many upper bits of a key as fit, above its place in the list. A radix sort by
 * this many bits leaves runs short enough for insertion; random keys would need only log2 n bits, but those of
 * particles cluster. */
#define MORE_BITS 18
#define MOST_DIGIT_BITS 11
#define MOST_PASSES 6
#define FEW 32 /* radix passes do not pay for less */

/* Keys, the bits to flip in each, and ids that order equal keys (NULL: their order in the list does). */
typedef struct column {
    const uint64_t *key;
    uint64_t flip;
    const int64_t *id;
} column;

/* Room for as many words as there are places in the list that is sorted. */
typedef struct buffers {
    uint64_t *word, *other;
    uint32_t (*count)[1 << MOST_DIGIT_BITS]; /* [MOST_PASSES] */
} buffers;

static int bits_of(uint64_t value)
{
    int bits = 0;

    for (; value != 0; value >>= 1) {
        bits++;
    }
    return bits;
}

static uint64_t low_bits(int bits)
{
    return bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
}

/* Sorts by insertion; gives up after `moves` moves. */
static bool insertion_sort(int64_t n, uint64_t *word, int64_t moves)
{
    for (int64_t i = 1; i < n && moves >= 0; i++) {
        const uint64_t moved = word[i];
        int64_t j = i;
        for (; j > 0 && word[j - 1] > moved; j--) {
            word[j] = word[j - 1];
        }
        word[j] = moved;
        moves -= i - j;
    }
    return moves >= 0;
}

/* How radix passes see the bits [low, high) of a word. */
typedef struct digits {
    int low, bits, passes;
} digits;

static digits split_digits(int low, int high)
{
    const int passes = (high - low + MOST_DIGIT_BITS - 1) / MOST_DIGIT_BITS;

    return (digits){low, passes > 0 ? (high - low + passes - 1) / passes : 0, passes};
}

static uint64_t digit_of(const digits *d, int pass, uint64_t word)
{
    return word >> (d->low + pass * d->bits) & low_bits(d->bits);
}

static void scatter(int64_t n, const uint64_t *from, uint64_t *to, const digits *d, int pass, uint32_t *count)
{
    uint32_t sum = 0;

    for (size_t bin = 0; bin <= low_bits(d->bits); bin++) {
        const uint32_t before = sum;
        sum += count[bin];
        count[bin] = before;
    }
    for (int64_t i = 0; i < n; i++) {
        to[count[digit_of(d, pass, from[i])]++] = from[i];
    }
}

/* Stable sort of b->word by its bits [low, high); b->other is free space. Afterwards b may have changed them. */
static void radix_sort(int64_t n, int low, int high, buffers *b)
{
    const digits d = split_digits(low, high);

    for (int pass = 0; pass < d.passes; pass++) {
        memset(b->count[pass], 0, sizeof(b->count[pass][0]) << d.bits);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int pass = 0; pass < d.passes; pass++) {
            b->count[pass][digit_of(&d, pass, b->word[i])]++;
        }
    }
    for (int pass = 0; pass < d.passes; pass++) {
        uint64_t *from = b->word;
        if (b->count[pass][digit_of(&d, pass, from[0])] < n) { /* else all share the digit */
            scatter(n, from, b->other, &d, pass, b->count[pass]);
            b->word = b->other;
            b->other = from;
        }
    }
}

/* Sorts words that are sorted by the bits from `known` on, run by run of equal ones there. */
static void finish_runs(int64_t n, int low, int known, buffers *b)
{
    for (int64_t first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n && b->word[last] >> known == b->word[first] >> known; last++) {
        }
        if (last - first <= FEW) {
            insertion_sort(last - first, b->word + first, INT64_MAX);
            continue;
        }
        buffers run = {b->word + first, b->other + first, b->count};
        radix_sort(last - first, low, known, &run);
        if (run.word != b->word + first) {
            memcpy(b->word + first, run.word, (size_t)(last - first) * sizeof *run.word);
        }
    }
}

/* How often a word is smaller than the one before. */
static int64_t count_descents(int64_t n, const uint64_t *word)
{
    int64_t descents = 0;

    for (int64_t i = 1; i < n; i++) {
        descents += word[i] < word[i - 1];
    }
    return descents;
}

/* Sorts the words of a list; the keys differ in key_bits bits. */
static void sort_words(int64_t n, int place_bits, int key_bits, buffers *b)
{
    const int most = place_bits + MORE_BITS, known = place_bits + (key_bits > most ? key_bits - most : 0);

    if (n <= FEW || count_descents(n, b->word) < n / 8) {
        if (insertion_sort(n, b->word, n <= FEW ? INT64_MAX : 4 * n)) {
            return;
        }
    }
    radix_sort(n, known, place_bits + key_bits, b);
    if (known > place_bits && !insertion_sort(n, b->word, 4 * n)) {
        finish_runs(n, place_bits, known, b);
    }
}

static void sort_list(const column *by, int64_t n, int64_t *list, buffers b);

static bool has_ties(int64_t n, const uint64_t *word, int place_bits)
{
    int64_t ties = 0;

    for (int64_t i = 1; i < n; i++) {
        ties += (word[i] ^ word[i - 1]) >> place_bits == 0;
    }
    return ties > 0;
}

/* Sorts what has equal words but for the places: further by the keys if their low bits were left out, else by id. */
static void break_ties(const column *by, bool whole, int64_t n, int place_bits, int64_t *list, const buffers *b)
{
    const column ids = {.key = (const uint64_t *)by->id, .flip = (uint64_t)1 << 63};

    if ((whole && by->id == NULL) || !has_ties(n, b->word, place_bits)) {
        return;
    }
    for (int64_t first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n && b->word[last] >> place_bits == b->word[first] >> place_bits; last++) {
        }
        if (last - first > 1) {
            sort_list(whole ? &ids : by, last - first, list + first,
                      (buffers){b->word + first, b->other + first, b->count});
        }
    }
}

/* How a word is made of a key: its key_bits below bit all_bits, which is where the keys begin to differ. */
typedef struct layout {
    int place_bits, key_bits, all_bits;
} layout;

static int64_t at_place(const int64_t *list, int64_t i)
{
    return list != NULL ? list[i] : i;
}

/* The words of a list of places; NULL: all places in order. */
static layout make_words(const column *by, int64_t n, const int64_t *list, uint64_t *word)
{
    uint64_t differing = 0;

    for (int64_t i = 1; i < n; i++) {
        differing |= by->key[at_place(list, i)] ^ by->key[at_place(list, 0)];
    }
    const int place_bits = bits_of((uint64_t)n - 1), all_bits = bits_of(differing);
    const int key_bits = all_bits < 64 - place_bits ? all_bits : 64 - place_bits;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = (by->key[at_place(list, i)] ^ by->flip) & low_bits(all_bits);
        word[i] = key >> (all_bits - key_bits) << place_bits | (uint64_t)i;
    }
    return (layout){place_bits, key_bits, all_bits};
}

/* Sorts a list of places by what they have in the column. */
static void sort_list(const column *by, int64_t n, int64_t *list, buffers b)
{
    const layout l = make_words(by, n, list, b.word);

    if (l.all_bits > 0) {
        sort_words(n, l.place_bits, l.key_bits, &b);
        for (int64_t i = 0; i < n; i++) {
            b.other[i] = (uint64_t)list[b.word[i] & low_bits(l.place_bits)];
        }
        memcpy(list, b.other, (size_t)n * sizeof *list);
    }
    break_ties(by, l.key_bits == l.all_bits, n, l.place_bits, list, &b);
}

/* The same for all places. The words are in `order` at first; list [n] is free space that is not touched, and so costs
 * nothing, unless some keys are equal as far as the words tell. */
static void sort_all(const column *by, int64_t n, int64_t *list, buffers b, int64_t *order)
{
    const layout l = make_words(by, n, NULL, b.word);

    sort_words(n, l.place_bits, l.key_bits, &b);
    const bool ties = has_ties(n, b.word, l.place_bits);
    int64_t *to = ties ? list : order;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (int64_t)(b.word[i] & low_bits(l.place_bits));
    }
    if (ties) {
        break_ties(by, l.key_bits == l.all_bits, n, l.place_bits, list, &b);
        memcpy(order, list, (size_t)n * sizeof *order);
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
    const column by = {.key = key, .id = id};
    const size_t bytes = (size_t)n * sizeof(uint64_t);
    int code = EQP_ERR_MEMORY;

    if (is_ascending(n, key)) {
        for (int64_t i = 0; i < n; i++) {
            order[i] = i;
        }
        return EQP_OK;
    }
    buffers b = {(uint64_t *)order, malloc(bytes), malloc(MOST_PASSES * sizeof *b.count)};
    int64_t *list = malloc(bytes);
    if (b.other != NULL && b.count != NULL && list != NULL) {
        sort_all(&by, n, list, b, order);
        code = EQP_OK;
    }
    free(list);
    free(b.count);
    free(b.other);
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
