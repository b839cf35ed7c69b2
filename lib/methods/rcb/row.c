/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows `rcb` and `rib`; builds without Zoltan have no functions for them. */
#include "methods/rcb/rcb.h"

#ifndef EQP_ZOLTAN
#define eqp__rcb_assign NULL
#define eqp__rib_assign NULL
#endif

#define FLAGS (EQP_NEEDS_WEIGHTS | EQP_NEEDS_POINTS | EQP_CAN_SPLIT | EQP_CAN_EVEN | EQP_GATHERS)

const eqp_method eqp__method_rcb = {.name = "rcb",
                                    .summary = "recursive coordinate bisection of the work, by Zoltan",
                                    .flags = FLAGS,
                                    .assign = eqp__rcb_assign};

const eqp_method eqp__method_rib = {
    .name = "rib",
    .summary = "recursive inertial bisection, by Zoltan: halves of the work across its longest extent",
    .flags = FLAGS,
    .assign = eqp__rib_assign};
