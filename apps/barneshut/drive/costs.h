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
    eqp_cost_sums samples;    /* of all ranks; older ones fade */
} bh_costs;

/* Before anything is measured only ratios matter: a cell costs 2.3 pairs, a look at a cell as much as ten, a group as
 * much as some hundred. */
int bh_costs_init(bh_costs *costs);

/* Fits the costs to the samples of all ranks and to what is left of the older ones; where samples cannot tell, what was
 * known stays. Collective. */
int bh_costs_fit(bh_costs *costs, MPI_Comm comm, const eqp_cost_sums *samples);

/* CPU seconds of so much work. */
double bh_costs_predict(const bh_costs *costs, const bh_counts *counts, int64_t groups);

#endif
