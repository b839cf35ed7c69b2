/* SPDX-License-Identifier: BSD-3-Clause */
/** \file memory.h
 * \brief Internal: every allocation of the libraries, so that tests can make each one fail.
 *
 * Normally these are malloc and its family, with a check of the product; nothing is stored anywhere. In a test build
 * (EQP_TEST_ALLOC) they ask memory.c first, which counts, and fails the allocation that the test chose. */
#ifndef EQP_MEMORY_H
#define EQP_MEMORY_H

#include <stdint.h>
#include <stdlib.h>

#ifdef EQP_TEST_ALLOC
/** Makes allocation number n from now (0: the next one) fail, and only that one; n < 0: none. Also sets the counter of
 * eqp__alloc_count() to 0. */
void eqp__alloc_fail(int64_t n);
/** Allocations asked for since the last eqp__alloc_fail(), failed ones included. */
int64_t eqp__alloc_count(void);
/** Blocks that were allocated and are not freed yet. */
int64_t eqp__alloc_live(void);

void *eqp__malloc(size_t n, size_t size);
void *eqp__calloc(size_t n, size_t size);
void *eqp__realloc(void *block, size_t n, size_t size);
void eqp__free(void *block);
#else
/** Room for n things of `size` bytes (at least one byte), or NULL. */
static inline void *eqp__malloc(size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size) {
        return NULL;
    }
    return malloc(n * size > 0 ? n * size : 1);
}

/** The same, all bytes 0. */
static inline void *eqp__calloc(size_t n, size_t size)
{
    return n != 0 && size != 0 ? calloc(n, size) : calloc(1, 1);
}

/** Changes a block to n things; the old block is untouched if the result is NULL. */
static inline void *eqp__realloc(void *block, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size) {
        return NULL;
    }
    return realloc(block, n * size > 0 ? n * size : 1);
}

static inline void eqp__free(void *block)
{
    free(block);
}
#endif

#endif
