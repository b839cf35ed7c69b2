/* SPDX-License-Identifier: BSD-3-Clause */
/* Edges between items that are near each other: the element graph of a method that is given none. */
#ifndef EQUIPOISE_METHODS_FRAME_LINKS_H
#define EQUIPOISE_METHODS_FRAME_LINKS_H

#include <equipoise/more/assign.h>

/* Edges as <equipoise/more/elements.h> has them, each at both its ends. Start from {0}. */
typedef struct eqp__links {
    int64_t *first;
    int64_t *edge;
    double *weight; /* NULL: 1 each */
} eqp__links;

/* Every id links the items that touch it in a row, from the first to the last, with its weight. So its edges grow with
 * its pins, not with their square, and an id that the whole set touches links neighbours in the order of the items, not
 * all with all. O(pins). Freed by the caller, also after an error. */
int eqp__links_of_pins(const eqp_hypergraph *graph, eqp__links *links);

/* What partitioners of graphs take for the hypergraph. An id that k items touch makes of them a clique of edges that
 * weigh w / (k - 1) each, w its weight: an item that leaves the others cuts w, as in the hypergraph. Of more than 128
 * items each keeps eight of those edges, to others at strides along the ascending list that are drawn from seed and id:
 * whoever has parts of so large a clique has it cut anyway. Edges between the same two items are one, with the sum of
 * their weights. At most 127 edges for a pin. Freed by the caller, also after an error. */
int eqp__links_of_cliques(const eqp_hypergraph *graph, uint64_t seed, eqp__links *links);

/* Every item is linked to the `most` that are nearest to it, and to the next one in the order of the items, so that all
 * hang together. point: [n][3]; NULL: the order alone. O(n log n). Freed by the caller, also after an error. */
int eqp__links_of_points(int64_t n, const double *point, int most, eqp__links *links);

void eqp__links_free(eqp__links *links);

#endif
