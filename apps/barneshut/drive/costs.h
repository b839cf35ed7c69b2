/* SPDX-License-Identifier: BSD-3-Clause */
/* What a piece of work costs: CPU seconds per kind, fitted to measured batches of groups. */
#ifndef BH_COSTS_H
#define BH_COSTS_H

#include "works.h"

#include <equipoise/load.h>

#include <stdbool.h>

/* Kinds of work that the cost model knows, as in the report. */
enum { BH_KIND_PAIR, BH_KIND_CELL, BH_KIND_VISIT, BH_KIND_GROUP, BH_KINDS };
extern const char *const bh_kind_names[BH_KINDS];

/* The same on all ranks. */
typedef struct bh_costs {
    bool known;               /* measured, not only assumed */
    double seconds[BH_KINDS]; /* of one */
    double rmse;              /* relative, of the fit */
} bh_costs;

/* Before anything is measured only ratios matter: a cell costs 2.3 pairs, a look at a cell as much as ten, a group as
 * much as some hundred. */
#define BH_COSTS_DEFAULTS                                                                                              \
    {                                                                                                                  \
        false, {1e-9, 2.3e-9, 1e-8, 2e-7}, 0.0                                                                         \
    }

/* Fits the costs to the samples of all ranks; what was known stays where the samples cannot tell. Collective. */
int bh_costs_fit(bh_costs *costs, MPI_Comm comm, const eqp_cost_sums *samples);

/* CPU seconds of so much work. */
double bh_costs_predict(const bh_costs *costs, const bh_counts *counts, int64_t groups);

#endif
