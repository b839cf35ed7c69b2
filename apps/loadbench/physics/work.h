/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that only costs time: random accesses to an array, each dependent on the previous one. */
#ifndef LB_WORK_H
#define LB_WORK_H

#include <stdint.h>

typedef struct lb_work {
    uint64_t *array; /* [1 << bits] */
    int bits;
} lb_work;

/* Creates an array of the largest power of two that is <= `bytes`, >= 16. EQP_OK, EQP_ERR_ARGUMENT or
 * EQP_ERR_MEMORY. */
int lb_work_create(int64_t bytes, lb_work *work);
void lb_work_free(lb_work *work);

/* Accesses the array n times. The result depends on every access, so that the compiler removes none. */
uint64_t lb_work_do(const lb_work *work, int64_t accesses, uint64_t start);

#endif
