/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of work: CPU seconds per kind, fitted to measured batches. Kinds are numbered 0 to nkinds - 1; a fit without
 * kind 0 is unreliable. */
#ifndef COST_COSTS_H
#define COST_COSTS_H

#include <equipoise/survey.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Rank correlation of model and measurement, [n] each: Pearce 2014, eq. 3.8, which is Pearson's coefficient of the two
 * rank orders (Spearman's coefficient); equal values share the mean of their ranks. r: -1 to 1; 0 if model or
 * measurement is constant. Local, O(n log n), deterministic. EQP_OK or EQP_ERR_MEMORY. */
int eqp__load_rank_correlation(int64_t n, const double *model, const double *measured, double *r);

/** Doubles in an eqp_cost_sums: moments of kinds with kinds, of kinds with seconds, and three totals. */
#define EQP_COST_SUMS (EQP_COST_KINDS * (EQP_COST_KINDS + 1) / 2 + EQP_COST_KINDS + 3)

/** Samples of (interactions of each kind, CPU seconds), reduced to the sums that a fit of least relative errors needs:
 * short and long samples have equal weight. Plain data. Sums of several ranks combine by adding `sum` element by
 * element. */
typedef struct eqp_cost_sums {
    int nkinds;                /**< 1 to EQP_COST_KINDS */
    int relative;              /**< 1; restart files hold it */
    double sum[EQP_COST_SUMS]; /**< additive */
} eqp_cost_sums;

/** No samples. Returns EQP_OK or EQP_ERR_ARGUMENT for an invalid number of kinds. */
int eqp__cost_sums_init(eqp_cost_sums *sums, int nkinds);

/** Adds one sample: the work of a rank and its seconds. Ignores a sample without interactions or of 0 seconds. Local,
 * O(nkinds^2).
 * \param[in,out] sums     unchanged on error
 * \param[in]     count    [nkinds] interactions of each kind, >= 0 (borrowed)
 * \param[in]     seconds  CPU seconds, 0 to 1e100
 * \return EQP_OK, or EQP_ERR_DATA for a negative count or seconds out of range */
int eqp__cost_sums_add(eqp_cost_sums *sums, const int64_t *count, double seconds);

/** Fits seconds = sum over k of cost_k n_k with cost_k >= 0: nonnegative least squares with an active set (Lawson and
 * Hanson 1974, chapter 23) on the scaled normal equations, regularised towards expected costs: kinds that nearly always
 * occur in the same mixture are separated by the expected costs and not by the noise of the samples. Only the expected
 * proportions count: they are scaled by the single factor that fits the samples best (Tikhonov's regularisation of each
 * scaled column). A very weak ridge splits the seconds of kinds that cannot be told apart evenly between them, so no
 * cost explodes. Local, a few times O(nkinds^4), deterministic.
 * \param[in]  sums      at least one sample (borrowed)
 * \param[in]  expected  [nkinds] seconds >= 0 (borrowed)
 * \param[in]  lean      >= 0: weight of a kind's expected cost relative to all its samples; 0.01 does not change costs
 *                       that the samples determine
 * \param[out] fit       unchanged on error
 * \return EQP_OK, EQP_ERR_STATE without a sample, EQP_ERR_DATA where sums are not finite */
int eqp__cost_fit_near(const eqp_cost_sums *sums, const double *expected, double lean, eqp_cost_fit *fit);

typedef struct eqp_costs {
    eqp_cost_fit fit;               /* present costs and rmse */
    bool known;                     /* true: measured or fixed; false: nominal only */
    bool fixed;                     /* true: always the nominal costs */
    double nominal[EQP_COST_KINDS]; /* expected proportions */
    eqp_cost_sums samples;          /* of all ranks; old samples fade */
} eqp_costs;

/* Starts with nominal costs [nkinds], of which only the ratios matter. EQP_OK or EQP_ERR_ARGUMENT. */
int eqp__costs_init(eqp_costs *costs, int nkinds, const double *nominal);

/* Fixes the nominal costs, as if they had been measured. Local. */
void eqp__costs_fix(eqp_costs *costs);

/* Numbers in a rank's report of its batches, summed over the ranks. */
enum { EQP__COSTS_TOLD = EQP_COST_SUMS + 2 };

/* Fills this rank's report: its batches, and how well they were predicted; unchanged on error. Local. */
int eqp__costs_tell(const eqp_costs *costs, const eqp_timings *timings, double told[EQP__COSTS_TOLD]);

/* Fits the costs to the reports of all ranks and to what remains of older steps; costs that the samples do not
 * determine stay. correlation: mean over the ranks, by batches, of the rank correlation (Pearce 2014, eq. 3.8) of
 * predicted and measured seconds of a rank's batches; 0 without any. Local: the same on all ranks from the same
 * sums. */
int eqp__costs_hear(eqp_costs *costs, const double told[EQP__COSTS_TOLD], double *correlation);

/* Both, with an allreduce in between. Collective. */
int eqp__costs_learn(eqp_costs *costs, MPI_Comm comm, const eqp_timings *timings, double *correlation);

/* CPU seconds of work [nkinds]. Local. */
static inline double eqp__costs_predict(const eqp_costs *costs, const int64_t *count)
{
    return eqp_cost_fit_predict(&costs->fit, count);
}

/* A batch of work and the CPU seconds that it took. */
typedef struct eqp_timing {
    int64_t count[EQP_COST_KINDS];
    double seconds;
} eqp_timing;

struct eqp_timings {
    int nkinds;
    int64_t n, capacity;
    eqp_timing *timing; /* owned */
};

#endif
