/* SPDX-License-Identifier: BSD-3-Clause */
/* What a piece of work costs: CPU seconds per kind, fitted to measured batches. An app numbers its kinds 0 to nkinds -
 * 1 (at most EQP_COST_KINDS), names them and has nominal costs; kind 0 is the one without which a fit says nothing. */
#ifndef APP_RUN_COSTS_H
#define APP_RUN_COSTS_H

#include <equipoise/load.h>

#include <mpi.h>
#include <stdbool.h>

/* The same on all ranks. */
typedef struct app_costs {
    int nkinds;
    bool known;                     /* measured, not only nominal */
    double seconds[EQP_COST_KINDS]; /* of one */
    double nominal[EQP_COST_KINDS]; /* what the proportions are expected to be */
    double rmse;                    /* relative, of the fit */
    eqp_cost_sums samples;          /* of all ranks; older ones fade */
} app_costs;

/* Nominal costs [nkinds], of which only the ratios matter: what holds before anything is measured. EQP_OK or
 * EQP_ERR_ARGUMENT. */
int app_costs_init(app_costs *costs, int nkinds, const double *nominal);

/* A batch of work and the CPU seconds that it took. */
typedef struct app_timing {
    int64_t count[EQP_COST_KINDS];
    double seconds;
} app_timing;

/* Zeros are an empty one. */
typedef struct app_timings {
    int64_t n, capacity;
    app_timing *timing; /* owned */
} app_timings;

/* count [nkinds]. EQP_OK or EQP_ERR_MEMORY. Local. */
int app_timings_add(app_timings *timings, int nkinds, const int64_t *count, double seconds);
void app_timings_free(app_timings *timings);

/* Fits the costs to the timings of all ranks and to what is left of the older ones; where samples cannot tell, what was
 * known stays. Collective. */
int app_costs_fit(app_costs *costs, MPI_Comm comm, const app_timings *timings);

/* Rank correlation (Pearce 2014, eq. 3.8) of predicted and measured seconds over the batches of all ranks; 0
 * without any. Collective. */
int app_costs_correlation(const app_costs *costs, MPI_Comm comm, const app_timings *timings, double *correlation);

/* CPU seconds of so much work [nkinds]. Local. */
double app_costs_predict(const app_costs *costs, const int64_t *count);

#endif
