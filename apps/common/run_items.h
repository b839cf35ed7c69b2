/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners or their work units as what a method assigns. */
#ifndef APP_RUN_ITEMS_H
#define APP_RUN_ITEMS_H

#include "map.h"
#include "run_units.h"

/* The balancer's items, with the arrays that they borrow. Zeros are none. */
typedef struct app_items {
    eqp_balance_items view;
    int64_t *id, *particles, *size;
    double *weight, *point, *source;
    int *part_now, *part; /* [view.n] part: room for what is assigned */
} app_items;

/* units: empty where whole owners are assigned. old: the map by which owners are computed now, or NULL. Local; the
 * caller frees *items in any case. */
int app_items_fill(app_items *items, const app_owners *owners, const app_units *units, const app_map *old);
void app_items_free(app_items *items);

#endif
