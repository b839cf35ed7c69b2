/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of needs as sorted keys, without arrays per block. */
#ifndef EQUIPOISE_MOVE_NEEDS_H
#define EQUIPOISE_MOVE_NEEDS_H

#include <equipoise/more/whatif.h>

#define EQP__PART_BITS 16
#define EQP__PARTS_MAX (1 << EQP__PART_BITS)

/* The needs of the parts of a phase: a set of (block, part), filled as a stream, in any order, with repetitions. */
typedef struct eqp__needs eqp__needs;

int eqp__needs_create(eqp__needs **needs);
void eqp__needs_free(eqp__needs *needs); /* NULL is legal */

/* Adds a need; block: 0 to 2^47 - 1, part: 0 to EQP__PARTS_MAX - 1. Amortised O(log) with a filter for repetitions;
 * memory O(different needs), 8 to 16 bytes each and at most 8 more while it grows. EQP_OK or EQP_ERR_MEMORY. */
int eqp__needs_add(eqp__needs *needs, int64_t block, int part);

/* Keys block << EQP__PART_BITS | part, ascending and distinct; borrowed until more needs are added. EQP_OK or
 * EQP_ERR_MEMORY. */
int eqp__needs_keys(eqp__needs *needs, int64_t *n, const uint64_t **keys);

double eqp__needs_bytes(const eqp__needs *needs);

static inline int64_t eqp__key_block(uint64_t key)
{
    return (int64_t)(key >> EQP__PART_BITS);
}

static inline int eqp__key_part(uint64_t key)
{
    return (int)(key & (EQP__PARTS_MAX - 1));
}

#endif
