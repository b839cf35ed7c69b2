/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/lazy_model.h
 * \brief Resource model and protocol of maps made while the run goes on. Pure.
 *
 * The resource model follows chapter 5.4 of Pearce 2014, the protocol its chapter 5.5 (figures 5.7 to 5.9). No function
 * communicates or reads a clock.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_LAZY_MODEL_H
#define EQUIPOISE_MORE_LAZY_MODEL_H

#include <equipoise/error.h>
#include <equipoise/policy.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Seconds on n ranks: fixed + divided / n + per_rank n, each >= 0. */
typedef struct eqp_seconds_fit {
    double fixed;    /**< independent of the ranks */
    double divided;  /**< total work that the ranks share */
    double per_rank; /**< added per rank */
} eqp_seconds_fit;

/** Ways to make a map. */
typedef enum eqp_lazy_kind {
    EQP_LAZY_INLINE,    /**< on all ranks, which wait for it ("standard") */
    EQP_LAZY_DECOUPLED, /**< on some of the ranks, and all wait for it */
    EQP_LAZY_BESIDE,    /**< on dedicated ranks, while the application continues ("asynchronous") */
    EQP_LAZY_THREAD     /**< on one core that the application does not use, while it continues */
} eqp_lazy_kind;

/** Number of values of eqp_lazy_kind. */
#define EQP_LAZY_KINDS 4

/** Largest number of ranks in the model. */
#define EQP_LAZY_RANKS_MAX 1048576

/** An application and its maps. */
typedef struct eqp_lazy_model {
    eqp_seconds_fit step; /**< f: seconds of a balanced step, on the application's ranks */
    eqp_seconds_fit map;  /**< g: seconds of making a map, on the ranks that make it */
    eqp_seconds_fit talk; /**< h: seconds of sending the work to the balancing ranks and the map back, as a function of
                             application ranks per balancing rank */
    double own;           /**< seconds of an application rank that does not wait: offer, take and repair */
    double imbalance;     /**< alpha: imbalance of a step before the map arrives, a fraction >= 0 */
    double drift;         /**< i: growth of the step time per step as a map ages, a fraction >= 0 */
    double tolerance; /**< as printed: imbalance at which the next map is due, a fraction >= 0; the paper's tol is 1 +
                         tolerance */
    int64_t steps;    /**< t': remaining steps of the run, >= 1 */
    bool spare;       /**< true if there is a core for EQP_LAZY_THREAD */
    bool mended;      /**< true: a late map is repaired when taken and counts as fresh; false: its age is its delay */
    bool as_printed;  /**< true: use equations 5.2 to 5.5 as printed */
} eqp_lazy_model;

/** The choice of the model. */
typedef struct eqp_lazy_choice {
    eqp_lazy_kind kind;             /**< the cheapest kind; if several are equal, the first in the list */
    int64_t steps;                  /**< number of steps counted: t', as printed t (5.3) */
    double seconds[EQP_LAZY_KINDS]; /**< seconds of these steps, at each kind's best; INFINITY: not possible */
    int balancers[EQP_LAZY_KINDS];  /**< ranks that make the map in that case, the smallest number if several are equal;
                                         the thread counts as one; 0: not possible */
    int64_t late[EQP_LAZY_KINDS];   /**< steps until the map arrives in that case; 0 if all ranks wait for it, or not
                                         possible */
    int64_t every[EQP_LAZY_KINDS];  /**< steps between maps in that case; equal to `steps`: the present map is kept */
} eqp_lazy_choice;

#ifdef __cplusplus
}
#endif
#endif
