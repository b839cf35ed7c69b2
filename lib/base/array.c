/* SPDX-License-Identifier: BSD-3-Clause */
#define _DEFAULT_SOURCE /* madvise */
#include "base/internal.h"

#include <sys/mman.h>

/* Arrays of at least this many bytes start at a page boundary and request large pages, since page faults can take
 * half of the first pass over new memory. */
#define LARGE_BYTES ((size_t)8 << 20)
#define PAGE_BYTES ((uintptr_t)4096)

static void advise_large(void *items, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (bytes >= LARGE_BYTES) {
        const uintptr_t from = ((uintptr_t)items + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
        (void)madvise((void *)from, ((uintptr_t)items + bytes - from) & ~(PAGE_BYTES - 1), MADV_HUGEPAGE);
    }
#else
    (void)items;
    (void)bytes;
#endif
}

int eqp_array_bytes(int64_t count, size_t size, size_t *bytes)
{
    EQP__FAIL_IF(count < 0 || size == 0 || !bytes, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF((uint64_t)count > (uint64_t)PTRDIFF_MAX / size, EQP_ERR_OVERFLOW);
    *bytes = (size_t)count * size;
    return EQP_OK;
}

/* POSIX gives all object pointers the same representation; memcpy respects the aliasing rules. */
static void store_pointer(void *array, void *items)
{
    memcpy(array, &items, sizeof items);
}

int eqp_array_create(void *array, int64_t count, size_t size)
{
    size_t bytes;
    int code = array ? eqp_array_bytes(count, size, &bytes) : EQP_ERR_ARGUMENT;
    void *items;

    EQP__CHECK(code);
    items = calloc(bytes ? bytes : 1, 1);
    EQP__FAIL_IF(!items, EQP_ERR_MEMORY);
    advise_large(items, bytes);
    store_pointer(array, items);
    return EQP_OK;
}

int eqp_array_reserve(void *array, int64_t *capacity, int64_t count, size_t size)
{
    EQP_REQUIRE(array && capacity);
    if (count >= 0 && count <= *capacity && size > 0) { /* the usual case */
        return EQP_OK;
    }
    int64_t wanted = count;
    size_t bytes;
    void *items;

    EQP__CHECK(eqp_array_bytes(count, size, &bytes));
    if (*capacity <= INT64_MAX - *capacity / 2 && wanted < *capacity + *capacity / 2) {
        wanted = *capacity + *capacity / 2;
    }
    if (wanted < 16) {
        wanted = 16;
    }
    if (eqp_array_bytes(wanted, size, &bytes)) {
        wanted = count;
        (void)eqp_array_bytes(count, size, &bytes);
    }
    memcpy(&items, array, sizeof items);
    items = realloc(items, bytes);
    EQP__FAIL_IF(!items, EQP_ERR_MEMORY);
    advise_large(items, bytes);
    store_pointer(array, items);
    *capacity = wanted;
    return EQP_OK;
}
