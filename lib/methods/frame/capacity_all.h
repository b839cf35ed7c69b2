/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_CAPACITY_ALL_H
#define EQUIPOISE_METHODS_FRAME_CAPACITY_ALL_H

#include <equipoise/balance.h>

#include <stdbool.h>

/* No part is above options->capacity afterwards: eqp__capacity_repair() of items that are spread over the ranks, on
 * rank 0, if a part is. mend: items may move. Adds to result->repaired. Collective. EQP_ERR_CAPACITY, with the proof
 * in the message, where parts stay above it. */
int eqp__capacity_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, bool mend,
                      int *part, eqp_balance_result *result);

#endif
