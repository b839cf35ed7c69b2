/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_ZOLTAN_RCB_H
#define EQUIPOISE_ZOLTAN_RCB_H

#include <equipoise/balance.h>

/* The method `rcb`; more than most_on_root items are bisected by all ranks together instead of by rank 0. Collective.
 */
int eqp__rcb_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                    int64_t most_on_root, int *part, eqp_balance_result *result);

#endif
