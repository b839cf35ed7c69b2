/* SPDX-License-Identifier: BSD-3-Clause */
/* What a piece of work costs: CPU seconds per kind, fitted to measured batches of groups. */
#ifndef BH_COSTS_H
#define BH_COSTS_H

#include <equipoise/load.h>

#include <mpi.h>
#include <stdbool.h>

/* Kinds of work that the cost model knows, as in the report. */
enum {
    BH_KIND_PAIR,   /* a target and a source particle, the target itself among them */
    BH_KIND_CELL,   /* a target and a cell */
    BH_KIND_LISTED, /* an entry of a group's list, cell or particle: fetched once for all its targets */
    BH_KIND_VISIT,  /* a cell that a walk looked at */
    BH_KIND_GROUP,  /* a group */
    BH_KINDS
};
extern const char *const bh_kind_names[BH_KINDS];

/* How much work of each kind. */
typedef struct bh_counts {
    int64_t of[BH_KINDS];
} bh_counts;

void bh_counts_add(bh_counts *sum, const bh_counts *counts);

/* The same on all ranks. */
typedef struct bh_costs {
    bool known;               /* measured, not only nominal */
    double seconds[BH_KINDS]; /* of one */
    double rmse;              /* relative, of the fit */
    eqp_cost_sums samples;    /* of all ranks; older ones fade */
} bh_costs;

/* Nominal costs, of which only the ratios matter: what holds before anything is measured, and what work units are cut
 * by, so that these depend on the particles alone. */
int bh_costs_init(bh_costs *costs);

/* Batches of work and the CPU seconds that each took. */
typedef struct bh_timing {
    bh_counts counts;
    double seconds;
} bh_timing;

typedef struct bh_timings {
    int64_t n, capacity;
    bh_timing *timing; /* owned */
} bh_timings;

int bh_timings_add(bh_timings *timings, const bh_counts *counts, double seconds);
void bh_timings_free(bh_timings *timings);

/* Fits the costs to the timings of all ranks and to what is left of the older ones; where samples cannot tell, what was
 * known stays. Collective. */
int bh_costs_fit(bh_costs *costs, MPI_Comm comm, const bh_timings *timings);

/* Rank correlation (Pearce 2014, eq. 3.8) of predicted and measured seconds over the batches of all ranks. Collective.
 */
int bh_costs_correlation(const bh_costs *costs, MPI_Comm comm, const bh_timings *timings, double *correlation);

/* CPU seconds of so much work. */
double bh_costs_predict(const bh_costs *costs, const bh_counts *counts);

#endif
