/* SPDX-License-Identifier: BSD-3-Clause */
#include "share/speeds.h"

#include <math.h>
#include <stdlib.h>

/* What rounding down leaves of a rank's quota. */
typedef struct remainder {
    double rest;
    int rank;
} remainder_of;

static int compare(const void *a, const void *b)
{
    const remainder_of *x = a, *y = b;

    if (x->rest != y->rest) {
        return x->rest > y->rest ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int find_sum(int64_t n, int nranks, const double *size, double *largest, double *sum)
{
    *largest = 0.0;
    *sum = 0.0;
    for (int r = 0; r < nranks; r++) {
        if (!(size[r] >= 0.0) || !isfinite(size[r])) {
            return EQP_ERR_DATA;
        }
        *largest = fmax(*largest, size[r]);
    }
    /* Relative to the largest, so that no sum overflows. */
    for (int r = 0; r<nranks && * largest> 0.0; r++) {
        *sum += size[r] / *largest;
    }
    return n > 0 && *largest <= 0.0 ? EQP_ERR_DATA : EQP_OK;
}

int eqp_speeds_round(int64_t n, int nranks, const double *size, int64_t *share)
{
    remainder_of *left = NULL;
    double largest, sum;
    int64_t missing = n;
    int code;

    if (nranks < 1 || n < 0 || n > (int64_t)EQP_SPEEDS_ITEMS) {
        return EQP_ERR_ARGUMENT;
    }
    if ((code = find_sum(n, nranks, size, &largest, &sum)) || (code = eqp_array_create(&left, nranks, sizeof *left))) {
        return code;
    }
    for (int r = 0; r < nranks; r++) {
        const double quota = n > 0 ? (double)n * (size[r] / largest / sum) : 0.0;
        share[r] = (int64_t)quota;
        left[r] = (remainder_of){quota - floor(quota), r};
        missing -= share[r];
    }
    qsort(left, (size_t)nranks, sizeof *left, compare);
    /* At most one for each rank, but for rounding of quotas near 2^53. */
    while (missing > 0) {
        for (int i = 0; i < nranks && missing > 0; i++, missing--) {
            share[left[i].rank]++;
        }
    }
    while (missing < 0) {
        for (int i = nranks - 1; i >= 0 && missing < 0; i--) {
            if (share[left[i].rank] > 0) {
                share[left[i].rank]--;
                missing++;
            }
        }
    }
    free(left);
    return EQP_OK;
}

int eqp_speeds_share(const eqp_speeds *speeds, int64_t *share, eqp_speeds_result *result)
{
    eqp_speeds_result r;
    double *size = NULL;
    int code;

    if (speeds->n != floor(speeds->n)) {
        return EQP_ERR_STATE;
    }
    if ((code = eqp_array_create(&size, speeds->nranks, sizeof *size)) ||
        (code = eqp_speeds_divide(speeds, size, &r)) ||
        (code = eqp_speeds_round((int64_t)speeds->n, speeds->nranks, size, share))) {
        goto done;
    }
    if (result) {
        *result = r;
    }
done:
    free(size);
    return code;
}

int eqp_speeds_spread(int nranks, const double *seconds, double *spread)
{
    double least = INFINITY, most = 0.0;

    if (nranks < 1) {
        return EQP_ERR_ARGUMENT;
    }
    for (int r = 0; r < nranks; r++) {
        if (!(seconds[r] >= 0.0) || !isfinite(seconds[r])) {
            return EQP_ERR_DATA;
        }
        if (seconds[r] > 0.0) {
            least = fmin(least, seconds[r]);
            most = fmax(most, seconds[r]);
        }
    }
    *spread = most > least ? most / least - 1.0 : 0.0;
    return EQP_OK;
}
