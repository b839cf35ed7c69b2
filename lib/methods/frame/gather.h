/* SPDX-License-Identifier: BSD-3-Clause */
/* Serial methods: gathers the items on rank 0, calls a local function that assigns them, and returns the parts. */
#ifndef EQUIPOISE_METHODS_FRAME_GATHER_H
#define EQUIPOISE_METHODS_FRAME_GATHER_H

#include "methods/frame/hypergraph.h"

#include <equipoise/balance.h>

/* Columns of the items that rank 0 gathers in addition to weights. Weights of pins come with the pins if any rank has
 * them. */
enum eqp__columns {
    EQP__IDS = 1,
    EQP__PARTICLES = 2,
    EQP__POINTS = 4,
    EQP__SOURCES = 8,               /* if any rank has them */
    EQP__SIZES = 16,                /* if any rank has them */
    EQP__PHASES = 32,               /* if there are several phases */
    EQP__PINS = 64,                 /* up to 2^26 over all ranks; beyond that pin_first is NULL */
    EQP__POINTS_WITHOUT_PINS = 128, /* points, unless pins are gathered */
    EQP__PART_NOW = 256             /* part_now is set to the input values of `part` */
};

/* The function `assign_alone` of a row. Local. */
typedef int eqp__alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result);

/* Calls `alone` on rank 0 with the items of all ranks, in rank order. Its `part` starts as the ranks' parts; the new
 * parts return to the ranks, together with the result's repaired and imbalance_unrepaired. part: unchanged on error.
 * Collective. */
int eqp__gather_and_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                           unsigned columns, eqp__alone *alone, int *part, eqp_balance_result *result);

/* Builds the hypergraph of the items' pins; the weight of an edge is the largest among its pins. *graph: owned by the
 * caller; unchanged if there are no pins. Local. */
int eqp__items_graph(const eqp_balance_items *items, eqp_hypergraph **graph);

#endif
