/* SPDX-License-Identifier: BSD-3-Clause */
/** \file functional_look.h
 * \brief Checks a cumulative time function before it is cut. */
#ifndef EQP_ASSIGN_FUNCTIONAL_LOOK_H
#define EQP_ASSIGN_FUNCTIONAL_LOOK_H

#include <equipoise/more/models.h>

#include <stdbool.h>

/** True if Newton's method is certain to find any root of t(x) - c between low and high (appendix A): t' > 0, and t''
 * is of one sign and nonzero, or 0 everywhere. Checked at eight points; the search checks again at each of its points.
 * Local. \return true, or false if not or if unknown */
bool eqp__functional_newton_converges(const eqp_functional_time *time, double low, double high);

/** Solves t(x) = target in the whole domain. Newton's method from `guess` if its convergence is certain; if t(guess) is
 * on the side from which it may diverge, it starts from the end of the domain from which it converges. If a condition
 * does not hold, is unknown or fails during the search: Brent's method, which needs only t. Local, deterministic;
 * accurate to about four units in the last place of x if t is not flat.
 * \param[in]  target  t(low) to t(high)
 * \param[in]  guess   in the domain
 * \param[out] root    the root
 * \return EQP_OK, EQP_ERR_ARGUMENT for an invalid domain and a target or a guess that is out of range, EQP_ERR_DATA
 *         for a t that falls, is not finite or has an infinite rise at an evaluated point */
int eqp__functional_solve(const eqp_functional_time *time, double target, double guess, eqp_functional_root *root);

/** The speed of each node, for eqp_functional_cut(): the nodes of the first type come first. Local, O(nodes).
 * \param[out] speed  [nodes] as counted by eqp_functional_types()
 * \return as eqp_functional_types() */
int eqp__functional_speeds(int ntypes, const eqp_functional_type *type, double *speed);

/** Spread of the nodes' times: (Tmax - Tmin) / Tavg (section 6); 0 if all are 0. Local, O(n).
 * \return as eqp_functional_efficiency() */
int eqp__functional_spread(int n, const double *time, double *spread);

/** Evaluates t at 32 points from end to end. Local.
 * \param[in]  time    its ends are finite and in order
 * \param[out] t_low   t at the low end
 * \param[out] t_high  t at the high end, >= *t_low
 * \return EQP_OK, or EQP_ERR_DATA where t falls or where it or its rise is not finite; unchanged on error */
int eqp__functional_look(const eqp_functional_time *time, double *t_low, double *t_high);

#endif
