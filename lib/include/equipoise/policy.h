/* SPDX-License-Identifier: BSD-3-Clause */
/** \file policy.h
 * \brief When a map is renewed, what was done to it, and what its schedule has cost. */
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

/** When the map is renewed. The first map is always made. */
typedef enum eqp_policy_mode {
    EQP_POLICY_AUTO,   /**< when imbalance has cost as much as a new map costs, or as a repair costs */
    EQP_POLICY_NEVER,  /**< only before the first step */
    EQP_POLICY_EVERY,  /**< before the first step and then every `every` steps */
    EQP_POLICY_REPAIR, /**< repaired whenever the counted work is over the tolerance and over what was promised */
    EQP_POLICY_GAIN    /**< before each step: kept, repaired or renewed, whichever is cheapest for the steps ahead */
} eqp_policy_mode;

/** What is done to the map before a step. */
typedef enum eqp_policy_action {
    EQP_KEEP,   /**< nothing */
    EQP_REPAIR, /**< a few items move, so that the counted work is even again */
    EQP_RENEW   /**< a new map is made */
} eqp_policy_action;

/** What a policy is told once. */
typedef struct eqp_policy_options {
    size_t size;          /**< of this struct as its caller knows it: set by eqp_policy_options_defaults() */
    eqp_policy_mode mode; /**< when the map is renewed */
    int64_t every;        /**< steps between maps, >= 1; for EQP_POLICY_EVERY */
    double imbalance_tol; /**< auto: an imbalance up to this fraction is good enough, >= 0 */
    int settle;           /**< auto: among so many first steps with a new map the best one shows what the method can
                               reach; more than one, so that a hiccup is not taken for it, >= 1 */
    double jump;          /**< auto: a work imbalance that is larger than promised by more than this is reason enough,
                               whatever a map costs; for work that shifts at once. >= 0, INFINITY: never */
    double false_alarms;  /**< auto, gain: probability, per step, that noise of the measured seconds alone asks for a
                               map: from 0, exclusive, to 1, which believes all that is measured; 1e-4 */
} eqp_policy_options;

/** Automatic, imbalance up to 2 %, the cost of a map always counts, noise asks for a map in one of 10,000 steps. */
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

/** Reads `auto`, `never`, `repair`, `gain` or a number of steps into options->mode and options->every; the rest stays.
 * Local.
 * \return EQP_OK, or EQP_ERR_UNKNOWN for any other text */
int eqp_policy_options_parse(const char *text, eqp_policy_options *options);

/** What a run lost. */
typedef struct eqp_regret {
    double seconds; /**< of the run: the largest load of each step, and all maps */
    double best;    /**< of the same with the best schedule of maps; at most `seconds` */
    double regret;  /**< fraction of `seconds` that was lost: 1 - best / seconds; 0 for a run of no seconds */
    int64_t steps;  /**< that were added */
    int64_t maps;   /**< that were made, repairs counted */
    int64_t should; /**< maps of the best schedule */
} eqp_regret;

/** Most stretches of a schedule. */
#define EQP_HINDSIGHT_MOST 2048

/** Steps that follow each other, one unless a run is long. Seconds are sums over them. */
typedef struct eqp_hindsight_stretch {
    int64_t first;  /**< its first step, in the order of eqp_hindsight_add(), from 0 */
    int64_t steps;  /**< >= 1 */
    double seconds; /**< largest load of each step, as it was */
    double best;    /**< the same with the best schedule, maps left out */
    bool map;       /**< the run has made a map before one of them */
    bool best_map;  /**< the best schedule makes one */
} eqp_hindsight_stretch;

/** Where an application rank stands. The paper's flags (G, R) say that the work was sent, and that a map came of it. */
typedef enum eqp_lazy_phase {
    EQP_LAZY_IDLE,    /**< (0, 0) nothing is under way */
    EQP_LAZY_OFFERED, /**< (1, 0) the work was sent, the map is awaited */
    EQP_LAZY_READY,   /**< (1, 1) every rank has the map, none has taken it */
    EQP_LAZY_LOST,    /**< the balancing ranks do not answer any more: there will be no other map of theirs */
    EQP_LAZY_LEFT     /**< the application has left */
} eqp_lazy_phase;

/** Number of values of eqp_lazy_phase. */
#define EQP_LAZY_PHASES 5

#ifdef __cplusplus
}
#endif
#endif
