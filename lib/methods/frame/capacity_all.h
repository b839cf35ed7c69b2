/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_CAPACITY_ALL_H
#define EQUIPOISE_METHODS_FRAME_CAPACITY_ALL_H

#include <equipoise/balance.h>

#include <stdbool.h>

/* Enforces options->capacity: if a part exceeds it, rank 0 runs eqp__capacity_repair() on the items of all ranks.
 * mend: items may move; if false, rank 0 only looks for a proof. Adds the moved items to result->repaired. Collective.
 * EQP_ERR_CAPACITY, with the proof in the message, if a part still exceeds its capacity. */
int eqp__capacity_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, bool mend,
                      int *part, eqp_balance_result *result);

#endif
