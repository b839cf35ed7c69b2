/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_RELABEL_ALL_H
#define EQUIPOISE_METHODS_FRAME_RELABEL_ALL_H

#include <equipoise/balance.h>

/* eqp_parts_relabel() of items that are spread over the ranks: numbers the parts of `part` so that much work stays in
 * the part that it has in `now` ([n], or NULL on ranks that know none). number: [nparts] gets the new number of each;
 * NULL: not wanted. Collective. */
int eqp__relabel_all(MPI_Comm comm, const eqp_balance_items *items, const int *now, const eqp_balance_options *options,
                     int *part, int *number);

#endif
