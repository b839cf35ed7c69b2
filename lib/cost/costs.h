/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of work: CPU seconds per kind, fitted to measured batches. Kinds are numbered 0 to nkinds - 1; a fit without
 * kind 0 is unreliable. */
#ifndef COST_COSTS_H
#define COST_COSTS_H

#include <equipoise/more/load.h>
#include <mpi.h>

#include <stdbool.h>

/* The same on all ranks. */
typedef struct eqp_costs {
    eqp_cost_fit fit;               /* what holds now: cost, rmse */
    bool known;                     /* measured, not only nominal; or fixed */
    bool fixed;                     /* to the nominal ones, whatever is measured */
    double nominal[EQP_COST_KINDS]; /* what the proportions are expected to be */
    eqp_cost_sums samples;          /* of all ranks; older ones fade */
} eqp_costs;

/* Nominal costs [nkinds], of which only the ratios matter: what holds before anything is measured. EQP_OK or
 * EQP_ERR_ARGUMENT. */
int eqp__costs_init(eqp_costs *costs, int nkinds, const double *nominal);

/* Holds the nominal costs, as if they had been measured. Local. */
void eqp__costs_fix(eqp_costs *costs);

/* Numbers in which a rank reports its batches; they are summed over the ranks. */
enum { EQP__COSTS_TOLD = EQP_COST_SUMS + 2 };

/* Fills this rank's report: its batches, and how well they were predicted; unchanged on error. Local. */
int eqp__costs_tell(const eqp_costs *costs, const eqp_timings *timings, double told[EQP__COSTS_TOLD]);

/* Fits the costs to what all ranks have told and to what is left of the older steps; where samples cannot tell, what
 * was known stays. correlation: mean over the ranks, by batches, of the rank correlation (Pearce 2014, eq. 3.8) of
 * predicted and measured seconds of a rank's batches; 0 without any. Local: the same on all ranks from the same sums.
 */
int eqp__costs_hear(eqp_costs *costs, const double told[EQP__COSTS_TOLD], double *correlation);

/* Both, with a meeting of the ranks in between. Collective. */
int eqp__costs_learn(eqp_costs *costs, MPI_Comm comm, const eqp_timings *timings, double *correlation);

/* CPU seconds of work [nkinds]. Local. */
static inline double eqp__costs_predict(const eqp_costs *costs, const int64_t *count)
{
    return eqp_cost_fit_predict(&costs->fit, count);
}

#endif
