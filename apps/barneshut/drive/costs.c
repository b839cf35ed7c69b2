/* SPDX-License-Identifier: BSD-3-Clause */
#include "costs.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>

const char *const bh_kind_names[BH_KINDS] = {"pair", "cell", "listed", "visit", "group"};

/* What is left of a sample one step later: costs change slowly, and single steps are noisy. */
#define FADING 0.9

int bh_costs_init(bh_costs *costs)
{
    static const double nominal[BH_KINDS] = {2e-9, 4.6e-9, 3e-9, 8e-9, 3e-7};

    *costs = (bh_costs){.known = false};
    for (int k = 0; k < BH_KINDS; k++) {
        costs->seconds[k] = nominal[k];
    }
    return eqp_cost_sums_init(&costs->samples, BH_KINDS, EQP_COST_RELATIVE);
}

int bh_costs_fit(bh_costs *costs, MPI_Comm comm, const bh_timings *timings)
{
    eqp_cost_sums all;
    eqp_cost_fit fit;
    int code = eqp_cost_sums_init(&all, BH_KINDS, EQP_COST_RELATIVE);

    for (int64_t i = 0; i < timings->n && code == EQP_OK; i++) {
        code = eqp_cost_sums_add(&all, timings->timing[i].counts.of, timings->timing[i].seconds);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_sum_double(comm, EQP_COST_SUMS, all.sum);
    }
    for (int i = 0; i < EQP_COST_SUMS; i++) {
        costs->samples.sum[i] *= FADING;
    }
    if (code == EQP_OK) {
        code = eqp_cost_sums_merge(&costs->samples, &all);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, eqp_cost_fit_compute(&costs->samples, &fit), NULL);
    }
    if (code != EQP_OK) {
        return code;
    }
    /* Without pairs and samples to tell four kinds apart the fit says nothing that could be trusted. */
    if (fit.samples < 2 * BH_KINDS || !(fit.cost[BH_KIND_PAIR] > 0)) {
        return EQP_OK;
    }
    for (int k = 0; k < BH_KINDS; k++) {
        if (fit.seen[k]) {
            costs->seconds[k] = fit.cost[k];
        }
    }
    costs->rmse = fit.rmse;
    costs->known = true;
    return EQP_OK;
}

double bh_costs_predict(const bh_costs *costs, const bh_counts *counts)
{
    double seconds = 0.0;

    for (int k = 0; k < BH_KINDS; k++) {
        seconds += costs->seconds[k] * (double)counts->of[k];
    }
    return seconds;
}

void bh_counts_add(bh_counts *sum, const bh_counts *counts)
{
    for (int k = 0; k < BH_KINDS; k++) {
        sum->of[k] += counts->of[k];
    }
}

int bh_timings_add(bh_timings *timings, const bh_counts *counts, double seconds)
{
    int code = eqp_array_reserve(&timings->timing, &timings->capacity, timings->n + 1, sizeof *timings->timing);

    if (code == EQP_OK) {
        timings->timing[timings->n++] = (bh_timing){*counts, seconds};
    }
    return code;
}

void bh_timings_free(bh_timings *timings)
{
    free(timings->timing);
    *timings = (bh_timings){0};
}

/* Predicted and measured seconds of this rank's batches, predicted first. */
static int compare_model(const bh_costs *costs, const bh_timings *timings, double **both)
{
    int code = eqp_array_create(both, 2 * timings->n, sizeof **both);

    for (int64_t i = 0; i < timings->n && code == EQP_OK; i++) {
        (*both)[2 * i] = bh_costs_predict(costs, &timings->timing[i].counts);
        (*both)[2 * i + 1] = timings->timing[i].seconds;
    }
    return code;
}

int bh_costs_correlation(const bh_costs *costs, MPI_Comm comm, const bh_timings *timings, double *correlation)
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
        code = code == EQP_OK ? eqp_load_rank_correlation(n, model, measured, correlation) : code;
        code = eqp_agree(comm, code, NULL);
    }
    free(measured);
    free(model);
    free(all);
    free(mine);
    return code;
}
