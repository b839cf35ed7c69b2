/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows `interaction` and `hypergraph`; builds without Zoltan have no functions for them. */
#include "methods/frame/frame.h"
#include "methods/hypergraph/phg.h"

#include <math.h>
#include <stddef.h>

#ifndef EQP_ZOLTAN
#define eqp__interaction_assign NULL
#define eqp__hypergraph_assign NULL
#endif

#define FLAGS (EQP_NEEDS_WEIGHTS | EQP_NEEDS_PINS | EQP_CAN_EVEN)

static const eqp_option interaction_options[] = {
    {"fresh", EQP_OPTION_REAL, offsetof(eqp__interaction_settings, fresh), 0, true, INFINITY, NULL,
     "parts are made anew, communication weighing so many times migration; else the present ones are refined"}};

const eqp_method eqp__method_interaction = {.name = "interaction",
                                            .summary =
                                                "hypergraph of work units and the particles they touch, cut by Zoltan",
                                            .flags = FLAGS | EQP_NEEDS_UNITS | EQP_REFINES,
                                            .assign = eqp__interaction_assign,
                                            .noptions = 1,
                                            .option = interaction_options};

const eqp_method eqp__method_hypergraph = {
    .name = "hypergraph",
    .summary = "hypergraph of whole owners and all they touch, cut by Zoltan from scratch",
    .flags = FLAGS | EQP_NETS_BRANCHES | EQP_SCATTERS,
    .assign = eqp__hypergraph_assign};
