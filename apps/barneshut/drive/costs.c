/* SPDX-License-Identifier: BSD-3-Clause */
#include "costs.h"

#include <equipoise/par.h>

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

int bh_costs_fit(bh_costs *costs, MPI_Comm comm, const eqp_cost_sums *samples)
{
    eqp_cost_sums all = *samples;
    eqp_cost_fit fit;
    int code = eqp_sum_double(comm, EQP_COST_SUMS, all.sum);

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
