/* SPDX-License-Identifier: BSD-3-Clause */
/* The global order of particles: by key, and by id where keys are equal. Every rank count sees the same order. */
#ifndef BH_ORDER_H
#define BH_ORDER_H

#include <stdint.h>

/* order [n] becomes the permutation that sorts (key, id) ascending: order[i] is the old place of the i-th. Stable radix
 * sort; O(n), and one pass where the keys ascend already. n < 2^32. EQP_ERR_MEMORY leaves order unchanged. */
int bh_order(int64_t n, const uint64_t *key, const int64_t *id, int64_t *order);

/* Number of keys below `key` in an ascending array [n]. O(log n). */
int64_t bh_order_lower(int64_t n, const uint64_t *keys, uint64_t key);

#endif
