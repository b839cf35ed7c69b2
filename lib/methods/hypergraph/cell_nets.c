/* SPDX-License-Identifier: BSD-3-Clause */
#include "cell_nets.h"

#include <equipoise/more/random.h>

/* Seed of the random numbers used as cell ids, to avoid collisions with pins that are random numbers themselves. */
#define CELL_STREAM 0x63656c6c

/* Index of the first key in [first, end) that is not below `limit`; else end. */
static int64_t lower_bound(const uint64_t *key, int64_t first, int64_t end, uint64_t limit)
{
    while (first < end) {
        const int64_t middle = first + (end - first) / 2;
        if (key[middle] < limit) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static int count_children(const uint64_t *key, int64_t first, int64_t end, uint64_t begin, int shift)
{
    int children = 0;

    for (uint64_t w = 0; w < 8; w++) {
        const int64_t next = lower_bound(key, first, end, begin + ((w + 1) << (shift - 3)));
        children += next > first;
        first = next;
    }
    return children;
}

int eqp__cell_nets(int64_t n, const uint64_t *key, int64_t i, int64_t most, eqp__cell_net *net)
{
    int64_t inside = 0; /* items of the next smaller cell */
    int count = 0;

    for (int shift = 3; shift <= 3 * EQP_CURVE_BITS; shift += 3) {
        const uint64_t begin = key[i] >> shift << shift;
        const int64_t first = lower_bound(key, 0, i, begin),
                      end = lower_bound(key, i, n, begin + (UINT64_C(1) << shift));
        if (end - first > most) {
            break;
        }
        const int children = end - first > inside ? count_children(key, first, end, begin, shift) : 0;
        if (children > 1) {
            const uint64_t name = eqp_random_bits(CELL_STREAM, (uint64_t)shift, begin) >> 1;
            net[count++] = (eqp__cell_net){.id = (int64_t)name, .first = first, .n = end - first, .children = children};
        }
        inside = end - first;
    }
    return count;
}
