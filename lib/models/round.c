/* SPDX-License-Identifier: BSD-3-Clause */
#include "models/speeds.h"

#include "base/internal.h"

#include <math.h>
#include <stdlib.h>

/* Remainder of a rank's quota after rounding down. */
typedef struct quota_rest {
    double rest;
    int rank;
} quota_rest;

static int compare(const void *a, const void *b)
{
    const quota_rest *x = a, *y = b;

    if (x->rest != y->rest) {
        return x->rest > y->rest ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Largest size, and the sum of all sizes in units of it, so that no sum overflows. */
static int find_sum(int64_t n, int nranks, const double *size, double *largest, double *sum)
{
    double most = 0.0, total = 0.0;

    for (int r = 0; r < nranks; r++) {
        EQP__FAIL_IF(!(size[r] >= 0.0) || !isfinite(size[r]), EQP_ERR_DATA);
        most = fmax(most, size[r]);
    }
    if (most > 0.0) {
        for (int r = 0; r < nranks; r++) {
            total += size[r] / most;
        }
    }
    *largest = most;
    *sum = total;
    return n > 0 && most <= 0.0 ? EQP_ERR_DATA : EQP_OK;
}

int eqp__speeds_round(int64_t n, int nranks, const double *size, int64_t *share)
{
    quota_rest *left = NULL;
    double largest, sum;
    int64_t missing = n;

    EQP__FAIL_IF(nranks < 1 || n < 0 || n > (int64_t)EQP_SPEEDS_ITEMS, EQP_ERR_ARGUMENT);
    EQP__CHECK(find_sum(n, nranks, size, &largest, &sum));
    EQP__CHECK(eqp_array_create(&left, nranks, sizeof *left));
    for (int r = 0; r < nranks; r++) {
        const double quota = n > 0 ? (double)n * (size[r] / largest / sum) : 0.0;
        share[r] = (int64_t)quota;
        left[r] = (quota_rest){quota - floor(quota), r};
        missing -= share[r];
    }
    qsort(left, (size_t)nranks, sizeof *left, compare);
    /* at most one per rank, apart from rounding of quotas near 2^53 */
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

/* State of rounding; arrays are [nranks]. */
typedef struct rounding {
    const eqp_speeds *speeds;
    int nranks;
    const eqp__curve *curve;
    const double *size;
    int64_t *share;
    double *seconds; /* of the shares */
} rounding;

static int find_slowest(const rounding *r)
{
    int slowest = 0;

    for (int i = 1; i < r->nranks; i++) {
        if (r->seconds[i] > r->seconds[slowest]) {
            slowest = i;
        }
    }
    return slowest;
}

/* Among ranks that were rounded down, the rank that finishes one more item first, in less than `seconds`; -1: none. */
static int find_taker(const rounding *r, double seconds)
{
    int taker = -1;

    for (int i = 0; i < r->nranks; i++) {
        if ((double)r->share[i] < r->size[i]) {
            const double more = eqp__curve_seconds(&r->curve[i], (double)r->share[i] + 1.0);
            if (more < seconds) {
                seconds = more;
                taker = i;
            }
        }
    }
    return taker;
}

/* True if a rank was rounded up to a share that has been measured. A share not yet measured is tried first. */
static bool is_known_to_be_too_much(const rounding *r, int rank)
{
    const eqp__speed_points *points = &r->speeds->ranks[rank];

    for (int k = 0; k < points->n; k++) {
        if (points->point[k].size == (double)r->share[rank]) {
            return (double)r->share[rank] > r->size[rank];
        }
    }
    return false;
}

/* Rounding by remainders ignores cliffs: the item by which a rank was rounded up may not fit into its memory. That
 * item moves to a rank that was rounded down and finishes earlier, so every share stays within one item of its size. */
static void lighten_slowest(rounding *r)
{
    for (int i = 0; i < r->nranks; i++) {
        r->seconds[i] = eqp__curve_seconds(&r->curve[i], (double)r->share[i]);
    }
    for (int moves = 0; moves < r->nranks; moves++) {
        const int from = find_slowest(r);
        const int to = is_known_to_be_too_much(r, from) ? find_taker(r, r->seconds[from]) : -1;

        if (to < 0) {
            return;
        }
        r->share[from]--;
        r->share[to]++;
        r->seconds[from] = eqp__curve_seconds(&r->curve[from], (double)r->share[from]);
        r->seconds[to] = eqp__curve_seconds(&r->curve[to], (double)r->share[to]);
    }
}

int eqp_speeds_share(const eqp_speeds *speeds, int64_t *share)
{
    EQP_REQUIRE(speeds && share);
    const int nranks = speeds->nranks;
    const double mean = eqp__speeds_mean(speeds);
    eqp__curve *curve = NULL;
    double *size = NULL;
    int code;

    EQP__FAIL_IF(speeds->n != floor(speeds->n), EQP_ERR_STATE);
    if ((code = eqp_array_create(&size, (int64_t)2 * nranks, sizeof *size)) ||
        (mean > 0.0 && (code = eqp__speeds_curves_create(speeds, mean, &curve))) ||
        (code = eqp__speeds_divide(speeds, size)) ||
        (code = eqp__speeds_round((int64_t)speeds->n, nranks, size, share))) {
        goto done;
    }
    if (curve) {
        rounding r = {speeds, nranks, curve, size, share, size + nranks};
        lighten_slowest(&r);
    }
done:
    EQP__FREE(curve, size);
    return code;
}
