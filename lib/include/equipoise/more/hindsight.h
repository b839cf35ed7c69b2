/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/hindsight.h
 * \brief When should the map have been renewed? The best schedule of maps, found when all steps are known.
 *
 * No policy can know it while the run goes on. It says how much a better one could gain.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_HINDSIGHT_H
#define EQUIPOISE_MORE_HINDSIGHT_H

#include <equipoise/error.h>
#include <equipoise/policy.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The best schedule of maps by dynamic programming. The first map is made before the first step and costs nothing
 * here, as it is not a matter of choice. Local, O(n^2), deterministic.
 * \param[in]  n            steps, >= 1
 * \param[in]  aged         [n][n] aged[s * n + t]: seconds of step t with the map that was made before step s <= t, >= 0;
 *                          the rest is not read (borrowed)
 * \param[in]  map_seconds  of each later map, >= 0
 * \param[out] best         seconds of the run by the best schedule; unchanged on error
 * \param[out] maps         [n] whether a map is made before the step, of equals the schedule with fewer maps in the
 *                          beginning; maps[0] is true; NULL: not wanted; unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT for n < 1; EQP_ERR_DATA for seconds that are negative or not finite;
 * EQP_ERR_OVERFLOW for a sum that is not finite; EQP_ERR_MEMORY */
int eqp_policy_hindsight(int64_t n, const double *aged, double map_seconds, double *best, bool *maps);

/** A run's steps, remembered in memory that does not grow with them. */
typedef struct eqp_hindsight eqp_hindsight;

/** A step as it was. */
typedef struct eqp_hindsight_step {
    double seconds_max;     /**< largest load of a rank, >= 0 */
    double seconds_mean;    /**< mean load of the ranks, from 0 to seconds_max */
    bool rebalanced;        /**< the map was repaired or renewed just before this step */
    double balance_seconds; /**< what that cost, >= 0; ignored where !rebalanced */
    double aged;            /**< by how much the work of this step was less even than the map promised, a fraction; only
                                 read where rebalanced; < 0: not known */
} eqp_hindsight_step;

/** Begins to remember a run, for which it takes 150 KB at once. Local.
 * \param[out] hindsight  owned by the caller: eqp_hindsight_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_hindsight_create(eqp_hindsight **hindsight);

/** Frees it; NULL is legal. */
void eqp_hindsight_free(eqp_hindsight *hindsight);

/** Remembers the next step. Of a long run neighbouring steps are taken together, in pairs, whenever 2048 are reached,
 * so that no more than 128 KiB are held. Local, O(1) on average.
 * \param[in] hindsight  unchanged on error
 * \param[in] step       (copied)
 * \return EQP_OK; EQP_ERR_ARGUMENT; EQP_ERR_DATA for seconds that are negative, not finite, or less at most than in the
 * mean */
int eqp_hindsight_add(eqp_hindsight *hindsight, const eqp_hindsight_step *step);

/** Estimates what the best schedule of maps would have cost. What other maps would have done is not known, so this
 * assumes:
 * - The imbalance of a step is that of a fresh map, and what was added by every step since the map was made: these
 * increments belong to the steps, whenever the map was made.
 * - While a map is used they are the rises of the least squares fit to its steps' imbalances that never falls, as far
 * as they are larger than chance; what is left is noise, which every map would have met.
 * - The increment of a step with a map of its own is `aged`, or, where that is not known, the mean of the steps between
 * the last two maps.
 * - A map that was not made would have begun as even as the last one before it, and cost as much as the mean of those
 * that were made, the first one left out where there are others. Where none was made nothing better is known.
 *
 * So the schedule of the run itself costs what it did cost, and nothing better than `seconds` is no regret. Of steps
 * that were taken together at most one map can be made, before the first. Local, O(2048^2), some 10 ms; deterministic.
 * \param[in]  hindsight  (borrowed)
 * \param[out] regret     zeros for a run without steps; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW for seconds whose sum is not finite */
int eqp_hindsight_regret(const eqp_hindsight *hindsight, eqp_regret *regret);

/** The schedule that eqp_hindsight_regret() has found, step by step, under the same assumptions. As that.
 * \param[out] n        stretches, at most EQP_HINDSIGHT_MOST
 * \param[out] schedule  [n] owned by the caller: free(); unchanged on error */
int eqp_hindsight_schedule(const eqp_hindsight *hindsight, int64_t *n, eqp_hindsight_stretch **schedule);

#ifdef __cplusplus
}
#endif
#endif
