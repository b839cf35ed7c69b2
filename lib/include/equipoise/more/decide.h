/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/decide.h
 * \brief The policy that decides when a new map pays off.
 *
 * A policy reads recorded samples, never clocks: the same samples give the same decisions on every rank and in every
 * replay. Ranks that decide together must give it the same (reduced) samples.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_DECIDE_H
#define EQUIPOISE_MORE_DECIDE_H

#include <equipoise/error.h>
#include <equipoise/policy.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One recorded step of a run. */
typedef struct eqp_policy_sample {
    double seconds_max;  /**< CPU seconds of the slowest rank's load, plus, if known, its CPU seconds outside the load
                            and its seconds of communication */
    double seconds_mean; /**< mean load of the ranks in this step, without these additions */
    bool rebalanced;     /**< the map was repaired or renewed just before this step */
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

/** Number of changes of the imbalance from which its noise is estimated. */
#define EQP_POLICY_CHANGES 31

/** Noise of the measured seconds, as a policy estimates it: plain data. All imbalances are of measured seconds. */
typedef struct eqp_policy_noise {
    double change[EQP_POLICY_CHANGES]; /**< latest absolute second differences of the imbalances within a map */
    int64_t changes;                   /**< number of differences so far */
    double spread;                     /**< standard deviation of a step's imbalance: their median, scaled */
    double last;                       /**< imbalance of the last step, if that had this map */
    double former;                     /**< imbalance of the step before the last, if that had this map */
    double now;          /**< imbalance of the last step; for an outlier, the value expected from the steps
                              before it */
    double mean;         /**< mean load of the last step, seconds */
    int64_t age;         /**< steps since the map was made or repaired */
    double hidden;       /**< of the last step's sample */
    double sum_mean;     /**< sum of mean loads since the onset of a loss, without the last step, seconds */
    double sum_beyond;   /**< sum of the excess over the mean load in the same steps, seconds */
    int64_t steps;       /**< number of these steps */
    double cured;        /**< value of eqp_policy.cured at the onset */
    double fit;          /**< sum of the imbalances of the first steps of this map */
    double fit_ages;     /**< sum of these imbalances times the map's age */
    int64_t fit_steps;   /**< number of these steps */
    double rise;         /**< ageing of earlier maps: sum of weights times the rise of the imbalance per step */
    double rise_weight;  /**< sum of weights, 1 / spread^2, smaller for old maps */
    double block;        /**< sum of imbalances since the age was a power of two */
    double calm;         /**< mean imbalance of such blocks of steps that were as good as fresh */
    double calm_steps;   /**< number of these steps */
    double fresh;        /**< mean imbalance of fresh maps so far, with smaller weights for old maps */
    double fresh_square; /**< mean square of that imbalance */
    double fresh_maps;   /**< sum of the weights */
} eqp_policy_noise;

/** State of a policy: plain data that may be copied, stored and sent. */
typedef struct eqp_policy {
    eqp_policy_options options; /**< as given */
    bool has_map;               /**< true if a map was made */
    bool repairable;            /**< true if the map can be repaired */
    int64_t steps;              /**< steps since the last new map */
    double balance_seconds;     /**< cost of the last new map */
    double repair_seconds;      /**< cost of the last repair; 0: no repair so far */
    double reached;             /**< imbalance that the last map reached when it was fresh */
    double imbalance;           /**< of the last step: seconds_max / seconds_mean - 1 */
    double sum_mean;            /**< seconds since the last map: mean load of each step */
    double work_imbalance;      /**< of the last step */
    double promised;            /**< work imbalance predicted for the last map or repair */
    double broken;              /**< seconds lost since then by work imbalance beyond the prediction */
    double cured;               /**< sum of `broken` at the repairs since the last new map */
    double patience;            /**< loss required before a remedy, as a multiple of its cost, >= 1 */
    int64_t left;               /**< remaining steps of the run, by eqp_policy_expect(); INT64_MAX: unknown */
    int64_t since;              /**< steps since the last new map or repair */
    double before;              /**< imbalance of the step before the last, if both have the same map; else 0 */
    double map_promised;        /**< work imbalance predicted for the last new map */
    double repair_promised;     /**< work imbalance predicted for the last repair */
    double repair_reached;      /**< imbalance that the last repair reached when it was fresh */
    double lost;                /**< seconds lost since the last new map or repair, beyond the imbalance that it left */
    eqp_policy_noise noise;     /**< of the measured seconds */
} eqp_policy;

/** Starts a policy. Returns EQP_OK or EQP_ERR_ARGUMENT for an option out of its range; unchanged on error. */
int eqp_policy_init(eqp_policy *policy, const eqp_policy_options *options);

/** Sets the number of remaining steps, including the next one; every recorded step reduces it by one. For
 * EQP_POLICY_GAIN. Local, O(1).
 * \return EQP_OK, EQP_ERR_ARGUMENT for a negative number; unchanged on error */
int eqp_policy_expect(eqp_policy *policy, int64_t left);

/** Records one step. Local, O(1).
 * \return EQP_OK, or EQP_ERR_DATA for seconds or imbalances that are negative or not finite; unchanged on error */
int eqp_policy_record(eqp_policy *policy, const eqp_policy_sample *sample);

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
 * Neither is done if the remaining steps, by eqp_policy_expect(), would lose less than the cost of the remedy. If at
 * most as many steps remain as the map has had, and one more remedy is best but two are not, it is done in the middle.
 *
 * EQP_POLICY_GAIN: eqp_gain_choose() of more/gain.h with a new map as the global method and a repair as the diffusive
 * one, with the cost and result of each at its last use. Diffusion moves few items between neighbours, a repair between
 * neighbours along the curve; a repair reaches its result in one step, so no steps are simulated. The paper counts all
 * remaining steps and assumes a constant imbalance. But a new map ages as the present one did: the policy counts as
 * many steps as the present map has lasted, and for a new map the average loss of the present one, not the loss of a
 * fresh map. If fewer steps remain, it counts these with the loss of a fresh map. Measured seconds that may be noise do
 * not count, as above.
 *
 * Repairs scatter items, which costs exchange; policies see that cost only in seconds_max. Local, O(1), changes
 * nothing. NULL: EQP_KEEP. */
eqp_policy_action eqp_policy_advise(const eqp_policy *policy);

/** True if eqp_policy_advise() returns more than EQP_KEEP. */
bool eqp_policy_wants(const eqp_policy *policy);

/** True if eqp_policy_wants() may be true after the next step, unless that is much worse than the last one: for callers
 * that prepare a new map during the step. EQP_POLICY_AUTO: the loss is at least half the cost of the remedy, or would
 * be after a step with twice the last step's loss. Not a guarantee: eqp_policy_wants() can become true without it.
 * Local, O(1). */
bool eqp_policy_may_want(const eqp_policy *policy);

#ifdef __cplusplus
}
#endif
#endif
