/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_HYPERGRAPH_PHG_H
#define EQUIPOISE_METHODS_HYPERGRAPH_PHG_H

#include "methods/frame/frame.h"

/* The options of `interaction`. */
typedef struct eqp__interaction_settings {
    double fresh; /* 0: refine the present parts, which moves few items. > 0: repartition, with communication weighted
                     by this factor against migration; cuts a few percent less and moves many items */
} eqp__interaction_settings;

eqp__assign eqp__interaction_assign, eqp__hypergraph_assign;

/* Partitions items by their pins. approach: PARTITION from scratch; REFINE improves the parts in `part` and moves few
 * items; REPARTITION starts anew but accounts for the migration from `part`, with communication weighted by `quality`
 * against migration (0: unused). Needs pins, and more items than parts: Zoltan fails on a single vertex. Up to
 * most_on_root pins, rank 0 partitions all items, since the result of PHG depends on the number of ranks. part:
 * unchanged on error. Collective. */
int eqp__phg_partition(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                       const char *approach, double quality, int64_t most_on_root, int *part);

/* Most pins that rank 0 partitions alone, which takes some seconds. */
#define EQP__PHG_ON_ROOT ((int64_t)1 << 22)

#endif
