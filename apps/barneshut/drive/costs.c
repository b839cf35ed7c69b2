/* SPDX-License-Identifier: BSD-3-Clause */
#include "costs.h"

#include <equipoise/par.h>

const char *const bh_kind_names[BH_KINDS] = {"pair", "cell", "visit", "group"};

int bh_costs_fit(bh_costs *costs, MPI_Comm comm, const eqp_cost_sums *samples)
{
    eqp_cost_sums all = *samples;
    eqp_cost_fit fit;
    int code = eqp_sum_double(comm, EQP_COST_SUMS, all.sum);

    if (code == EQP_OK) {
        code = eqp_agree(comm, eqp_cost_fit_compute(&all, &fit), NULL);
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

double bh_costs_predict(const bh_costs *costs, const bh_counts *counts, int64_t groups)
{
    return costs->seconds[BH_KIND_PAIR] * (double)counts->pairs + costs->seconds[BH_KIND_CELL] * (double)counts->cells +
           costs->seconds[BH_KIND_VISIT] * (double)counts->visits + costs->seconds[BH_KIND_GROUP] * (double)groups;
}
