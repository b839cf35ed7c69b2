/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/gain.h
 * \brief Cost model that decides if balancing pays off and by which kind of method (chapter 3.3 of Pearce 2014).
 *
 * The model compares the seconds of all remaining steps: without balancing, with a global method once, with a diffusive
 * method step by step. It uses only the imbalance of the present step; call it again when that changes. Two of its
 * equations cannot hold as printed; `as_printed` selects the printed form.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_GAIN_H
#define EQUIPOISE_MORE_GAIN_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An application before a step. Every number is >= 0 and finite. */
typedef struct eqp_gain_case {
    int64_t steps;            /**< remaining steps */
    double load_max;          /**< seconds of the slowest rank in a step with the present map */
    double load_mean;         /**< mean seconds of the ranks in a step */
    double load_reached;      /**< seconds of the slowest rank in a step after the global method; the paper uses the
                                   mean, which no method reaches */
    double decision_seconds;  /**< seconds for the decision of the global method */
    double diffusive_seconds; /**< seconds for the decision of one step of the diffusive method */
    double elements_max;      /**< elements on the slowest rank */
    double element_bytes;     /**< bytes per element */
    double alpha;             /**< seconds per message */
    double beta;              /**< seconds per byte */
    bool as_printed; /**< true: the equations as printed: 3.3 grows towards balance, 3.5 uses load_mean instead of
                          load_reached, the sum 3.6 has one step too many */
} eqp_gain_case;

/** Kinds of balancing. */
typedef enum eqp_gain_kind {
    EQP_GAIN_NONE,      /**< keep the map */
    EQP_GAIN_DIFFUSIVE, /**< one step of a diffusive method, then decide again */
    EQP_GAIN_GLOBAL     /**< a new map */
} eqp_gain_kind;

/** The cheapest kind, with the seconds of each. */
typedef struct eqp_gain_choice {
    eqp_gain_kind kind; /**< the cheapest kind; of equal ones the first of none, diffusive, global */
    double none;        /**< seconds of all steps by eqp_gain_none() */
    double diffusive;   /**< by eqp_gain_diffusive() */
    double global;      /**< by eqp_gain_global() */
} eqp_gain_choice;

/** Seconds of all steps if nothing is done: steps x load_max (3.7). Local, O(1).
 * \param[in]  of       the application (borrowed)
 * \param[out] seconds  INFINITY where it is out of range; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for negative steps, EQP_ERR_DATA for another number out of its range */
int eqp_gain_none(const eqp_gain_case *of, double *seconds);

/** Seconds of all steps if a global method is called once, before the first (3.1, 3.2, 3.3, 3.5): decision_seconds +
 * alpha + beta element_bytes moved + steps x load_reached, with moved = elements_max (load_max - load_mean) / load_max.
 * As printed: moved = elements_max load_mean / (load_max - load_mean), INFINITY in balance. Local, O(1).
 * \param[in]  of       the application (borrowed)
 * \param[out] seconds  INFINITY where it is out of range; unchanged on error
 * \return as eqp_gain_none() */
int eqp_gain_global(const eqp_gain_case *of, double *seconds);

/** Seconds of all steps if a diffusive method is called before each of the first n (3.1, 3.2, 3.6): the sum of
 * diffusive_seconds + alpha + beta element_bytes moved_max[i] + load_max[i]. Later steps take as long as the last
 * simulated one and move no data; n = 0 gives eqp_gain_none(). Local, O(n).
 * \param[in]  of         the application (borrowed)
 * \param[in]  n          simulated steps, >= 0; steps beyond of->steps do not count
 * \param[in]  load_max   [n] seconds of the slowest rank after each of them, >= 0 (borrowed)
 * \param[in]  moved_max  [n] largest number of elements that a rank moves, >= 0 (borrowed)
 * \param[out] seconds    INFINITY where it is out of range; unchanged on error
 * \return as eqp_gain_none(); EQP_ERR_ARGUMENT for a negative n */
int eqp_gain_diffusive(const eqp_gain_case *of, int64_t n, const double *load_max, const double *moved_max,
                       double *seconds);

/** Compares the three kinds. Local, O(n).
 * \param[in]  of         the application (borrowed)
 * \param[in]  n          as for eqp_gain_diffusive(); 0: there is no diffusive method
 * \param[in]  load_max   [n] (borrowed)
 * \param[in]  moved_max  [n] (borrowed)
 * \param[out] choice     unchanged on error
 * \return as eqp_gain_diffusive() */
int eqp_gain_choose(const eqp_gain_case *of, int64_t n, const double *load_max, const double *moved_max,
                    eqp_gain_choice *choice);

#ifdef __cplusplus
}
#endif
#endif
