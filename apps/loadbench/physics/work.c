/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <stdlib.h>

int lb_work_create(int64_t bytes, lb_work *work)
{
    lb_work made = {.bits = 1};

    EQP_CHECK(bytes >= 16 ? EQP_OK : EQP_ERR_ARGUMENT);
    while (made.bits < 40 && (INT64_C(16) << made.bits) <= bytes) {
        made.bits++;
    }
    EQP_CHECK(eqp_array_create(&made.array, INT64_C(1) << made.bits, sizeof *made.array));
    for (int64_t i = 0; i < INT64_C(1) << made.bits; i++) {
        made.array[i] = eqp_random_bits(0, 0, (uint64_t)i);
    }
    *work = made;
    return EQP_OK;
}

void lb_work_free(lb_work *work)
{
    free(work->array);
    work->array = NULL;
}

/* The upper bits of a linear congruential generator (Knuth's constant) select the next access. */
uint64_t lb_work_do(const lb_work *work, int64_t accesses, uint64_t start)
{
    const int shift = 64 - work->bits;
    uint64_t state = start;

    for (int64_t i = 0; i < accesses; i++) {
        state = state * UINT64_C(6364136223846793005) + work->array[state >> shift];
    }
    return state;
}
