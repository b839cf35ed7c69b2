/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles of items that are spread over the ranks. */
#ifndef EQUIPOISE_METHODS_TILES_TILES_ALL_H
#define EQUIPOISE_METHODS_TILES_TILES_ALL_H

#include "methods/tiles/tiles.h"

#include <equipoise/balance.h>

/* The scope of all ranks' items, and how many of them lower ranks have. Collective. */
int eqp__tile_scope_all(MPI_Comm comm, const eqp_tiles_items *items, int64_t *before, eqp__tile_scope *scope);

/* eqp__tiles_bisect() of all ranks' items: all nodes of a level are cut together. item: [n] of this rank, their orders
 * rising and above those of lower ranks; overwritten. part: [n], by order - first_order. The cuts and parts are those
 * that one rank with all items would find. Collective. EQP_ERR_OVERFLOW for more than 2^24 parts. */
int eqp__tiles_bisect_all(MPI_Comm comm, const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item,
                          int64_t first_order, int *part);

/* The methods `tiles` and `jagged`: up to so many items every rank gathers them all and bisects alike. Collective. */
int eqp__tiles_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                      enum eqp_tiles_shape shape, int64_t most_gathered, int *part, eqp_balance_result *result);

#endif
