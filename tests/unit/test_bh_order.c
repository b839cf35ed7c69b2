/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/curve.h>
#include <equipoise/more/random.h>

#include "tree.h"
#include "unit.h"

enum { MOST = 40000 };

typedef struct item {
    uint64_t key;
    int64_t id, place;
} item;

static int compare(const void *a, const void *b)
{
    const item *p = a, *q = b;
    if (p->key != q->key) {
        return p->key < q->key ? -1 : 1;
    }
    if (p->id != q->id) {
        return p->id < q->id ? -1 : 1;
    }
    return (p->place > q->place) - (p->place < q->place);
}

/* Difficult keys for a radix sort. */
enum kind { RANDOM, FEW_VALUES, LOW_BITS, TWO_CLUMPS, CROWDED, RUNS, EQUAL, ASCENDING, DESCENDING, NEARLY, KINDS };

static uint64_t make_key(enum kind kind, int64_t i, int64_t n)
{
    const uint64_t random = eqp_random_below(1, 0, (uint64_t)i, EQP_CURVE_END);
    switch (kind) {
    case RANDOM:
        return random;
    case FEW_VALUES:
        return random >> 60 << 60;
    case LOW_BITS:
        return (UINT64_C(5) << 59) + (random >> 50);
    case TWO_CLUMPS: /* clumps differ in the upper bits, keys within a clump in the lowest */
        return (i % 2 ? UINT64_C(1) << 62 : 0) + (random >> 45);
    case CROWDED:
        return random >> (random % 50);
    case RUNS: /* runs of many sizes that end within the word */
        return (random >> 53 << 53) | (random & 0x3ff) << (i % 3 * 10);
    case EQUAL:
        return 77;
    case ASCENDING:
        return (uint64_t)i << 20;
    case DESCENDING:
        return (uint64_t)(n - i) << 20;
    default: /* nearly sorted */
        return i % 97 == 0 ? random : (uint64_t)i << 40;
    }
}

static void check(enum kind kind, int64_t n, int ids)
{
    static uint64_t key[MOST];
    static int64_t id[MOST];
    static int32_t order[MOST];
    static item expected[MOST];
    for (int64_t i = 0; i < n; i++) {
        key[i] = make_key(kind, i, n);
        id[i] = ids == 0   ? (int64_t)eqp_random_bits(2, 0, (uint64_t)i) /* both signs */
                : ids == 1 ? (int64_t)eqp_random_below(2, 1, (uint64_t)i, 5)
                           : n - i;
        expected[i] = (item){key[i], id[i], i};
    }
    qsort(expected, (size_t)n, sizeof(*expected), compare);
    assert_ok(bh_order(n, key, id, order));
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(order[i], expected[i].place);
    }
}

TEST(every_kind_of_keys_is_sorted)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 31, 32, 33, 64, 65, 1000, MOST};
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
            for (int ids = 0; ids < 3; ids++) {
                check((enum kind)kind, sizes[s], ids);
            }
        }
    }
}

TEST(the_number_of_smaller_keys_is_found)
{
    static const uint64_t keys[] = {3, 3, 5, 9, 9, 9, 12};
    static const uint64_t wanted[] = {0, 3, 4, 5, 6, 9, 10, 12, 13, UINT64_MAX};
    for (size_t w = 0; w < sizeof(wanted) / sizeof(*wanted); w++) {
        for (int64_t n = 0; n <= 7; n++) {
            int64_t smaller = 0;
            for (int64_t i = 0; i < n; i++) {
                smaller += keys[i] < wanted[w];
            }
            assert_int_equal(bh_order_lower(n, keys, wanted[w]), smaller);
        }
    }
}
