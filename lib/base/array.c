/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/base.h>

#include <stdlib.h>
#include <string.h>

int eqp_array_bytes(int64_t count, size_t size, size_t *bytes)
{
    if (count < 0 || size == 0 || !bytes) {
        return EQP_ERR_ARGUMENT;
    }
    if ((uint64_t)count > (uint64_t)PTRDIFF_MAX / size) {
        return EQP_ERR_OVERFLOW;
    }
    *bytes = (size_t)count * size;
    return EQP_OK;
}

/* Pointers to items of any type all look alike on the machines of POSIX; memcpy keeps the compiler's aliasing rules. */
static void store_pointer(void *array, void *items)
{
    memcpy(array, &items, sizeof items);
}

int eqp_array_create(void *array, int64_t count, size_t size)
{
    size_t bytes;
    int code = array ? eqp_array_bytes(count, size, &bytes) : EQP_ERR_ARGUMENT;
    void *items;

    if (code) {
        return code;
    }
    items = calloc(bytes ? bytes : 1, 1);
    if (!items) {
        return EQP_ERR_MEMORY;
    }
    store_pointer(array, items);
    return EQP_OK;
}

int eqp_array_reserve(void *array, int64_t *capacity, int64_t count, size_t size)
{
    EQP_REQUIRE(array && capacity);
    if (count >= 0 && count <= *capacity && size > 0) { /* nearly always */
        return EQP_OK;
    }
    int64_t wanted = count;
    size_t bytes;
    void *items;
    int code = eqp_array_bytes(count, size, &bytes);

    if (code) {
        return code;
    }
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
    if (!items) {
        return EQP_ERR_MEMORY;
    }
    store_pointer(array, items);
    *capacity = wanted;
    return EQP_OK;
}
