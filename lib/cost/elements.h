/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph of a code's elements and the graph of parts derived from it: the element-aware load model. */
#ifndef EQUIPOISE_COST_ELEMENTS_H
#define EQUIPOISE_COST_ELEMENTS_H

#include <stdint.h>

/** Elements, their edges and their parts. All arrays are borrowed; with n == 0 every pointer may be NULL. Every edge is
 * listed twice, once at each of its two ends, with the same weight. Two elements may have several edges. */
typedef struct eqp_elements {
    int64_t n;                 /**< elements, >= 0 */
    const double *weight;      /**< [n] expected work, finite, >= 0; NULL: 1 each */
    const int *part;           /**< [n] 0 to nparts - 1 */
    const int64_t *edge_first; /**< [n + 1] ascending, edge_first[0] == 0; NULL: no edges */
    const int64_t *edge;       /**< [edge_first[n]] the other end, 0 to n - 1, or NULL: no edges; an edge from an
                                  element to itself is ignored */
    const double *edge_weight; /**< [edge_first[n]] finite, >= 0; NULL: 1 each */
} eqp_elements;

/** The graph of parts. The neighbours of part p are neighbour[k] for k from neighbour_first[p] to
 * neighbour_first[p + 1] - 1, ascending. Each of two neighbours lists the other with the same channels and weight. */
typedef struct eqp_part_graph {
    int nparts;               /**< parts */
    double *load;             /**< [nparts] expected work of the part's elements */
    int64_t *elements;        /**< [nparts] number of its elements */
    int64_t *neighbour_first; /**< [nparts + 1] into the arrays below */
    int *neighbour;           /**< other part */
    int64_t *channels;        /**< edges between the two parts */
    double *channel_weight;   /**< sum of their weights */
} eqp_part_graph;

/** Builds the graph of parts. Local, O(n + edges + nparts + m log m) for m pairs of neighbours, deterministic.
 * \param[in]  elements  (borrowed for the call)
 * \param[in]  nparts    >= 1
 * \param[out] graph     owned by the caller: eqp__part_graph_free(); unchanged on error
 * \return EQP_OK; EQP_ERR_DATA if two parts list different numbers of channels to each other, since an edge is then
 *         listed at only one end; EQP_ERR_OVERFLOW for loads without a finite sum; EQP_ERR_MEMORY */
int eqp__part_graph_create(const eqp_elements *elements, int nparts, eqp_part_graph **graph);

void eqp__part_graph_free(eqp_part_graph *graph);

#endif
