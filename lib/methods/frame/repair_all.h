/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_REPAIR_ALL_H
#define EQUIPOISE_METHODS_FRAME_REPAIR_ALL_H

#include <equipoise/balance.h>

/* eqp__parts_repair() for distributed items. An assignment without empty parts and within imbalance_tol stays
 * unchanged. Gathers weights and parts on rank 0, and up to 2^26 pins. Sets the result's imbalance_unrepaired and
 * repaired. Collective. */
int eqp__repair_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                    double imbalance_tol, int *part, eqp_balance_result *result);

/* cycle_rows.c: the same for items with loads in several phases, by eqp__levelled_repair(), without renumbering.
 * imbalance_unrepaired: that of the cycle, 1 / efficiency - 1. Collective. */
int eqp__repair_cycle(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                      eqp_balance_result *result);

#endif
