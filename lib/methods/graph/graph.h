/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 builds a graph of the items of all ranks, and METIS partitions it. */
#ifndef EQUIPOISE_METHODS_GRAPH_GRAPH_H
#define EQUIPOISE_METHODS_GRAPH_GRAPH_H

#include "methods/frame/frame.h"

/* A graph with integer weights. Each kind of weight sums to about 2^30, so that sums fit into 32 bits. Weights are at
 * least 1, except for the second and later weights of a vertex. */
typedef struct eqp__graph {
    int32_t n;
    int32_t *first;       /* [n + 1] */
    int32_t *edge;        /* [first[n]] each edge stored at both its ends */
    int32_t *edge_weight; /* [first[n]] */
    int nweights;
    int32_t *weight; /* [n][nweights] at most the smallest part's target; the first >= 0.001 of the mean */
} eqp__graph;

/* Partitions the vertices by METIS. part: [n]; nparts > 1. Local. */
int eqp__metis_partition(const eqp__graph *graph, const eqp_balance_options *options, int *part);

/* The method `metis`, on the graph of eqp__links_of_cliques(). With too few items per part, or without shared pins, the
 * result is the cut of the curve. Parts are renumbered to match the present ones and repaired to the tolerance. With
 * several phases each phase is a constraint of its own, and the repair only fills empty parts. EQP_ERR_OVERFLOW for
 * more than 2^26 pins or 2^30 edges: rank 0 needs 24 bytes per pin, 28 per edge, and METIS's memory. Collective. */
eqp__assign eqp__metis_assign;

#endif
