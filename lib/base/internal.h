/* SPDX-License-Identifier: BSD-3-Clause */
/* Idioms of error codes, messages and arrays, and sealed bytes. Shared by all rooms, not installed. */
#ifndef EQUIPOISE_BASE_INTERNAL_H
#define EQUIPOISE_BASE_INTERNAL_H

#include <equipoise/more/base.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define EQP__CHECK EQP_CHECK

/* Returns an error from the calling function if a condition holds. */
#define EQP__FAIL_IF(condition, error)                                                                                 \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            return (error);                                                                                            \
        }                                                                                                              \
    } while (0)

/* Sets a message, as eqp_message_set(message, ...); its value is the error. */
#define EQP__SAY(message, error, ...) (eqp_message_set((message), __VA_ARGS__), (error))

/* The status of an MPI call as a code, for rooms that know MPI. */
#define EQP__MPI(call) ((call) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI)

/* Creates several arrays: EQP__ARRAYS(EQP__ARRAY(load, n), EQP__ARRAY(first, n + 1)). The value is the first error of
 * eqp_array_create(); arrays created before it stay. The counts are computed before any array exists. */
#define EQP__ARRAY(pointer, count)                                                                                     \
    {                                                                                                                  \
        &(pointer), (count), sizeof *(pointer)                                                                         \
    }
#define EQP__ARRAYS(...)                                                                                               \
    eqp__arrays_create((const eqp__array[]){__VA_ARGS__}, sizeof((eqp__array[]){__VA_ARGS__}) / sizeof(eqp__array))

/* Frees several blocks. The pointers are read before any block is freed, so a struct may follow its members. */
#define EQP__FREE(...) eqp__free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))

typedef struct eqp__array {
    void *array;
    int64_t count;
    size_t size;
} eqp__array;

static inline int eqp__arrays_create(const eqp__array *list, size_t n)
{
    int code = EQP_OK;

    for (size_t i = 0; i < n && code == EQP_OK; i++) {
        code = eqp_array_create(list[i].array, list[i].count, list[i].size);
    }
    return code;
}

static inline void eqp__free_all(void *const *block, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(block[i]);
    }
}

/* True if x is finite and >= 0. */
static inline bool eqp__is_amount(double x)
{
    return isfinite(x) && x >= 0.0;
}

static inline bool eqp__is_positive(double x)
{
    return isfinite(x) && x > 0.0;
}

/* Bytes of the checksum that ends data which a caller stores and returns, so that damaged data are refused. */
#define EQP__SEAL 8

/* Writes the checksum of the first size - EQP__SEAL bytes into the last ones. size: at least EQP__SEAL. */
void eqp__seal(void *bytes, size_t size);

/* True if the bytes end with their checksum. A change within one aligned word of 8 bytes is always detected, any
 * other change with a probability of 1 - 2^-64. */
bool eqp__sealed(const void *bytes, size_t size);

#endif
