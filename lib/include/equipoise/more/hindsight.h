/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/hindsight.h
 * \brief The best schedule of maps in hindsight, when all steps are known.
 *
 * No policy can know it during the run. It is an upper bound on the gain of a better policy.
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

/** The best schedule of maps by dynamic programming. The first map is made before the first step; its cost is not
 * counted, since it is always made. Local, O(n^2), deterministic.
 * \param[in]  n            steps, >= 1
 * \param[in]  aged         [n][n] aged[s * n + t]: seconds of step t with the map made before step s <= t, >= 0; other
 *                          entries are not read (borrowed)
 * \param[in]  map_seconds  cost of each later map, >= 0
 * \param[out] best         seconds of the run by the best schedule; unchanged on error
 * \param[out] maps         [n] true if a map is made before the step; of equally good schedules the one with fewer
 *                          early maps; maps[0] is true; NULL: not needed; unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT for n < 1; EQP_ERR_DATA for seconds that are negative or not finite;
 * EQP_ERR_OVERFLOW for a sum that is not finite; EQP_ERR_MEMORY */
int eqp_policy_hindsight(int64_t n, const double *aged, double map_seconds, double *best, bool *maps);

/** The recorded steps of a run, in bounded memory. */
typedef struct eqp_hindsight eqp_hindsight;

/** One recorded step. */
typedef struct eqp_hindsight_step {
    double seconds_max;     /**< largest load of a rank, >= 0 */
    double seconds_mean;    /**< mean load of the ranks, from 0 to seconds_max */
    bool rebalanced;        /**< the map was repaired or renewed just before this step */
    double balance_seconds; /**< cost of that repair or new map, >= 0; ignored if !rebalanced */
    double aged; /**< excess of this step's work imbalance over the map's prediction, a fraction; only read if
                      rebalanced; < 0: unknown */
} eqp_hindsight_step;

/** Creates an empty record of a run, which allocates 150 KB. Local.
 * \param[out] hindsight  owned by the caller: eqp_hindsight_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_hindsight_create(eqp_hindsight **hindsight);

/** Frees a record; NULL is legal. */
void eqp_hindsight_free(eqp_hindsight *hindsight);

/** Records the next step. In a long run neighbouring steps are joined in pairs whenever 2048 entries are reached, so
 * that at most 128 KiB are used. Local, O(1) on average.
 * \param[in] hindsight  unchanged on error
 * \param[in] step       (copied)
 * \return EQP_OK; EQP_ERR_ARGUMENT; EQP_ERR_DATA for seconds that are negative, not finite, or with a maximum below the
 * mean */
int eqp_hindsight_add(eqp_hindsight *hindsight, const eqp_hindsight_step *step);

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
 * \param[out] regret     zeros for a run without steps; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW for seconds whose sum is not finite */
int eqp_hindsight_regret(const eqp_hindsight *hindsight, eqp_regret *regret);

/** The schedule found by eqp_hindsight_regret(), step by step, under the same assumptions, with the same codes.
 * \param[out] n        stretches, at most EQP_HINDSIGHT_MOST
 * \param[out] schedule  [n] owned by the caller: free(); unchanged on error */
int eqp_hindsight_schedule(const eqp_hindsight *hindsight, int64_t *n, eqp_hindsight_stretch **schedule);

#ifdef __cplusplus
}
#endif
#endif
