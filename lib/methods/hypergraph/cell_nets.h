/* SPDX-License-Identifier: BSD-3-Clause */
/* Branches as nets of a hypergraph. A branch is a cell of the octree of keys (<equipoise/more/curve.h>) all of whose
 * items are one part's, while those of the cell above are not. A cell of items of several parts that has k children
 * with items is k - 1 branches more than one of a single part: so branches are 1 and the sum of k - 1 over the cells
 * whose nets are cut. */
#ifndef EQUIPOISE_METHODS_HYPERGRAPH_CELL_NETS_H
#define EQUIPOISE_METHODS_HYPERGRAPH_CELL_NETS_H

#include <equipoise/more/curve.h>

#include <stdint.h>

/* No item is in more cells that have several children with items. */
#define EQP__CELLS_MOST EQP_CURVE_BITS

typedef struct eqp__cell_net {
    int64_t id;       /* >= 0: the same for all items of the cell, of different cells different with all probability */
    int64_t first, n; /* its items */
    int children;     /* that have items: 2 to 8 */
} eqp__cell_net;

/* The cells that item i is in, smallest first, of those that have several children with items and at most `most` items.
 * key: [n] ascending, below EQP_CURVE_END. net: [EQP__CELLS_MOST]. Returns how many. Local, O(levels log n). */
int eqp__cell_nets(int64_t n, const uint64_t *key, int64_t i, int64_t most, eqp__cell_net *net);

#endif
