/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_RELABEL_ALL_H
#define EQUIPOISE_METHODS_FRAME_RELABEL_ALL_H

#include <equipoise/balance.h>

/* eqp__parts_relabel() for distributed items: renumbers the parts in `part` so that much work keeps its part in `now`
 * ([n]; NULL on ranks without present parts). number: [nparts] new number of each part; NULL allowed. Collective. */
int eqp__relabel_all(MPI_Comm comm, const eqp_balance_items *items, const int *now, const eqp_balance_options *options,
                     int *part, int *number);

#endif
