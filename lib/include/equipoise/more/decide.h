/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/decide.h
 * \brief When is a new map worth it?
 *
 * A policy reads recorded samples, never clocks: the same samples give the same decisions on every rank and in every
 * replay. Where ranks decide together, they feed it the same (reduced) samples.
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

/** One step of a run, as recorded. */
typedef struct eqp_policy_sample {
    double seconds_max;  /**< of the rank that needed most: CPU seconds of its load; where that is known with those of
                              what it does beside, and the seconds of what it sends */
    double seconds_mean; /**< mean load of the ranks in this step, without that */
    bool rebalanced;     /**< the map was repaired or renewed just before this step */
    double balance_seconds; /**< what that cost, migration included; ignored where !rebalanced */
    double work_imbalance;  /**< max / mean - 1 of the work that was counted in this step, or as far as a map could take
                                 that off the step; 0 where nobody counts */
    double promised;        /**< the same, as the method promised it of that map; ignored where !rebalanced; < 0: it
                                 promises nothing, and what this step's work shows stands for it */
    bool repaired;          /**< it was a repair; ignored where !rebalanced */
    bool repairable;        /**< the map of this step can be repaired */
    double hidden; /**< by how much the imbalance of the work rises in each step of a map, where that hides below
                        the noise of seconds_max, as averages of ranks show it; 0: not known */
} eqp_policy_sample;

/** Changes of the imbalance that tell how noisy it is. */
#define EQP_POLICY_CHANGES 31

/** What a policy knows of the noise of measured seconds: plain data. An imbalance is one of measured seconds. */
typedef struct eqp_policy_noise {
    double change[EQP_POLICY_CHANGES]; /**< last second differences of the imbalances of steps with one map, absolute */
    int64_t changes;                   /**< seen so far */
    double spread;                     /**< standard deviation of a step's imbalance: their median, scaled */
    double last;                       /**< imbalance of the last step, if that had this map */
    double former;                     /**< of the step before it, likewise */
    double now;                        /**< of the last one; where it stands out, what those before let expect */
    double mean;                       /**< mean load of the last step, seconds */
    int64_t age;                       /**< steps since the map was made or repaired */
    double hidden;                     /**< of the last step's sample */
    double sum_mean;                   /**< seconds since the onset of a loss, the last step left out: mean loads */
    double sum_beyond;                 /**< the same of what each step took beyond its mean load */
    int64_t steps;                     /**< number of these steps */
    double cured;                      /**< of eqp_policy.cured, at the onset */
    double fit;                        /**< sum of the imbalances of the first steps of this map, */
    double fit_ages;                   /**< of these times their ages */
    int64_t fit_steps;                 /**< and their number */
    double rise;        /**< by how much maps before have aged: sum of weights times rises of the imbalance in a step */
    double rise_weight; /**< sum of weights, by 1 / spread^2; of maps of long ago less */
    double block;       /**< sum of imbalances since the age was a power of two */
    double calm;        /**< mean imbalance of such steps that were as good as fresh */
    double calm_steps;  /**< their number */
    double fresh;       /**< mean imbalance of fresh maps so far, those of long ago count less */
    double fresh_square; /**< mean square of it */
    double fresh_maps;   /**< their number, likewise */
} eqp_policy_noise;

/** A policy's memory: plain data, copied, stored and sent freely. */
typedef struct eqp_policy {
    eqp_policy_options options; /**< as given */
    bool has_map;               /**< a map was made */
    bool repairable;            /**< it can be repaired */
    int64_t steps;              /**< steps since the last new map */
    double balance_seconds;     /**< cost of the last new map */
    double repair_seconds;      /**< cost of the last repair; 0: there was none */
    double reached;             /**< imbalance that the last map reached when it was fresh */
    double imbalance;           /**< of the last step: seconds_max / seconds_mean - 1 */
    double sum_mean;            /**< seconds since the last map: mean load of each step */
    double work_imbalance;      /**< of the last step */
    double promised;            /**< work imbalance that the last map or repair promised */
    double broken;              /**< seconds lost since then by work imbalance beyond the promise */
    double cured;               /**< the same, since the last new map, of which repairs took care */
    double patience;            /**< how many times a map's cost must be lost that way, >= 1 */
    int64_t left;               /**< steps that the run still has, by eqp_policy_expect(); INT64_MAX: not known */
    int64_t since;              /**< steps since the last new map or repair */
    double before;              /**< imbalance of the step before the last, if both have the same map; else 0 */
    double map_promised;        /**< work imbalance that the last new map promised */
    double repair_promised;     /**< the same of the last repair */
    double repair_reached;      /**< imbalance that the last repair reached when it was fresh */
    double lost;                /**< seconds lost since the last new map or repair, beyond what it left */
    eqp_policy_noise noise;     /**< of the measured seconds */
} eqp_policy;

/** Starts a policy. Returns EQP_OK or EQP_ERR_ARGUMENT for an option out of its range; unchanged on error. */
int eqp_policy_init(eqp_policy *policy, const eqp_policy_options *options);

/** Says how many steps the run still has, the next one counted; every recorded step is one less. For EQP_POLICY_GAIN.
 * Local, O(1).
 * \return EQP_OK, EQP_ERR_ARGUMENT for a negative number; unchanged on error */
int eqp_policy_expect(eqp_policy *policy, int64_t left);

/** Takes one step in. Local, O(1).
 * \return EQP_OK, or EQP_ERR_DATA for seconds or imbalances that are negative or not finite; unchanged on error */
int eqp_policy_record(eqp_policy *policy, const eqp_policy_sample *sample);

/** What is to be done before the next step. Before any sample: a new map. Automatic, for one of two reasons:
 * - A new map: the last step's imbalance is over the tolerance and over what the last map reached, and the seconds lost
 * since then by the ageing of the map are at least what a map costs. Where measured seconds are noisy that has to be
 * sure: noise alone would have made such a loss, or such a rise of the imbalance with the age of maps, the present one
 * and those before, with a probability of no more than `false_alarms`. Once it is sure that maps age, the loss is that
 * of the present map and what those before let expect, weighed by what is known of both. Of a rank that hides below the
 * noise (`hidden`) half the loss counts: it is none where steps take what was measured, and all where clocks err.
 * - The last step's work imbalance is over the tolerance and over what was promised last, and exceeds the promise by
 * more than `jump`, or the seconds lost beyond the promise are at least what the remedy costs: a repair where the map
 * can be repaired and the last repair did not cost more than the last map, with what it left steps longer for as many
 * steps as there were since the last remedy, or are left; else a new map. The first repair is taken to cost a quarter
 * of a map, and to leave as much more of what a fresh map leaves as work is uneven. Where that leaves more than three
 * quarters of the work imbalance, the next one has to wait for twice the loss and twice the jump, up to 64 times: a
 * promise that cannot be kept does not renew the map again and again.
 *
 * Neither is done where the steps that are left, by eqp_policy_expect(), would not lose as much as the remedy costs.
 * And where they are no more than the map has had, and one remedy more is best while two are not, it is done then, in
 * the middle.
 *
 * By gain: eqp_gain_choose() of more/gain.h with a new map as the global method and a repair as the diffusive one, by
 * what each of them cost and reached when it was last used. Diffusion moves few items between neighbours, a repair
 * between neighbours along the curve; it reaches in one step what it can, so nothing is simulated. The paper counts all
 * steps that are left and takes the imbalance to stay as it is. But a new map ages as the present one did: so as many
 * steps are counted as that has lasted, and of a new map what that has lost on average, not what it loses when it is
 * fresh. Where fewer steps are left these are counted, by what a fresh map loses. Measured seconds are no reason where
 * noise may have made them, as above.
 *
 * Repairs scatter items, which costs exchange: of that they see what is in seconds_max. Local, O(1), changes nothing.
 * NULL: EQP_KEEP. */
eqp_policy_action eqp_policy_advise(const eqp_policy *policy);

/** Whether that is more than EQP_KEEP. */
bool eqp_policy_wants(const eqp_policy *policy);

/** Whether eqp_policy_wants() may be true after the next step, if that is not much worse than the last one: for callers
 * that prepare a new map while they compute. Automatic: when the loss is at least half of what the remedy costs, or
 * would be after a step that loses twice as much as the last. No promise: the policy can want without. Local, O(1). */
bool eqp_policy_may_want(const eqp_policy *policy);

#ifdef __cplusplus
}
#endif
#endif
