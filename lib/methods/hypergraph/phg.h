/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_HYPERGRAPH_PHG_H
#define EQUIPOISE_METHODS_HYPERGRAPH_PHG_H

#include "methods/frame/rows.h"

/* The options of `interaction`. */
typedef struct eqp__interaction_settings {
    double fresh; /* 0: refine the present parts, so that few items move. New parts cut some percent less, and move many
                     items */
} eqp__interaction_settings;

eqp__assign eqp__interaction_assign, eqp__hypergraph_assign;

/* Partitions items and their pins. approach: PARTITION, from scratch; REFINE improves the parts in `part` and moves
 * little; REPARTITION starts anew with those as an argument, and `quality` is what communication weighs against
 * migration (0: not used). Of items more than parts that have pins: Zoltan fails on a single vertex. Up to most_on_root
 * pins rank 0 partitions for all, as what PHG finds depends on the ranks that look. Collective. Unchanged on error:
 * part. */
int eqp__phg_partition(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                       const char *approach, double quality, int64_t most_on_root, int *part);

/* More pins take one rank too long: these some seconds. */
#define EQP__PHG_ON_ROOT ((int64_t)1 << 22)

#endif
