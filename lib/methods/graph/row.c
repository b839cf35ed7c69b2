/* SPDX-License-Identifier: BSD-3-Clause */
/* The row `metis`; builds without METIS have no function for it. */
#include "methods/graph/graph.h"

#ifndef EQP_METIS
#define eqp__metis_assign NULL
#endif

const eqp_method eqp__method_metis = {.name = "metis",
                                      .summary = "graph of owners by what they share, bisected by METIS on one rank",
                                      .flags = EQP_NEEDS_WEIGHTS | EQP_NEEDS_PINS | EQP_CAN_EVEN | EQP_SCATTERS,
                                      .assign = eqp__metis_assign};
