/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods that one rank carries out for all: the items are gathered, a local function assigns them, the parts return.
 */
#ifndef EQUIPOISE_METHODS_FRAME_GATHER_H
#define EQUIPOISE_METHODS_FRAME_GATHER_H

#include <equipoise/balance.h>
#include <equipoise/more/assign.h>

/* Columns of the items that rank 0 gets besides weights; sizes and costs of pins if any rank has them. */
enum eqp__columns {
    EQP__IDS = 1,
    EQP__PARTICLES = 2,
    EQP__POINTS = 4,
    EQP__SOURCES = 8, /* if any rank has them */
    EQP__SIZES = 16,
    EQP__PHASES = 32,               /* with several phases */
    EQP__PINS = 64,                 /* up to 2^26 of all ranks; else pin_first is NULL */
    EQP__POINTS_WITHOUT_PINS = 128, /* POINTS where there are no pins */
    EQP__PART_NOW = 256             /* part_now is the parts that are given */
};

/* assign_alone of a row. */
typedef int eqp__alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result);

/* Calls `alone` on rank 0 with all items, in the order of the ranks. There `part` begins as the ranks' parts; what it
 * becomes returns to the ranks, with the result's repaired and imbalance_unrepaired. Unchanged on error: part.
 * Collective. */
int eqp__gather_and_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                           unsigned columns, eqp__alone *alone, int *part, eqp_balance_result *result);

/* The pins of items as a hypergraph, each with the largest cost that an item names for it; *graph stays as it is where
 * there are no pins. Local. */
int eqp__items_graph(const eqp_balance_items *items, eqp_hypergraph **graph);

#endif
