/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_RCB_RCB_H
#define EQUIPOISE_METHODS_RCB_RCB_H

#include "methods/frame/frame.h"

eqp__assign eqp__rcb_assign, eqp__rib_assign;

/* The methods `rcb` and `rib`. how: Zoltan's LB_METHOD, "RCB" or "RIB". Rank 0 bisects up to most_on_root items; all
 * ranks together bisect more. Collective. */
int eqp__bisect_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                       const char *how, int64_t most_on_root, int *part, eqp_balance_result *result);

#endif
