/* SPDX-License-Identifier: BSD-3-Clause */
#include "cost/costs.h"

#include "base/internal.h"
#include "comm/agree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weight of a sample after one more step: costs change slowly, and single steps are noisy. */
#define FADING 0.9

/* Weight of the nominal costs against the samples. Without it, kinds that always occur in about the same ratio would be
 * fitted to noise. */
#define LEAN 0.01

/* Precision of the costs: each is a multiple of the last bit of the largest. Loads, i.e. costs times counts, then
 * have the same sum in any order, up to 2^29 of the most expensive pieces, so that parts do not depend on the order
 * of summation. */
#define COST_BITS 24

static void shorten(eqp_cost_fit *fit)
{
    double most = 0.0;
    int exponent;

    for (int k = 0; k < fit->nkinds; k++) {
        most = fmax(most, fit->cost[k]);
    }
    frexp(most, &exponent);
    for (int k = 0; k < fit->nkinds; k++) {
        const double quanta = rint(ldexp(fit->cost[k], COST_BITS - exponent));
        fit->cost[k] = ldexp(fit->cost[k] > 0.0 ? fmax(quanta, 1.0) : 0.0, exponent - COST_BITS);
    }
}

int eqp__costs_init(eqp_costs *costs, int nkinds, const double *nominal)
{
    eqp_costs made = {.fit = {.nkinds = nkinds}};

    EQP__CHECK(eqp__cost_sums_init(&made.samples, nkinds));
    for (int k = 0; k < nkinds; k++) {
        made.fit.cost[k] = made.nominal[k] = nominal[k];
    }
    shorten(&made.fit);
    *costs = made;
    return EQP_OK;
}

void eqp__costs_fix(eqp_costs *costs)
{
    for (int k = 0; k < costs->fit.nkinds; k++) {
        costs->fit.cost[k] = costs->nominal[k];
    }
    shorten(&costs->fit);
    costs->known = costs->fixed = true;
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
    ranked *order = NULL;
    double *rank_model = NULL, *rank_measured = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(order, n), EQP__ARRAY(rank_model, n), EQP__ARRAY(rank_measured, n)));
    find_ranks(n, model, order, rank_model);
    find_ranks(n, measured, order, rank_measured);
    *r = correlate(n, rank_model, rank_measured);
done:
    EQP__FREE(rank_measured, rank_model, order);
    return code;
}

int eqp__costs_tell(const eqp_costs *costs, const eqp_timings *timings, double told[EQP__COSTS_TOLD])
{
    double *model = NULL, *measured = NULL, correlation = 0.0;
    eqp_cost_sums mine;
    int code;

    EQP_TRY(eqp__cost_sums_init(&mine, costs->fit.nkinds));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(model, timings->n), EQP__ARRAY(measured, timings->n)));
    for (int64_t i = 0; i < timings->n; i++) {
        const eqp_timing *t = &timings->timing[i];
        model[i] = eqp__costs_predict(costs, t->count);
        measured[i] = t->seconds;
        EQP_TRY(eqp__cost_sums_add(&mine, t->count, t->seconds));
    }
    if (timings->n > 0) {
        EQP_TRY(eqp__load_rank_correlation(timings->n, model, measured, &correlation));
    }
    memcpy(told, mine.sum, sizeof mine.sum);
    told[EQP_COST_SUMS] = (double)timings->n;
    told[EQP_COST_SUMS + 1] = (double)timings->n * correlation;
done:
    EQP__FREE(measured, model);
    return code;
}

int eqp__costs_hear(eqp_costs *costs, const double told[EQP__COSTS_TOLD], double *correlation)
{
    eqp_cost_fit fit;

    for (int i = 0; i < EQP_COST_SUMS; i++) {
        costs->samples.sum[i] *= FADING;
    }
    *correlation = told[EQP_COST_SUMS] > 0 ? told[EQP_COST_SUMS + 1] / told[EQP_COST_SUMS] : 0.0;
    if (costs->fixed) {
        return EQP_OK;
    }
    for (int i = 0; i < EQP_COST_SUMS; i++) {
        costs->samples.sum[i] += told[i];
    }
    const int code = eqp__cost_fit_near(&costs->samples, costs->nominal, LEAN, &fit);
    if (code != EQP_OK) {
        return code == EQP_ERR_STATE ? EQP_OK : code; /* no sample yet */
    }
    /* a fit is unreliable without the first kind, or with too few samples to separate the kinds */
    if (fit.samples < 2 * costs->fit.nkinds || !(fit.cost[0] > 0)) {
        return EQP_OK;
    }
    for (int k = 0; k < costs->fit.nkinds; k++) {
        fit.cost[k] = fit.seen[k] ? fit.cost[k] : fit.factor * costs->nominal[k];
    }
    shorten(&fit);
    costs->fit = fit;
    costs->known = true;
    return EQP_OK;
}

int eqp__costs_learn(eqp_costs *costs, MPI_Comm comm, const eqp_timings *timings, double *correlation)
{
    double told[EQP__COSTS_TOLD] = {0};
    int code = eqp__costs_tell(costs, timings, told);

    code = eqp__meet(comm, code, 0, NULL, EQP__COSTS_TOLD, told, NULL);
    return code == EQP_OK ? eqp__costs_hear(costs, told, correlation) : code;
}

int eqp_timings_create(int nkinds, eqp_timings **timings)
{
    eqp_timings *made = NULL;

    EQP__FAIL_IF(nkinds < 1 || nkinds > EQP_COST_KINDS || !timings, EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp_array_create(&made, 1, sizeof *made));
    made->nkinds = nkinds;
    *timings = made;
    return EQP_OK;
}

void eqp_timings_free(eqp_timings *timings)
{
    if (timings) {
        EQP__FREE(timings->timing, timings);
    }
}

int eqp_timings_add(eqp_timings *timings, const int64_t *count, double seconds)
{
    EQP__FAIL_IF(!count, EQP_ERR_ARGUMENT);
    if (!timings) {
        return EQP_OK;
    }
    EQP__CHECK(eqp_array_reserve(&timings->timing, &timings->capacity, timings->n + 1, sizeof *timings->timing));
    eqp_timing *timing = &timings->timing[timings->n++];
    *timing = (eqp_timing){.seconds = seconds};
    memcpy(timing->count, count, (size_t)timings->nkinds * sizeof *count);
    return EQP_OK;
}

void eqp_timings_clear(eqp_timings *timings)
{
    if (timings) {
        timings->n = 0;
    }
}
