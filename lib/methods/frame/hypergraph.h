/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignment of items to parts, without MPI: arrays in, arrays out, any number of parts. */
#ifndef EQUIPOISE_METHODS_FRAME_HYPERGRAPH_H
#define EQUIPOISE_METHODS_FRAME_HYPERGRAPH_H

#include <stdint.h>

/** A hypergraph of work units (Pearce 2014, Algorithm 7): vertices are work units, hyperedges are particles or blocks
 * that two or more units touch. Opaque; read it through eqp_hypergraph_view. */
typedef struct eqp_hypergraph eqp_hypergraph;

/** The arrays of a hypergraph (borrowed from it, valid until it is freed). */
typedef struct eqp_hypergraph_view {
    int64_t nvertices;           /**< work units */
    int64_t nedges;              /**< ids that two or more units touch */
    int64_t npins;               /**< (vertex, edge) pairs, each counted once */
    const double *vertex_weight; /**< [nvertices] */
    const double *edge_weight;   /**< [nedges] 1, or the sum of sizes given for the id */
    const int64_t *edge_id;      /**< [nedges] ids, ascending */
    const int64_t *edge_first;   /**< [nedges + 1] into edge_vertex */
    const int64_t *edge_vertex;  /**< [npins] vertices of each edge, ascending */
    const int64_t *vertex_first; /**< [nvertices + 1] into vertex_edge */
    const int64_t *vertex_edge;  /**< [npins] edges of each vertex, ascending */
} eqp_hypergraph_view;

/** Builds a hypergraph from units and the ids that they touch. An id that one unit names twice counts once; an id that
 * only one unit names makes no edge, since it can never be cut. Local, O(pins), deterministic.
 * \param[in]  n          number of units, >= 0
 * \param[in]  weight     [n] cost of each unit, or NULL: 1 (copied)
 * \param[in]  pin_first  [n + 1] ascending, pin_first[0] == 0 (borrowed for the call)
 * \param[in]  pin        [pin_first[n]] ids >= 0; NULL: no pins (borrowed for the call)
 * \param[out] graph      owned by the caller; eqp__hypergraph_free()
 * \return EQP_OK or EQP_ERR_MEMORY */
int eqp__hypergraph_create(int64_t n, const double *weight, const int64_t *pin_first, const int64_t *pin,
                           eqp_hypergraph **graph);

/** Sets the weights of edges, for instance to the bytes of the particle with that id. Edges with ids outside the table
 * keep their weights. Local, O(nids + edges).
 * \param[in]     id      [nids] strictly ascending (borrowed)
 * \param[in]     weight  [nids] finite, >= 0 (borrowed) */
void eqp__hypergraph_weigh(eqp_hypergraph *graph, int64_t nids, const int64_t *id, const double *weight);

eqp_hypergraph_view eqp__hypergraph_arrays(const eqp_hypergraph *graph);

void eqp__hypergraph_free(eqp_hypergraph *graph);

#endif
