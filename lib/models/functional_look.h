/* SPDX-License-Identifier: BSD-3-Clause */
/** \file functional_look.h
 * \brief Checks a cumulative time function before it is cut. */
#ifndef EQP_ASSIGN_FUNCTIONAL_LOOK_H
#define EQP_ASSIGN_FUNCTIONAL_LOOK_H

#include <equipoise/more/models.h>

/** Evaluates t at 32 points from end to end. Local.
 * \param[in]  time    its ends are finite and in order
 * \param[out] t_low   t at the low end
 * \param[out] t_high  t at the high end, not below it
 * \return EQP_OK, or EQP_ERR_DATA where t falls or where it or its rise is not finite; unchanged on error */
int eqp__functional_look(const eqp_functional_time *time, double *t_low, double *t_high);

#endif
