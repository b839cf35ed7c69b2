/* SPDX-License-Identifier: BSD-3-Clause */
/* The put_... functions of walk_steps.h, one value at a time. */
#include "walker.h"

BH_TARGET static inline void put_open(int32_t *to, const bh_family *family, unsigned lanes)
{
    for (; lanes != 0; lanes &= lanes - 1) {
        *to++ = family->below[__builtin_ctz(lanes)];
    }
}

BH_TARGET static inline void put_chain(int32_t *to, int32_t first)
{
    for (int k = 0; k < BH_FAMILY; k++) {
        to[k] = first + k;
    }
}

BH_TARGET static inline void put_numbers(int64_t *to, int64_t first, unsigned lanes)
{
    for (; lanes != 0; lanes &= lanes - 1) {
        *to++ = first + __builtin_ctz(lanes);
    }
}

BH_TARGET static inline void put_values(int64_t *to, const int32_t *values, unsigned lanes)
{
    for (; lanes != 0; lanes &= lanes - 1) {
        *to++ = values[__builtin_ctz(lanes)];
    }
}
