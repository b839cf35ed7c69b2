/* SPDX-License-Identifier: BSD-3-Clause */
/* Items of an assignment: owners or their work units. */
#ifndef MAP_ITEMS_H
#define MAP_ITEMS_H

#include "map/work_units.h"

#include <equipoise/problem.h>

#include <mpi.h>
#include <stdint.h>

/* The items that a method assigns, with the arrays they borrow. */
typedef struct eqp_items {
    eqp_balance_items view;
    int64_t *id, *particles, *size, *pin_first, *pin;
    double *pin_weight, *weight, *phase, *point, *source;
    int *part_now, *part; /* [view.n] part: for the result */
} eqp_items;

/* units: empty if whole owners are assigned. old: the present map, or NULL. Local; *items must be freed in any case. */
int eqp__items_fill(eqp_items *items, const eqp_owners *owners, const eqp_work_units *units, const eqp_map *old);

/* Adds pins to whole owners: the surveyed pins and the owner's own, each of weight 1. branch: cost of a branch of
 * the octree of keys, over all parts, relative to a pin, the same on all ranks; if > 0, cells are pins as well.
 * code: of this rank so far. Collective. */
int eqp__items_take_pins(MPI_Comm comm, eqp_items *items, const eqp_owners *owners, double branch, int nparts,
                         int code);

void eqp__items_free(eqp_items *items);

#endif
