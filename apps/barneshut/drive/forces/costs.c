/* SPDX-License-Identifier: BSD-3-Clause */
#include "costs.h"

const char *const bh_kind_names[BH_KINDS] = {"pair", "cell", "listed", "visit", "group"};

const double bh_kind_nominal[BH_KINDS] = {2e-9, 4.6e-9, 3e-9, 8e-9, 3e-7};

void bh_counts_add(bh_counts *sum, const bh_counts *counts)
{
    for (int k = 0; k < BH_KINDS; k++) {
        sum->of[k] += counts->of[k];
    }
}
