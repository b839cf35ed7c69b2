/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_HYPERGRAPH_H
#define EQUIPOISE_METHODS_FRAME_HYPERGRAPH_H

#include <stdint.h>

/* A hypergraph of work units (Pearce 2014, Algorithm 7): vertices are work units, hyperedges are the ids of particles
 * or blocks that two or more units touch. Start from {0}. */
typedef struct eqp_hypergraph {
    int64_t nvertices;     /* work units */
    int64_t nedges;        /* ids that two or more units touch */
    int64_t npins;         /* (vertex, edge) pairs, each counted once */
    double *edge_weight;   /* [nedges] */
    int64_t *edge_id;      /* [nedges] ids, ascending */
    int64_t *edge_first;   /* [nedges + 1] into edge_vertex */
    int64_t *edge_vertex;  /* [npins] vertices of each edge, ascending */
    int64_t *vertex_first; /* [nvertices + 1] into vertex_edge */
    int64_t *vertex_edge;  /* [npins] edges of each vertex, ascending */
} eqp_hypergraph;

/* Builds a hypergraph from n units and the ids >= 0 that they touch, with edges of weight 1. An id that one unit names
 * twice counts once; an id that only one unit names makes no edge, since it can never be cut. pin_first: [n + 1]
 * ascending from 0; pin: [pin_first[n]]. The caller frees the graph, also after an error. EQP_OK or EQP_ERR_MEMORY.
 * Local, O(pins), deterministic. */
int eqp__hypergraph_create(int64_t n, const int64_t *pin_first, const int64_t *pin, eqp_hypergraph *graph);

typedef struct eqp__pin {
    int64_t id;
    double weight;
} eqp__pin;

/* Sets the weights of edges from a table [n] of strictly ascending ids, for instance to the bytes of the particle with
 * that id. Edges with other ids keep their weights. Local, O(n + edges). */
void eqp__hypergraph_weigh(eqp_hypergraph *graph, int64_t n, const eqp__pin *table);

void eqp__hypergraph_free(eqp_hypergraph *graph);

#endif
