/* SPDX-License-Identifier: BSD-3-Clause */
/* Policies of maps, the gain model, the best schedule in hindsight, and noise. Pure functions. */
#ifndef EQUIPOISE_DECIDE_POLICY_H
#define EQUIPOISE_DECIDE_POLICY_H

#include <equipoise/policy.h>

#include <stdbool.h>
#include <stdint.h>

/** One recorded step of a run. */
typedef struct eqp_policy_sample {
    double seconds_max;  /**< CPU seconds of the slowest rank's load, plus, if known, its CPU seconds outside the load
                            and its seconds of communication */
    double seconds_mean; /**< mean load of the ranks, without these additions */
    bool rebalanced;
    double balance_seconds; /**< cost of that repair or new map, migration included; ignored if !rebalanced */
    double work_imbalance;  /**< max / mean - 1 of the work counted in this step, or the part removable by
                                a map; 0 without counts */
    double promised;        /**< work_imbalance that the method predicted for that map; ignored if !rebalanced; < 0: no
                                 prediction, and this step's work_imbalance is used */
    bool repaired;          /**< true for a repair; ignored if !rebalanced */
    bool repairable;        /**< true if the map of this step can be repaired */
    double hidden; /**< rise of the work imbalance per step of a map that is below the noise of seconds_max, measured by
                        averages over ranks; 0: unknown */
} eqp_policy_sample;

/** Changes of the imbalance from which its noise is estimated. */
#define EQP_POLICY_CHANGES 31

/** Noise of the measured seconds, as a policy estimates it: plain data. All imbalances are of measured seconds. */
typedef struct eqp_policy_noise {
    double change[EQP_POLICY_CHANGES]; /**< latest absolute second differences of the imbalances within a map */
    int64_t changes;
    double spread;     /**< standard deviation of a step's imbalance: their median, scaled */
    double last;       /**< imbalance of the last step; valid if it had this map */
    double former;     /**< the same of the step before the last */
    double now;        /**< imbalance of the last step; for an outlier, the value expected from the steps
                            before it */
    double mean;       /**< mean load of the last step, seconds */
    int64_t age;       /**< steps since the map was made or repaired */
    double hidden;     /**< of the last step's sample */
    double sum_mean;   /**< sum of mean loads since the onset of a loss, without the last step, seconds */
    double sum_beyond; /**< sum of max - mean loads in the same steps, seconds */
    int64_t steps;
    double cured;    /**< value of eqp_policy.cured at the onset */
    double fit;      /**< sum of the imbalances of the first steps of this map */
    double fit_ages; /**< sum of these imbalances times the map's age */
    int64_t fit_steps;
    double rise;         /**< ageing of earlier maps: sum of weights times the rise of the imbalance per step */
    double rise_weight;  /**< sum of weights, 1 / spread^2, smaller for old maps */
    double block;        /**< sum of imbalances since the age was last a power of two */
    double calm;         /**< mean imbalance of the blocks in which the map had not aged */
    double calm_steps;   /**< number of steps in these blocks */
    double fresh;        /**< mean imbalance of fresh maps; old maps weigh less */
    double fresh_square; /**< mean square of the same */
    double fresh_maps;   /**< sum of the weights */
} eqp_policy_noise;

/** State of a policy: plain data. */
typedef struct eqp_policy {
    eqp_policy_options options;
    bool has_map; /**< true if a map was made */
    bool repairable;
    int64_t steps;          /**< steps since the last new map */
    double balance_seconds; /**< cost of the last new map */
    double repair_seconds;  /**< cost of the last repair; 0: no repair so far */
    double reached;         /**< imbalance that the last map reached when it was fresh */
    double imbalance;       /**< of the last step: seconds_max / seconds_mean - 1 */
    double sum_mean;        /**< sum of the mean loads since the last map, seconds */
    double work_imbalance;  /**< of the last step */
    double promised;        /**< work imbalance predicted for the last map or repair */
    double broken;          /**< seconds lost since then by work imbalance beyond the prediction */
    double cured;           /**< sum of `broken` at the repairs since the last new map */
    double patience;        /**< loss required before a remedy, as a multiple of its cost, >= 1 */
    int64_t left;           /**< remaining steps, by eqp__policy_expect(); INT64_MAX: unknown */
    int64_t since;          /**< steps since the last new map or repair */
    double before;          /**< imbalance of the step before the last, if both have the same map; else 0 */
    double map_promised;    /**< work imbalance predicted for the last new map */
    double repair_promised; /**< work imbalance predicted for the last repair */
    double repair_reached;  /**< imbalance that the last repair reached when it was fresh */
    double lost;            /**< seconds lost since the last new map or repair, beyond the imbalance that it left */
    eqp_policy_noise noise; /**< of the measured seconds */
} eqp_policy;

/** Starts a policy. Returns EQP_OK or EQP_ERR_ARGUMENT for an option out of its range; unchanged on error. */
int eqp__policy_init(eqp_policy *policy, const eqp_policy_options *options);

/** Sets the number of remaining steps, including the next one; every recorded step reduces it by one. Local, O(1).
 * \return EQP_OK, EQP_ERR_ARGUMENT for a negative number; unchanged on error */
int eqp__policy_expect(eqp_policy *policy, int64_t left);

/** Records one step. Local, O(1).
 * \return EQP_OK, or EQP_ERR_DATA for seconds or imbalances that are negative or not finite; unchanged on error */
int eqp__policy_record(eqp_policy *policy, const eqp_policy_sample *sample);

/** Advises an action before the next step. Before any sample: a new map. EQP_POLICY_AUTO acts for one of two reasons:
 * - A new map: the last step's imbalance exceeds the tolerance and the imbalance that the last map reached, and the
 * seconds lost since then by the ageing of the map are at least the cost of a map. With noisy measurements the evidence
 * must be significant: noise alone would cause such a loss, or such a rise of the imbalance with the age of the present
 * and earlier maps, with a probability of at most `false_alarms`. Once maps are known to age, the loss is a weighted
 * mean of the present map's loss and the loss expected from earlier maps. A rise below the noise (`hidden`) counts
 * half: its loss is zero if the measured step times are right, and full if the clocks err.
 * - A repair or a new map: the last step's work imbalance exceeds the tolerance and the last prediction, and either
 * exceeds the prediction by more than `jump`, or the seconds lost beyond the prediction are at least the cost of the
 * remedy. The remedy is a repair if the map can be repaired and the last repair did not cost more than the last map;
 * its cost then includes the longer steps that it leaves, over the number of steps since the last remedy or the
 * remaining steps. The first repair is assumed to cost a quarter of a map, and to leave the imbalance of a
 * fresh map times (1 + work imbalance). If a remedy leaves more than three quarters of the work imbalance, the next one
 * requires twice the loss and twice the jump, up to 64 times: a wrong prediction does not renew the map again and
 * again.
 *
 * Neither is done if the remaining steps, by eqp__policy_expect(), would lose less than the cost of the remedy. If at
 * most as many steps remain as the map has had, and one more remedy is best but two are not, it is done in the middle.
 *
 * EQP_POLICY_GAIN: the shortest of all remaining steps by Pearce 2014, section 3.3, with a new map as the global method
 * and a repair as the diffusive one, with the cost and result of each at its last use. Diffusion moves few items
 * between neighbours, a repair between neighbours along the curve; a repair reaches its result in one step, so no steps
 * are simulated. The paper counts all remaining steps and assumes a constant imbalance. But a new map ages as the
 * present one did: the policy counts as many steps as the present map has lasted, and for a new map the average loss of
 * the present one, not the loss of a fresh map. If fewer steps remain, it counts these with the loss of a fresh map.
 * Measured seconds that may be noise do not count, as above.
 *
 * Repairs scatter items, which costs exchange; policies see that cost only in seconds_max. Local, O(1), changes
 * nothing. */
eqp_policy_action eqp__policy_advise(const eqp_policy *policy);

/** True if eqp__policy_advise() may ask for a remedy after the next step, unless that is much worse than the last one:
 * for callers that prepare a new map during the step. EQP_POLICY_AUTO: the loss is at least half the cost of the
 * remedy, or would be after a step with twice the last step's loss. Not a guarantee: a remedy can become due without
 * it. Local, O(1). */
bool eqp__policy_may_want(const eqp_policy *policy);

typedef struct eqp_hindsight eqp_hindsight;

typedef struct eqp_hindsight_step {
    double seconds_max;  /**< largest load of a rank, >= 0 */
    double seconds_mean; /**< mean load of the ranks, from 0 to seconds_max */
    bool rebalanced;
    double balance_seconds; /**< cost of that repair or new map, >= 0; ignored if !rebalanced */
    double aged; /**< excess of this step's work imbalance over the map's prediction, a fraction; only read if
                      rebalanced; < 0: unknown */
} eqp_hindsight_step;

/** Creates an empty record of a run, which allocates 150 KB. Local.
 * \param[out] hindsight  owned by the caller: eqp__hindsight_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY */
int eqp__hindsight_create(eqp_hindsight **hindsight);

void eqp__hindsight_free(eqp_hindsight *hindsight);

/** Records the next step. In a long run neighbouring steps are joined in pairs whenever 2048 entries are reached, so
 * that at most 128 KiB are used. Local, O(1) on average.
 * \param[in] hindsight  unchanged on error
 * \param[in] step       (copied)
 * \return EQP_OK, EQP_ERR_DATA for seconds that are negative, not finite, or with a maximum below the mean */
int eqp__hindsight_add(eqp_hindsight *hindsight, const eqp_hindsight_step *step);

/** Estimates the cost of the best schedule of maps. The effect of maps that were not made is unknown, so the estimate
 * assumes:
 * - The imbalance of a step is the imbalance of a fresh map plus an increment for every step since the map was made.
 * The increments belong to the steps and do not depend on the map.
 * - During a map the increments are the rises of the nondecreasing least-squares fit to its steps' imbalances, if they
 * are statistically significant; the residual is noise, which would occur with every map.
 * - The increment of a step with a new map is `aged`, or, if that is unknown, the mean increment between the last two
 * maps.
 * - A map that was not made would have started with the imbalance of the last map before it, at the mean cost of the
 * maps made (without the first map if there are more). If no later map was made, no better schedule is known.
 *
 * The actual schedule therefore costs exactly `seconds`, and without a better schedule the regret is 0. Joined steps
 * get at most one map, before the first of them. Local, O(2048^2), some 10 ms; deterministic.
 * \param[in]  hindsight  (borrowed)
 * \param[out] regret     zeros for a run without steps; NULL: not needed; unchanged on error
 * \param[out] n          stretches of the schedule, at most EQP_HINDSIGHT_MOST; NULL with it
 * \param[out] schedule   [n] the best schedule, owned by the caller: free(); NULL: not needed; unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW for seconds whose sum is not finite */
int eqp__hindsight_regret(const eqp_hindsight *hindsight, eqp_regret *regret, int64_t *n,
                          eqp_hindsight_stretch **schedule);

/* noise.c. Noise in measured seconds.
 * The largest of many noisy numbers is well above their mean, so even a perfectly balanced step shows an imbalance,
 * which changes from step to step. A loss is therefore a rise above the imbalance of the fresh map, and counts only
 * where noise is unlikely to explain it. */

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
