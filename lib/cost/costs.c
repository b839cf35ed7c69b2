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

    EQP__CHECK(eqp__cost_sums_init(&made.samples, nkinds, EQP_COST_RELATIVE)); /* EQP_ERR_ARGUMENT for an nkinds out of
                                                                                * range */
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

int eqp__costs_tell(const eqp_costs *costs, const eqp_timings *timings, double told[EQP__COSTS_TOLD])
{
    double *model = NULL, *measured = NULL, correlation = 0.0;
    eqp_cost_sums mine;
    int code;

    EQP_TRY(eqp__cost_sums_init(&mine, costs->fit.nkinds, EQP_COST_RELATIVE));
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
    eqp_cost_sums all;
    eqp_cost_fit fit;
    int code = eqp__cost_sums_init(&all, costs->fit.nkinds, EQP_COST_RELATIVE);

    for (int i = 0; i < EQP_COST_SUMS && code == EQP_OK; i++) {
        costs->samples.sum[i] *= FADING;
        all.sum[i] = told[i];
    }
    EQP_TRY(code);
    *correlation = told[EQP_COST_SUMS] > 0 ? told[EQP_COST_SUMS + 1] / told[EQP_COST_SUMS] : 0.0;
    if (costs->fixed) {
        return EQP_OK;
    }
    EQP_TRY(eqp__cost_sums_merge(&costs->samples, &all));
    EQP_TRY(eqp__cost_fit_near(&costs->samples, costs->nominal, LEAN, &fit));
done:
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
