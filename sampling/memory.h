/* SPDX-License-Identifier: BSD-3-Clause */
/** \file memory.h
 * \brief Internal: every allocation of the libraries: malloc and its family, with a check of the product. */
#ifndef EQP_MEMORY_H
#define EQP_MEMORY_H

#include <stdint.h>
#include <stdlib.h>

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
