/* SPDX-License-Identifier: BSD-3-Clause */
/** \file policy.h
 * \brief The policy that renews maps, its actions, and the cost of its schedule. */
#ifndef EQUIPOISE_POLICY_H
#define EQUIPOISE_POLICY_H

#include <equipoise/error.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Policy for renewing the map. The first map is always made. */
typedef enum eqp_policy_mode {
    EQP_POLICY_AUTO,   /**< when the accumulated cost of imbalance reaches the cost of a new map or a repair */
    EQP_POLICY_NEVER,  /**< only before the first step */
    EQP_POLICY_EVERY,  /**< before the first step and then every `every` steps */
    EQP_POLICY_REPAIR, /**< repair when the imbalance of counted work exceeds the tolerance and the prediction */
    EQP_POLICY_GAIN    /**< before each step: kept, repaired or renewed, whichever is cheapest for the steps ahead */
} eqp_policy_mode;

/** Action on the map before a step. */
typedef enum eqp_policy_action {
    EQP_KEEP,   /**< nothing */
    EQP_REPAIR, /**< a few items move to balance the counted work again */
    EQP_RENEW   /**< a new map is made */
} eqp_policy_action;

/** Options of a policy. */
typedef struct eqp_policy_options {
    size_t size;          /**< size of this struct in the caller's version: set by eqp_policy_options_defaults() */
    eqp_policy_mode mode; /**< policy for renewing the map */
    int64_t every;        /**< steps between maps, >= 1; for EQP_POLICY_EVERY */
    double imbalance_tol; /**< auto: acceptable imbalance, a fraction, >= 0 */
    int settle;           /**< auto: number of first steps with a new map of which the best shows the imbalance that the
                               method can reach; several steps filter out a single slow one, >= 1 */
    double jump;          /**< auto: renew the map at any cost if the work imbalance exceeds the prediction by more than
                               this, for work that shifts suddenly. >= 0, INFINITY: never */
    double false_alarms;  /**< auto, gain: probability per step that noise of the measured seconds alone causes a new
                               map: from 0, exclusive, to 1, which ignores noise; 1e-4 */
} eqp_policy_options;

/** Automatic, imbalance up to 2 %, no jump, one map caused by noise in 10,000 steps. */
static inline eqp_policy_options eqp_policy_options_defaults(void)
{
    eqp_policy_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.mode = EQP_POLICY_AUTO;
    options.every = 1;
    options.imbalance_tol = 0.02;
    options.settle = 3;
    options.jump = INFINITY;
    options.false_alarms = 1e-4;
    return options;
}

/** Reads `auto`, `never`, `repair`, `gain` or a number of steps into options->mode and options->every; the other
 * members stay. Local.
 * \return EQP_OK, or EQP_ERR_UNKNOWN for any other text */
int eqp_policy_options_parse(const char *text, eqp_policy_options *options);

/** Loss of a run through its schedule of maps. */
typedef struct eqp_regret {
    double seconds; /**< seconds of the run: the largest load of each step, plus all maps */
    double best;    /**< seconds with the best schedule of maps; at most `seconds` */
    double regret;  /**< lost fraction of `seconds`: 1 - best / seconds; 0 for a run of 0 seconds */
    int64_t steps;  /**< steps added */
    int64_t maps;   /**< maps made, repairs included */
    int64_t should; /**< number of maps of the best schedule */
} eqp_regret;

/** Largest number of stretches of a schedule. */
#define EQP_HINDSIGHT_MOST 2048

/** Consecutive steps; a single step unless the run is long. Seconds are sums over them. */
typedef struct eqp_hindsight_stretch {
    int64_t first;  /**< first step, from 0 */
    int64_t steps;  /**< >= 1 */
    double seconds; /**< sum of the largest load of each step in the run */
    double best;    /**< the same sum with the best schedule, without maps */
    bool map;       /**< true if the run made a map before one of the steps */
    bool best_map;  /**< true if the best schedule makes a map before one of the steps */
} eqp_hindsight_stretch;

/** State of an application rank. The paper's flags (G, R): the work was sent; a map was received. */
typedef enum eqp_lazy_phase {
    EQP_LAZY_IDLE,    /**< (0, 0) no offer */
    EQP_LAZY_OFFERED, /**< (1, 0) the work was sent, the map has not arrived */
    EQP_LAZY_READY,   /**< (1, 1) every rank has the map, no rank uses it yet */
    EQP_LAZY_LOST,    /**< the balancing ranks do not answer any more: no further maps */
    EQP_LAZY_LEFT     /**< the application has left */
} eqp_lazy_phase;

/** Number of values of eqp_lazy_phase. */
#define EQP_LAZY_PHASES 5

#ifdef __cplusplus
}
#endif
#endif
