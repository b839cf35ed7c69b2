/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_costs.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

/* What is left of a sample one step later: costs change slowly, and single steps are noisy. */
#define FADING 0.9

/* How much the nominal costs weigh against the samples: kinds that come in nearly the same mixture everywhere would get
 * the noise of a run for a cost otherwise. */
#define LEAN 0.01

int app_costs_init(app_costs *costs, int nkinds, const double *nominal)
{
    app_costs made = {.nkinds = nkinds};
    const int code = eqp_cost_sums_init(&made.samples, nkinds, EQP_COST_RELATIVE);

    for (int k = 0; k < nkinds && code == EQP_OK; k++) { /* the code says whether nkinds can be */
        made.seconds[k] = made.nominal[k] = nominal[k];
    }
    *costs = made;
    return code;
}

int app_costs_fit(app_costs *costs, MPI_Comm comm, const app_timings *timings)
{
    eqp_cost_sums all;
    eqp_cost_fit fit;
    int code = eqp_cost_sums_init(&all, costs->nkinds, EQP_COST_RELATIVE);

    for (int64_t i = 0; i < timings->n && code == EQP_OK; i++) {
        code = eqp_cost_sums_add(&all, timings->timing[i].count, timings->timing[i].seconds);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_sum_double(comm, EQP_COST_SUMS, all.sum);
    }
    for (int i = 0; i < EQP_COST_SUMS; i++) {
        costs->samples.sum[i] *= FADING;
    }
    EQP_TRY(code);
    EQP_TRY(eqp_cost_sums_merge(&costs->samples, &all));
    EQP_TRY(eqp_agree(comm, eqp_cost_fit_near(&costs->samples, costs->nominal, LEAN, &fit), NULL));
done:
    if (code != EQP_OK) {
        return code == EQP_ERR_STATE ? EQP_OK : code; /* no sample yet */
    }
    /* Without the first kind, and samples to tell the kinds apart, the fit says nothing that could be trusted. */
    if (fit.samples < 2 * costs->nkinds || !(fit.cost[0] > 0)) {
        return EQP_OK;
    }
    for (int k = 0; k < costs->nkinds; k++) {
        costs->seconds[k] = fit.seen[k] ? fit.cost[k] : fit.factor * costs->nominal[k];
    }
    costs->rmse = fit.rmse;
    costs->known = true;
    return EQP_OK;
}

double app_costs_predict(const app_costs *costs, const int64_t *count)
{
    double seconds = 0.0;

    for (int k = 0; k < costs->nkinds; k++) {
        seconds += costs->seconds[k] * (double)count[k];
    }
    return seconds;
}

int app_timings_add(app_timings *timings, int nkinds, const int64_t *count, double seconds)
{
    int code;

    EQP_TRY(eqp_array_reserve(&timings->timing, &timings->capacity, timings->n + 1, sizeof *timings->timing));
    app_timing *timing = &timings->timing[timings->n++];
    *timing = (app_timing){.seconds = seconds};
    memcpy(timing->count, count, (size_t)nkinds * sizeof *count);
done:
    return code;
}

void app_timings_free(app_timings *timings)
{
    free(timings->timing);
    *timings = (app_timings){0};
}

/* Predicted and measured seconds of this rank's batches, predicted first. */
static int compare_model(const app_costs *costs, const app_timings *timings, double **both)
{
    int code = eqp_array_create(both, 2 * timings->n, sizeof **both);

    for (int64_t i = 0; i < timings->n && code == EQP_OK; i++) {
        (*both)[2 * i] = app_costs_predict(costs, timings->timing[i].count);
        (*both)[2 * i + 1] = timings->timing[i].seconds;
    }
    return code;
}

int app_costs_correlation(const app_costs *costs, MPI_Comm comm, const app_timings *timings, double *correlation)
{
    double *mine = NULL, *all = NULL, *model = NULL, *measured = NULL;
    int64_t n = 0;
    int code = eqp_agree(comm, compare_model(costs, timings, &mine), NULL);

    if (code == EQP_OK) {
        code = eqp_gather_records(comm, 2 * sizeof *mine, timings->n, mine, &n, &all);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&model, n, sizeof *model);
        code = code == EQP_OK ? eqp_array_create(&measured, n, sizeof *measured) : code;
        for (int64_t i = 0; i < n && code == EQP_OK; i++) {
            model[i] = all[2 * i];
            measured[i] = all[2 * i + 1];
        }
        if (code == EQP_OK && n > 0) {
            code = eqp_load_rank_correlation(n, model, measured, correlation);
        } else if (code == EQP_OK) {
            *correlation = 0;
        }
        code = eqp_agree(comm, code, NULL);
    }
    free(measured);
    free(model);
    free(all);
    free(mine);
    return code;
}
