/* SPDX-License-Identifier: BSD-3-Clause */
#include "costs.h"

const char *const bh_kind_names[BH_KINDS] = {"pair", "cell", "listed", "visit", "group"};

static const double nominal[BH_KINDS] = {2e-9, 4.6e-9, 3e-9, 8e-9, 3e-7};

const app_work_model bh_work_model = {BH_KINDS, nominal, 1u << BH_KIND_GROUP};

int bh_costs_init(app_costs *costs)
{
    return app_costs_init(costs, BH_KINDS, nominal);
}

void bh_counts_add(bh_counts *sum, const bh_counts *counts)
{
    for (int k = 0; k < BH_KINDS; k++) {
        sum->of[k] += counts->of[k];
    }
}
