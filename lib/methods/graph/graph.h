/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 builds a graph of the items of all ranks, and METIS partitions it. */
#ifndef EQUIPOISE_METHODS_GRAPH_GRAPH_H
#define EQUIPOISE_METHODS_GRAPH_GRAPH_H

#include "methods/frame/frame.h"

/* The method `metis`, on the graph of eqp__links_of_cliques(). With too few items per part, or without shared pins, the
 * result is the cut of the curve. Parts are renumbered to match the present ones and repaired to the tolerance. With
 * several phases each phase is a constraint of its own, and the repair only fills empty parts. EQP_ERR_OVERFLOW for
 * more than 2^26 pins or 2^30 edges: rank 0 needs 24 bytes per pin, 28 per edge, and METIS's memory. Collective. */
eqp__assign eqp__metis_assign;

#endif
