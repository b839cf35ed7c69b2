/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise in measured seconds. Pure functions.
 *
 * The imbalance of measured seconds consists of work and noise: the largest of many noisy numbers is well above their
 * mean, so even a perfectly balanced step shows an imbalance that changes from step to step. A loss is therefore a rise
 * above the imbalance of the fresh map, and counts only where noise is unlikely to explain it. */
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

/* The next step is the first one with a new map, or with a repaired one. reached: imbalance of the last map over its
 * `settled` fresh steps; 0 steps: unknown. */
void eqp__noise_renew(eqp_policy_noise *noise, double reached, int64_t settled);
void eqp__noise_mend(eqp_policy_noise *noise);

/* The imbalance of the present map when it is fresh, without noise's luck: of the least of `settled` steps, of steps
 * since that were no worse, and of the maps before, as far as these were alike. */
eqp_level eqp__noise_mark(const eqp_policy_noise *noise, double reached, int64_t settled);

/* Increase of a map's imbalance per step, from this map and earlier ones; variance: of that estimate. */
eqp_level eqp__noise_rise(const eqp_policy_noise *noise);

/* True if noise alone would produce such a rise with a probability of at most false_alarms. */
bool eqp__noise_rises(const eqp_policy_noise *noise, double false_alarms);

/* Seconds lost since the onset of a loss: since the last step when nothing was lost in sum. cured: as above. */
double eqp__noise_loss(const eqp_policy_noise *noise, const eqp_level *mark, double cured);

/* The loss, as this map and maps before let expect it: weighed by how little is known of both. Where there is no noise,
 * by this map alone. */
double eqp__noise_expected(const eqp_policy_noise *noise, const eqp_level *mark, double loss);

/* True if noise alone would produce such a loss with a probability of at most false_alarms. The sum of seconds above a
 * level, since that sum was last negative, is the end of a Brownian meander, which exceeds z standard deviations with
 * probability exp(-z^2 / 2) (Durrett, Iglehart, Miller: Weak convergence to Brownian meander and Brownian excursion,
 * Annals of Probability 5, 1977). */
bool eqp__noise_sure(const eqp_policy_noise *noise, const eqp_level *mark, double loss, double false_alarms);

/* Noise over all ranks: plain data. */
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

/* Load of each rank over time: a load that grows with every map may be hidden by the noise of the other ranks. */
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

/* True if the counts read from a file are valid. */
bool eqp__noise_can_be(const eqp_policy_noise *noise, const eqp_noise_state *ranks);

/* Local. EQP_OK or EQP_ERR_MEMORY. */
int eqp__rank_noise_create(int nranks, eqp_rank_noise *noise);
void eqp__rank_noise_free(eqp_rank_noise *noise);

/* Records the loads of a step, all >= 0. begins: its map is new or repaired. O(ranks); the same on all ranks for the
 * same loads. Returns the increase per step, as a fraction of the mean, of a rank's load that is hidden by the noise of
 * the others: of the rank that rises most with all maps, or, by the mean square over ranks, of one that may change from
 * map to map. Returns 0 unless noise would produce it with a probability of at most its share of false_alarms. */
double eqp__rank_noise_record(eqp_rank_noise *noise, const double *load, bool begins, double false_alarms);

/* True if the bytes are a valid policy, apart from bools, options and counts of noise: all numbers are finite and in
 * range. */
bool eqp__policy_can_be(const eqp_policy *policy);

#endif
