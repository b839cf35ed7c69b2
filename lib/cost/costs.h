/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of work: CPU seconds per kind, fitted to measured batches. Kinds are numbered 0 to nkinds - 1; a fit without
 * kind 0 is unreliable. */
#ifndef COST_COSTS_H
#define COST_COSTS_H

#include <equipoise/survey.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/** Shape of a distribution of loads; Pearce 2014, eqs. 2.5 to 2.8. */
typedef struct eqp_load_statistics {
    int64_t count;             /**< loads */
    double max;                /**< in units of the loads */
    double min;                /**< in units of the loads */
    double sum;                /**< in units of the loads */
    double mean;               /**< in units of the loads */
    double imbalance;          /**< lambda = max / mean - 1, a fraction; 0 where all loads are 0 */
    double standard_deviation; /**< of the population (divisor n), in units of the loads */
    double skewness;           /**< g1; 0 where all loads are equal */
    double kurtosis;           /**< g2, 0 for a normal distribution; 0 where all loads are equal */
} eqp_load_statistics;

/** Sums over loads about a fixed centre. Ranks combine them by eqp__load_sums_merge(), or by adding `power` element
 * by element and taking the extremes of `max` and `min`. */
typedef struct eqp_load_sums {
    double centre;   /**< the same on all ranks */
    double max;      /**< -INFINITY without loads */
    double min;      /**< INFINITY without loads */
    double power[5]; /**< power[k] = sum of (load - centre)^k; power[0] counts */
} eqp_load_sums;

/** Sums over some loads. Moments are more accurate the nearer the centre is to the mean of all loads: find the mean
 * in a first round with centre 0, and use it as the centre of a second round. Local, O(n), deterministic.
 * \param[in]  n       loads, >= 0
 * \param[in]  load    [n] finite and >= 0 (borrowed)
 * \param[in]  centre  a finite number
 * \param[out] sums    unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for a negative n or a centre that is not finite, EQP_ERR_DATA for a load that is
 *        negative or not finite */
int eqp__load_sums_compute(int64_t n, const double *load, double centre, eqp_load_sums *sums);

/** Adds the sums of other loads. Local, O(1). Returns EQP_OK or EQP_ERR_ARGUMENT where the centres differ. */
int eqp__load_sums_merge(eqp_load_sums *sums, const eqp_load_sums *other);

/** Converts sums to statistics. Local, O(1).
 * \param[out] statistics  unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT without a load, EQP_ERR_OVERFLOW if fourth powers of the loads are infinite
 *        (loads of 1e75), or if the count exceeds int64_t */
int eqp__load_statistics_from_sums(const eqp_load_sums *sums, eqp_load_statistics *statistics);

/** Both rounds and the conversion, for loads of one rank. Local, O(n), deterministic.
 * \param[in]  n           loads, >= 1
 * \param[in]  load        [n] finite and >= 0 (borrowed)
 * \param[out] statistics  unchanged on error
 * \return the codes of eqp__load_sums_compute() and eqp__load_statistics_from_sums() */
int eqp__load_statistics_compute(int64_t n, const double *load, eqp_load_statistics *statistics);

/** Pearson's correlation coefficient of model and measurement: the formula of Pearce 2014, eq. 3.8, applied to the
 * values themselves. Local, O(n), deterministic.
 * \param[in]  n         parts, >= 1
 * \param[in]  model     [n] finite (borrowed)
 * \param[in]  measured  [n] finite (borrowed)
 * \param[out] r         -1 to 1; 0 if model or measurement is constant
 * \return EQP_OK, EQP_ERR_ARGUMENT for n < 1, EQP_ERR_DATA for a value that is not finite */
int eqp__load_correlation(int64_t n, const double *model, const double *measured, double *r);

/** Rank correlation of model and measurement: Pearce 2014, eq. 3.8, which is Pearson's coefficient of the two rank
 * orders (Spearman's coefficient); equal values share the mean of their ranks. Local, O(n log n), deterministic.
 * Arguments and codes as eqp__load_correlation(), and EQP_ERR_MEMORY. */
int eqp__load_rank_correlation(int64_t n, const double *model, const double *measured, double *r);

/** Doubles in an eqp_cost_sums: moments of kinds with kinds, of kinds with seconds, and three totals. */
#define EQP_COST_SUMS (EQP_COST_KINDS * (EQP_COST_KINDS + 1) / 2 + EQP_COST_KINDS + 3)

/** Norm that a fit minimizes. */
typedef enum eqp_cost_weighting {
    EQP_COST_ABSOLUTE, /**< least squares of seconds: long samples dominate */
    EQP_COST_RELATIVE  /**< least squares of the relative error: short and long samples have equal weight */
} eqp_cost_weighting;

/** Samples of (interactions of each kind, CPU seconds), reduced to the sums that a fit needs. Plain data. Sums of
 * several ranks combine with eqp__cost_sums_merge(), or by adding `sum` element by element. */
typedef struct eqp_cost_sums {
    int nkinds;                   /**< 1 to EQP_COST_KINDS */
    eqp_cost_weighting weighting; /**< of the samples */
    double sum[EQP_COST_SUMS];    /**< additive */
} eqp_cost_sums;

/** Starts without samples. Returns EQP_OK or EQP_ERR_ARGUMENT for an invalid number of kinds or weighting. */
int eqp__cost_sums_init(eqp_cost_sums *sums, int nkinds, eqp_cost_weighting weighting);

/** Adds one sample: the work of a rank and its seconds. Ignores a sample without interactions and, with relative
 * weighting, a sample of 0 seconds. Local, O(nkinds^2).
 * \param[in,out] sums     unchanged on error
 * \param[in]     count    [nkinds] interactions of each kind, >= 0 (borrowed)
 * \param[in]     seconds  CPU seconds, 0 to 1e100
 * \return EQP_OK, or EQP_ERR_DATA for a negative count or seconds out of range */
int eqp__cost_sums_add(eqp_cost_sums *sums, const int64_t *count, double seconds);

/** Adds another rank's samples. Returns EQP_OK or EQP_ERR_ARGUMENT where kinds or weighting differ. */
int eqp__cost_sums_merge(eqp_cost_sums *sums, const eqp_cost_sums *other);

/** Fits seconds = sum over k of cost_k n_k with cost_k >= 0: nonnegative least squares with an active set (Lawson and
 * Hanson 1974, chapter 23) on the scaled normal equations. Kinds that always come in the same mixture cannot be told
 * apart; a very weak ridge then splits the seconds evenly between them, so predictions for that mixture hold and no
 * cost explodes. Local, a few times O(nkinds^4), deterministic.
 * \param[in]  sums  at least one sample (borrowed)
 * \param[out] fit   unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for sums that were never initialised, EQP_ERR_STATE without a sample, EQP_ERR_DATA
 *         where sums are not finite */
int eqp__cost_fit_compute(const eqp_cost_sums *sums, eqp_cost_fit *fit);

/** The same, regularised towards expected costs: kinds that nearly always occur in the same mixture are separated by
 * the expected costs and not by the noise of the samples. Only the expected proportions count: they are scaled by the
 * single factor that fits the samples best (Tikhonov's regularisation of each scaled column).
 * \param[in] expected  [nkinds] seconds >= 0 (borrowed)
 * \param[in] lean      >= 0: weight of a kind's expected cost relative to all its samples; 0.01 does not change
 *                      costs that the samples determine. 0: eqp__cost_fit_compute()
 * \return as eqp__cost_fit_compute(); EQP_ERR_ARGUMENT also for an invalid `expected` or `lean` */
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
