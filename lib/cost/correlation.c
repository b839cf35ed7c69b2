/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"
#include "cost/costs.h"

#include <math.h>
#include <stdlib.h>

static int check_values(int64_t n, const double *model, const double *measured)
{
    EQP__FAIL_IF(n < 1 || !model || !measured, EQP_ERR_ARGUMENT);
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(!isfinite(model[i]) || !isfinite(measured[i]), EQP_ERR_DATA);
    }
    return EQP_OK;
}

/* Mean and largest deviation; each term is divided first to avoid overflow. */
static void find_scale(int64_t n, const double *value, double *mean, double *spread)
{
    *mean = 0.0;
    *spread = 0.0;
    for (int64_t i = 0; i < n; i++) {
        *mean += value[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        *spread = fmax(*spread, fabs(value[i] / 2.0 - *mean / 2.0));
    }
}

static bool all_equal(int64_t n, const double *value)
{
    for (int64_t i = 1; i < n; i++) {
        if (value[i] != value[0]) {
            return false;
        }
    }
    return true;
}

static double correlate(int64_t n, const double *a, const double *b)
{
    double mean_a, mean_b, spread_a, spread_b, aa = 0.0, bb = 0.0, ab = 0.0;

    /* compare the values, since rounding can produce a spread where there is none */
    if (all_equal(n, a) || all_equal(n, b)) {
        return 0.0;
    }
    find_scale(n, a, &mean_a, &spread_a);
    find_scale(n, b, &mean_b, &spread_b);
    if (spread_a == 0.0 || spread_b == 0.0) {
        return 0.0;
    }
    for (int64_t i = 0; i < n; i++) {
        double da = (a[i] / 2.0 - mean_a / 2.0) / spread_a;
        double db = (b[i] / 2.0 - mean_b / 2.0) / spread_b;

        aa += da * da;
        bb += db * db;
        ab += da * db;
    }
    return fmin(1.0, fmax(-1.0, ab / (sqrt(aa) * sqrt(bb))));
}

int eqp__load_correlation(int64_t n, const double *model, const double *measured, double *r)
{
    EQP_REQUIRE(r);

    EQP__CHECK(check_values(n, model, measured));
    *r = correlate(n, model, measured);
    return EQP_OK;
}

typedef struct ranked {
    double value;
    int64_t index;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;

    return (x > y) - (x < y);
}

/* rank[i]: place of value[i] in ascending order, counted from 1; equal values share the mean of their places. */
static void find_ranks(int64_t n, const double *value, ranked *order, double *rank)
{
    for (int64_t i = 0; i < n; i++) {
        order[i].value = value[i];
        order[i].index = i;
    }
    qsort(order, (size_t)n, sizeof *order, compare_ranked);
    for (int64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && order[end].value == order[first].value; end++) {
        }
        for (int64_t k = first; k < end; k++) {
            rank[order[k].index] = 0.5 * (double)(first + end + 1);
        }
    }
}

int eqp__load_rank_correlation(int64_t n, const double *model, const double *measured, double *r)
{
    EQP_REQUIRE(r);
    ranked *order = NULL;
    double *rank_model = NULL, *rank_measured = NULL;
    int code = check_values(n, model, measured);

    EQP_TRY(code);
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(order, n), EQP__ARRAY(rank_model, n), EQP__ARRAY(rank_measured, n)));
    find_ranks(n, model, order, rank_model);
    find_ranks(n, measured, order, rank_measured);
    *r = correlate(n, rank_model, rank_measured);
done:
    EQP__FREE(rank_measured, rank_model, order);
    return code;
}
