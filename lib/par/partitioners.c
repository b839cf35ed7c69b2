/* SPDX-License-Identifier: BSD-3-Clause */
#include "par/partitioners.h"
#include "par/methods.h"

#include <math.h>
#include <stddef.h>

/* The only place that asks which libraries there are: a row without `assign` is one that this build lacks. */
#ifdef EQP_ZOLTAN
#define ZOLTAN(assign) assign
#else
#define ZOLTAN(assign) NULL
#endif
#ifdef EQP_METIS
#define METIS(assign) assign
#else
#define METIS(assign) NULL
#endif
#ifdef EQP_SCOTCH
#define SCOTCH(assign) assign
#else
#define SCOTCH(assign) NULL
#endif

const char *eqp__method_library(const eqp_method *row)
{
    const eqp_method *const zoltan[] = {&eqp__method_rcb, &eqp__method_rib, &eqp__method_interaction,
                                        &eqp__method_hypergraph};

    for (size_t i = 0; i < sizeof zoltan / sizeof zoltan[0]; i++) {
        if (row == zoltan[i]) {
            return "Zoltan";
        }
    }
    return row == &eqp__method_metis ? "METIS" : row == &eqp__method_scotch ? "Scotch" : "library";
}

/* Bisections need points, the others all that an item touches. */
#define BISECTS (EQP_NEEDS_WEIGHTS | EQP_NEEDS_POINTS | EQP_CAN_SPLIT | EQP_CAN_EVEN | EQP_GATHERS)
#define CUTS_PINS (EQP_NEEDS_WEIGHTS | EQP_NEEDS_PINS | EQP_CAN_EVEN)

static const eqp_option interaction_options[] = {
    {"fresh", EQP_OPTION_REAL, offsetof(eqp__interaction_settings, fresh), 0, true, INFINITY, NULL,
     "parts are made anew, communication weighing so many times migration; else the present ones are refined"}};

const eqp_method eqp__method_rcb = {.name = "rcb",
                                    .summary = "recursive coordinate bisection of the work, by Zoltan",
                                    .flags = BISECTS,
                                    .assign = ZOLTAN(eqp__rcb_assign)};

const eqp_method eqp__method_rib = {
    .name = "rib",
    .summary = "recursive inertial bisection, by Zoltan: halves of the work across its longest extent",
    .flags = BISECTS,
    .assign = ZOLTAN(eqp__rib_assign)};

const eqp_method eqp__method_interaction = {.name = "interaction",
                                            .summary =
                                                "hypergraph of work units and the particles they touch, cut by Zoltan",
                                            .flags = CUTS_PINS | EQP_NEEDS_UNITS | EQP_REFINES,
                                            .assign = ZOLTAN(eqp__interaction_assign),
                                            .noptions = 1,
                                            .option = interaction_options};

const eqp_method eqp__method_hypergraph = {
    .name = "hypergraph",
    .summary = "hypergraph of whole owners and all they touch, cut by Zoltan from scratch",
    .flags = CUTS_PINS | EQP_NETS_BRANCHES | EQP_SCATTERS,
    .assign = ZOLTAN(eqp__hypergraph_assign)};

const eqp_method eqp__method_metis = {.name = "metis",
                                      .summary = "graph of owners by what they share, bisected by METIS on one rank",
                                      .flags = CUTS_PINS | EQP_SCATTERS,
                                      .assign = METIS(eqp__metis_assign)};

const eqp_method eqp__method_scotch = {.name = "scotch",
                                       .summary = "graph of owners by what they share, mapped by Scotch on one rank",
                                       .flags = CUTS_PINS | EQP_SCATTERS,
                                       .assign = SCOTCH(eqp__scotch_assign)};
