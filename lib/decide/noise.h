/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise in measured seconds. Pure functions.
 * The largest of many noisy numbers is well above their mean, so even a perfectly balanced step shows an imbalance,
 * which changes from step to step. A loss is therefore a rise above the imbalance of the fresh map, and counts only
 * where noise is unlikely to explain it. */
#ifndef DECIDE_NOISE_H
#define DECIDE_NOISE_H

#include "decide/policy.h"

/* Share of false_alarms for each of the four rises that can trigger a map: of the loss, of all maps, of one rank, of
 * all ranks. */
double eqp__noise_rate(double false_alarms);

/* A level and the variance of its estimate. */
typedef struct eqp_level {
    double mean, variance;
} eqp_level;

/* The value that a standard normal variable exceeds with this probability, between 0 and 1. */
double eqp__normal_exceeded(double probability);

/* Records a step. mark: the fresh level, including this step; cured: the policy's, including this step. */
void eqp__noise_record(eqp_policy_noise *noise, double imbalance, double mean, const eqp_level *mark, double cured);

/* The next step is the first one with a new map (renew) or a repaired one (mend). reached: imbalance of the last map
 * over its `settled` fresh steps; 0 steps: unknown. */
void eqp__noise_renew(eqp_policy_noise *noise, double reached, int64_t settled);
void eqp__noise_mend(eqp_policy_noise *noise);

/* Imbalance of the fresh map without the bias of the minimum: from the least of `settled` steps, later steps that
 * were no worse, and earlier maps similar to it. */
eqp_level eqp__noise_mark(const eqp_policy_noise *noise, double reached, int64_t settled);

/* Increase of a map's imbalance per step, from this map and earlier ones, with the variance of that estimate. */
eqp_level eqp__noise_rise(const eqp_policy_noise *noise);

/* True if noise alone would produce such a rise with a probability of at most false_alarms. */
bool eqp__noise_rises(const eqp_policy_noise *noise, double false_alarms);

/* Seconds lost since the onset of a loss, i.e. since the accumulated loss was last zero. cured: as above. */
double eqp__noise_loss(const eqp_policy_noise *noise, const eqp_level *mark, double cured);

/* Expected loss, from this map and earlier ones, weighted by the uncertainty of each; without noise, from this map
 * alone. */
double eqp__noise_expected(const eqp_policy_noise *noise, const eqp_level *mark, double loss);

/* True if noise alone would produce such a loss with a probability of at most false_alarms. The sum of seconds above a
 * level, since that sum was last negative, is the end of a Brownian meander, which exceeds z standard deviations with
 * probability exp(-z^2 / 2) (Durrett, Iglehart, Miller: Weak convergence to Brownian meander and Brownian excursion,
 * Annals of Probability 5, 1977). */
bool eqp__noise_sure(const eqp_policy_noise *noise, const eqp_level *mark, double loss, double false_alarms);

typedef struct eqp_noise_state {
    int64_t age;          /* steps with this map */
    int64_t fit_steps;    /* number of steps in fit */
    int64_t changes;      /* steps that contributed to the spreads */
    double spread;        /* mean of the spreads */
    double rise_weight;   /* sum of weights, by 1 / spread^2 */
    double squares;       /* sum over earlier maps of the mean squares of weight times rise */
    double ratios;        /* the same relative to noise, weighted */
    double square_weight; /* sum of squares of their weights */
    double weight;        /* sum of their weights */
} eqp_noise_state;

/* Load of each rank over time: a load that grows with every map may be hidden by the noise of the other ranks. */
typedef struct eqp_rank_noise {
    int nranks;
    eqp_noise_state now;
    double *last;     /* [ranks] last load relative to the mean, - 1; owned, as are the following */
    double *former;   /* [ranks] of the previous step */
    double *fit;      /* [ranks] sum of `last` over the first steps of this map */
    double *fit_ages; /* [ranks] the same times the map's age */
    double *rise;     /* [ranks] over earlier maps: sum of weights times rises per step */
    double *spread;   /* [ranks] standard deviation of load / mean */
} eqp_rank_noise;

enum { EQP__RANK_NOISE_ROWS = 6 };

bool eqp__noise_can_be(const eqp_policy_noise *noise, const eqp_noise_state *ranks);

int eqp__rank_noise_create(int nranks, eqp_rank_noise *noise);
void eqp__rank_noise_free(eqp_rank_noise *noise);

/* Records the loads of a step, all >= 0. begins: its map is new or repaired. Returns the increase per step, as a
 * fraction of the mean, of a rank's load that noise of other ranks hides: of the rank that rises most with all maps,
 * or, by the mean square over ranks, of a rank that may change from map to map. Returns 0 unless noise would produce
 * it with a probability of at most its share of false_alarms. O(ranks); the same on all ranks for the same loads. */
double eqp__rank_noise_record(eqp_rank_noise *noise, const double *load, bool begins, double false_alarms);

/* True if the bytes are a valid policy: all numbers finite and in range. Bools, options and counts of noise are not
 * checked. */
bool eqp__policy_can_be(const eqp_policy *policy);

#endif
