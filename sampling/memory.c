/* SPDX-License-Identifier: BSD-3-Clause */
/* For test builds only: without EQP_TEST_ALLOC this file declares no object and no function. */
#include "memory.h"

#ifdef EQP_TEST_ALLOC
static int64_t until_failure = -1;
static int64_t asked;
static int64_t live;

void eqp__alloc_fail(int64_t n)
{
    until_failure = n;
    asked = 0;
}

int64_t eqp__alloc_count(void)
{
    return asked;
}

int64_t eqp__alloc_live(void)
{
    return live;
}

static int fails(size_t n, size_t size)
{
    asked++;
    if (until_failure >= 0 && until_failure-- == 0) {
        return 1;
    }
    return size != 0 && n > SIZE_MAX / size;
}

void *eqp__malloc(size_t n, size_t size)
{
    return eqp__realloc(NULL, n, size);
}

void *eqp__calloc(size_t n, size_t size)
{
    if (fails(n, size)) {
        return NULL;
    }
    void *block = n != 0 && size != 0 ? calloc(n, size) : calloc(1, 1);
    live += block != NULL;
    return block;
}

void *eqp__realloc(void *block, size_t n, size_t size)
{
    if (fails(n, size)) {
        return NULL;
    }
    void *moved = realloc(block, n * size > 0 ? n * size : 1);
    live += moved != NULL && block == NULL;
    return moved;
}

void eqp__free(void *block)
{
    live -= block != NULL;
    free(block);
}
#endif
