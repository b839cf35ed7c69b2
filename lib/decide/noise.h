/* SPDX-License-Identifier: BSD-3-Clause */
/* What of measured seconds is noise. Pure functions.
 *
 * The imbalance of measured seconds is that of the work and noise: the largest of many noisy numbers is far above their
 * mean, so that also an even step has an imbalance, another one in each step. All steps of a map have that; so a loss
 * is a rise above what the map has shown when it was fresh, and counts only where noise would seldom have made it. */
#ifndef DECIDE_NOISE_H
#define DECIDE_NOISE_H

#include <equipoise/more/decide.h>

/* Noise can ask for a map in four ways: by a loss, by the rise of all maps, by that of one rank, by those of all ranks.
 * The part of false_alarms that each may have; of 1 all. */
double eqp__noise_rate(double false_alarms);

/* A level and how little is known of it. */
typedef struct eqp_level {
    double mean, variance;
} eqp_level;

/* A number that a standard normal one exceeds with this probability, of (0, 1). */
double eqp__normal_exceeded(double probability);

/* Takes a step in. mark: with what this step shows of it; cured: of the policy, with this step. */
void eqp__noise_record(eqp_policy_noise *noise, double imbalance, double mean, const eqp_level *mark, double cured);

/* The next step is the first one with a new map, or with a repaired one. reached: of the last map, of so many fresh
 * steps; 0 steps: nothing is known of it. */
void eqp__noise_renew(eqp_policy_noise *noise, double reached, int64_t settled);
void eqp__noise_mend(eqp_policy_noise *noise);

/* The imbalance of the present map when it is fresh, without noise's luck: of the least of `settled` steps, of steps
 * since that were no worse, and of the maps before, as far as these were alike. */
eqp_level eqp__noise_mark(const eqp_policy_noise *noise, double reached, int64_t settled);

/* By how much the imbalance of a map rises with every step, by this one and those before; variance: of what is known.
 */
eqp_level eqp__noise_rise(const eqp_policy_noise *noise);

/* Whether noise alone would have made such a rise with a probability of at most false_alarms. */
bool eqp__noise_rises(const eqp_policy_noise *noise, double false_alarms);

/* Seconds lost since the onset of a loss: since the last step when nothing was lost in sum. cured: as above. */
double eqp__noise_loss(const eqp_policy_noise *noise, const eqp_level *mark, double cured);

/* The loss, as this map and maps before let expect it: weighed by how little is known of both. Where there is no noise,
 * by this map alone. */
double eqp__noise_expected(const eqp_policy_noise *noise, const eqp_level *mark, double loss);

/* Whether noise alone would have made such a loss with a probability of at most false_alarms. Seconds above a level
 * since they were last below it in sum are the end of a Brownian meander, which exceeds z standard deviations with
 * probability exp(-z^2 / 2) (Durrett, Iglehart, Miller: Weak convergence to Brownian meander and Brownian excursion,
 * Annals of Probability 5, 1977). */
bool eqp__noise_sure(const eqp_policy_noise *noise, const eqp_level *mark, double loss, double false_alarms);

/* Of all ranks: plain data. */
typedef struct eqp_noise_state {
    int64_t age;          /* steps with this map */
    int64_t fit_steps;    /* number of steps in fit */
    int64_t changes;      /* steps in the spreads */
    double spread;        /* mean of the spreads */
    double rise_weight;   /* sum of weights, by 1 / spread^2 */
    double squares;       /* sum over maps before of mean squares of weight times rise, */
    double ratios;        /* the same over those of noise, by weights */
    double square_weight; /* sum of squares of their weights */
    double weight;        /* sum of their weights */
} eqp_noise_state;

/* What is known of each rank's load: one that grows with every map may hide below the noise of the others. */
typedef struct eqp_rank_noise {
    int nranks;
    eqp_noise_state now;
    double *last;     /* [ranks] load of the last step over the mean, - 1; owned, with what follows */
    double *former;   /* [ranks] of the step before */
    double *fit;      /* [ranks] sum of these over the first steps of this map, */
    double *fit_ages; /* [ranks] times their ages */
    double *rise;     /* [ranks] of maps before: sum of weights times rises in a step */
    double *spread;   /* [ranks] standard deviation of the load over the mean */
} eqp_rank_noise;

enum { EQP__RANK_NOISE_ROWS = 6 };

/* Whether the counts of bytes that were read can be. */
bool eqp__noise_can_be(const eqp_policy_noise *noise, const eqp_noise_state *ranks);

/* Local. EQP_OK or EQP_ERR_MEMORY. */
int eqp__rank_noise_create(int nranks, eqp_rank_noise *noise);
void eqp__rank_noise_free(eqp_rank_noise *noise);

/* Takes the loads of a step in, all >= 0. begins: its map is new or repaired. O(ranks); the same on all ranks that have
 * the same loads. Returns by how much the load of a rank rises in each step of a map while it hides below the noise of
 * the others, a fraction of the mean: of the one that rises most with all maps, or, by the mean square of all, of one
 * that may be another one with each; if noise would have made that with a probability of at most its part of
 * false_alarms; else 0. */
double eqp__rank_noise_record(eqp_rank_noise *noise, const double *load, bool begins, double false_alarms);

/* Whether bytes can be a policy's memory, but for its truth values, options and counts of noise: numbers that are
 * finite and in their ranges. */
bool eqp__policy_can_be(const eqp_policy *policy);

#endif
