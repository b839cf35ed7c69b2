/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/costs.h"

#include "load/timings.h"
#include "par/comm.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>

/* What is left of a sample one step later: costs change slowly, and single steps are noisy. */
#define FADING 0.9

/* How much the nominal costs weigh against the samples: kinds that come in nearly the same mixture everywhere would get
 * the noise of a run for a cost otherwise. */
#define LEAN 0.01

int eqp__costs_init(eqp_costs *costs, int nkinds, const double *nominal)
{
    eqp_costs made = {.fit = {.nkinds = nkinds}};
    const int code = eqp_cost_sums_init(&made.samples, nkinds, EQP_COST_RELATIVE);

    for (int k = 0; k < nkinds && code == EQP_OK; k++) { /* the code says whether nkinds can be */
        made.fit.cost[k] = made.nominal[k] = nominal[k];
    }
    *costs = made;
    return code;
}

int eqp__costs_learn(eqp_costs *costs, MPI_Comm comm, const eqp_timings *timings)
{
    eqp_cost_sums all;
    eqp_cost_fit fit;
    int code = eqp_cost_sums_init(&all, costs->fit.nkinds, EQP_COST_RELATIVE);

    for (int64_t i = 0; i < timings->n && code == EQP_OK; i++) {
        code = eqp_cost_sums_add(&all, timings->timing[i].count, timings->timing[i].seconds);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp__sum_double(comm, EQP_COST_SUMS, all.sum);
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
    if (fit.samples < 2 * costs->fit.nkinds || !(fit.cost[0] > 0)) {
        return EQP_OK;
    }
    for (int k = 0; k < costs->fit.nkinds; k++) {
        fit.cost[k] = fit.seen[k] ? fit.cost[k] : fit.factor * costs->nominal[k];
    }
    costs->fit = fit;
    costs->known = true;
    return EQP_OK;
}

eqp_work_model eqp__work_model_measured(const eqp_work_model *model, const eqp_costs *costs)
{
    eqp_work_model measured = *model;

    if (costs->known) {
        measured.nominal = costs->fit.cost;
    }
    return measured;
}

double eqp__work_weight(const eqp_work_model *model, const int64_t *count)
{
    double seconds = 0.0;

    for (int k = 0; k < model->nkinds; k++) {
        seconds += model->nominal[k] * (double)count[k];
    }
    return 1e9 * seconds;
}

/* Predicted and measured seconds of this rank's batches, predicted first. */
static int compare_model(const eqp_costs *costs, const eqp_timings *timings, double **both)
{
    int code = eqp_array_create(both, 2 * timings->n, sizeof **both);

    for (int64_t i = 0; i < timings->n && code == EQP_OK; i++) {
        (*both)[2 * i] = eqp__costs_predict(costs, timings->timing[i].count);
        (*both)[2 * i + 1] = timings->timing[i].seconds;
    }
    return code;
}

int eqp__costs_correlation(const eqp_costs *costs, MPI_Comm comm, const eqp_timings *timings, double *correlation)
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
