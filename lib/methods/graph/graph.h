/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 makes a graph of the items of all ranks, and METIS partitions it. */
#ifndef EQUIPOISE_METHODS_GRAPH_GRAPH_H
#define EQUIPOISE_METHODS_GRAPH_GRAPH_H

#include "methods/frame/rows.h"

/* A graph whose weights add up to about 2^30, so that 32 bits hold any sum of them. Every weight is at least 1, but for
 * those of a vertex after its first. */
typedef struct eqp__graph {
    int32_t n;
    int32_t *first;       /* [n + 1] */
    int32_t *edge;        /* [first[n]] each edge at both its ends */
    int32_t *edge_weight; /* [first[n]] */
    int nweights;
    int32_t *weight; /* [n][nweights] as if no item were more than the smallest part, or of the first less than 0.001 of
                        the mean */
} eqp__graph;

/* Parts of the vertices [n] by METIS, for more than one part. Local. */
int eqp__metis_partition(const eqp__graph *graph, const eqp_balance_options *options, int *part);

/* The method `metis`: the graph is that of eqp__links_of_cliques(). Few items for the parts, or items that share
 * nothing, stay where the curve puts them. Parts are renumbered towards the present ones and repaired to the tolerance;
 * with several phases, whose loads are constraints of their own, empty parts are filled and nothing else is repaired.
 * EQP_ERR_OVERFLOW for more than 2^26 pins or 2^30 edges: rank 0 holds 24 bytes of each pin, 28 of each edge, and the
 * memory of METIS. Collective. */
eqp__assign eqp__metis_assign;

#endif
