/* SPDX-License-Identifier: BSD-3-Clause */
/* Branches as nets of a hypergraph. A branch is a cell of the octree of keys (<equipoise/more/curve.h>) whose items all
 * belong to one part, while the items of its parent cell do not. A cell with items of several parts and k nonempty
 * children adds k - 1 branches. The number of branches is therefore 1 plus the sum of k - 1 over the cells whose nets
 * are cut. */
#ifndef EQUIPOISE_METHODS_HYPERGRAPH_CELL_NETS_H
#define EQUIPOISE_METHODS_HYPERGRAPH_CELL_NETS_H

#include <equipoise/more/curve.h>

#include <stdint.h>

/* Most nets per item. */
#define EQP__CELLS_MOST EQP_CURVE_BITS

typedef struct eqp__cell_net {
    int64_t id;       /* >= 0; a hash of the cell, so different cells almost certainly have different ids */
    int64_t first, n; /* items first to first + n - 1 */
    int children;     /* nonempty children, 2 to 8 */
} eqp__cell_net;

/* Lists the cells of item i that have several nonempty children and at most `most` items, smallest cell first. key: [n]
 * ascending, below EQP_CURVE_END. net: [EQP__CELLS_MOST]. Returns their number. Local, O(levels log n). */
int eqp__cell_nets(int64_t n, const uint64_t *key, int64_t i, int64_t most, eqp__cell_net *net);

#endif
