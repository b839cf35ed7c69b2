/* SPDX-License-Identifier: BSD-3-Clause */
/* What a piece of work costs: CPU seconds per kind, fitted to measured batches. Kinds are numbered 0 to nkinds - 1;
 * kind 0 is the one without which a fit says nothing. */
#ifndef MAP_COSTS_H
#define MAP_COSTS_H

#include <equipoise/more/load.h>

#include <mpi.h>

/* How the work of ranks that share an owner adds up, kind by kind. */
typedef struct eqp_work_model {
    int nkinds;
    const double *nominal;  /* [nkinds] seconds */
    unsigned once;          /* bit k: sharers each do kind k, a single rank would do it once */
    eqp_cycle_turns phases; /* of the cycle that work is of; n 0: one phase */
} eqp_work_model;

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

/* Numbers by which a rank tells of its batches; those of all ranks are to be added up. */
enum { EQP__COSTS_TOLD = EQP_COST_SUMS + 2 };

/* What this rank's batches say of the costs, and how well they were predicted; unchanged on error. Local. */
int eqp__costs_tell(const eqp_costs *costs, const eqp_timings *timings, double told[EQP__COSTS_TOLD]);

/* Fits the costs to what all ranks have told and to what is left of the older steps; where samples cannot tell, what
 * was known stays. correlation: mean over the ranks, by batches, of the rank correlation (Pearce 2014, eq. 3.8) of
 * predicted and measured seconds of a rank's batches; 0 without any. Local: the same on all ranks from the same sums.
 */
int eqp__costs_hear(eqp_costs *costs, const double told[EQP__COSTS_TOLD], double *correlation);

/* Both, with a meeting of the ranks in between. Collective. */
int eqp__costs_learn(eqp_costs *costs, MPI_Comm comm, const eqp_timings *timings, double *correlation);

/* CPU seconds of so much work [nkinds]. Local. */
static inline double eqp__costs_predict(const eqp_costs *costs, const int64_t *count)
{
    return eqp_cost_fit_predict(&costs->fit, count);
}

/* The model with what was measured instead of the nominal costs, once that is known (borrowed from costs): what a part
 * of an owner weighs must be in the proportion of what it costs. */
eqp_work_model eqp__work_model_measured(const eqp_work_model *model, const eqp_costs *costs);

/* Nanoseconds of so much work. */
double eqp__work_weight(const eqp_work_model *model, const int64_t *count);

#endif
