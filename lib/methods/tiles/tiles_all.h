/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles of distributed items. */
#ifndef EQUIPOISE_METHODS_TILES_TILES_ALL_H
#define EQUIPOISE_METHODS_TILES_TILES_ALL_H

#include "methods/tiles/tiles.h"

#include <equipoise/balance.h>

/* Finds the scope of all ranks' items. before: number of items on lower ranks. Collective. */
int eqp__tile_scope_all(MPI_Comm comm, const eqp_tiles_items *items, int64_t *before, eqp__tile_scope *scope);

/* eqp__tiles_bisect() for the items of all ranks; all nodes of a level are cut together. item: [n] of this rank, with
 * ascending orders above the orders of lower ranks; overwritten. part: [n], by order - first_order. Cuts and parts are
 * the same as from one rank with all items. Collective. EQP_ERR_OVERFLOW for more than 2^24 parts. */
int eqp__tiles_bisect_all(MPI_Comm comm, const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item,
                          int64_t first_order, int *part);

/* Assigns parts as the methods `tiles` and `jagged` do. Up to most_gathered items, every rank gathers and bisects all
 * items. Collective. */
int eqp__tiles_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                      enum eqp_tiles_shape shape, int64_t most_gathered, int *part, eqp_balance_result *result);

#endif
