/* SPDX-License-Identifier: BSD-3-Clause */
/* Edges between related items: the graph that graph-based methods use. */
#ifndef EQUIPOISE_METHODS_FRAME_LINKS_H
#define EQUIPOISE_METHODS_FRAME_LINKS_H

#include "methods/frame/hypergraph.h"

#include <stdint.h>

/* Edges in the layout of eqp_elements, each stored at both its ends. Start from {0}. */
typedef struct eqp__links {
    int64_t *first;
    int64_t *edge;
    double *weight; /* NULL: 1 each */
} eqp__links;

/* Every id links the items that touch it into a chain, in item order, with edges of the id's weight. The number of
 * edges grows linearly with the pins, and an id that all items touch links only neighbours in item order. O(pins).
 * The caller frees the links, also after an error. */
int eqp__links_of_pins(const eqp_hypergraph *graph, eqp__links *links);

/* The clique expansion of a hypergraph, for graph partitioners. An id of weight w that k items touch becomes a clique
 * of edges of weight w / (k - 1): separating one item from the rest cuts w, as in the hypergraph. In a clique of more
 * than 128 items each item keeps eight edges, at strides along the ascending list that are drawn from seed and id;
 * partitions cut such large cliques anyway. Parallel edges are merged and their weights summed. At most 127 edges per
 * pin. The caller frees the links, also after an error. */
int eqp__links_of_cliques(const eqp_hypergraph *graph, uint64_t seed, eqp__links *links);

/* Links every item to its `most` nearest items, and to its successor in item order, which keeps the graph connected.
 * point: [n][3]; NULL: successors only. O(n log n). The caller frees the links, also after an error. */
int eqp__links_of_points(int64_t n, const double *point, int most, eqp__links *links);

void eqp__links_free(eqp__links *links);

#endif
