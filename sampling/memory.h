/* SPDX-License-Identifier: BSD-3-Clause */
/** \file memory.h
 * \brief Internal: the sampler's allocations, with checked products, and idioms of error codes. */
#ifndef EQP_MEMORY_H
#define EQP_MEMORY_H

#include <equipoise/error.h>

#include <stdint.h>
#include <stdlib.h>

#define EQP__CHECK EQP_CHECK

/** Returns an error from the calling function if a condition holds. */
#define EQP__FAIL_IF(condition, error)                                                                                 \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            return (error);                                                                                            \
        }                                                                                                              \
    } while (0)

/** Zeroed memory for n elements of `size` bytes (at least one byte), or NULL. */
static inline void *eqp__calloc(size_t n, size_t size)
{
    return n != 0 && size != 0 ? calloc(n, size) : calloc(1, 1);
}

/** Resizes a block to n elements; the old block stays valid if the result is NULL. */
static inline void *eqp__realloc(void *block, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size) {
        return NULL;
    }
    return realloc(block, n * size > 0 ? n * size : 1);
}

/** Memory that is not zeroed. */
static inline void *eqp__malloc(size_t n, size_t size)
{
    return eqp__realloc(NULL, n, size);
}

/** Frees several blocks. The pointers are read before any block is freed, so a struct may follow its members. */
#define EQP__FREE(...)                                                                                                 \
    do {                                                                                                               \
        void *const eqp__block[] = {__VA_ARGS__};                                                                      \
        for (size_t eqp__i = 0; eqp__i < sizeof eqp__block / sizeof *eqp__block; eqp__i++) {                           \
            free(eqp__block[eqp__i]);                                                                                  \
        }                                                                                                              \
    } while (0)

#endif
