/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of needs as sorted keys, without arrays per block. */
#ifndef EQUIPOISE_MOVE_NEEDS_H
#define EQUIPOISE_MOVE_NEEDS_H

#include <equipoise/more/whatif.h>

#define EQP__PART_BITS 16
#define EQP__PARTS_MAX (1 << EQP__PART_BITS)
#define EQP__BLOCK_MAX ((INT64_C(1) << (63 - EQP__PART_BITS)) - 1)

/* Keys block << EQP__PART_BITS | part, ascending and distinct; borrowed until more needs are added. EQP_OK or
 * EQP_ERR_MEMORY. */
int eqp__needs_keys(eqp_needs *needs, int64_t *n, const uint64_t **keys);

double eqp__needs_bytes(const eqp_needs *needs);

static inline int64_t eqp__key_block(uint64_t key)
{
    return (int64_t)(key >> EQP__PART_BITS);
}

static inline int eqp__key_part(uint64_t key)
{
    return (int)(key & (EQP__PARTS_MAX - 1));
}

#endif
