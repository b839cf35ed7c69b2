/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of messages and collective calls by the network model, and the fit of that model to timings. */
#ifndef EQUIPOISE_MOVE_NETWORK_H
#define EQUIPOISE_MOVE_NETWORK_H

#include <equipoise/problem.h>

/* True if all numbers are finite and in range. */
bool eqp__network_valid(const eqp_network *network);

/* Seconds of an allreduce, or of a barrier. */
double eqp__network_reduction(const eqp_network *network, int nparts);

/* Seconds of an allgather that brings each part this many bytes. */
double eqp__network_gathering(const eqp_network *network, int nparts, double bytes);

/* The network with which messages and bytes of an allgather are priced. */
eqp_network eqp__network_of_gather(const eqp_network *network);

/* Fits the line first + per_byte * bytes, both >= 0, with the smallest sum of relative deviations from timings > 0.
 * It passes through two timings, or one and the origin, or is level, so outliers do not bend it. O(n^3). bytes,
 * seconds: [n], n >= 1. */
void eqp__network_fit(int n, const double *bytes, const double *seconds, double *first, double *per_byte);

/* Pairs of ranks that time messages at the same time, on different nodes if possible. partner: [n], -1 for a rank
 * left over. node: [n] numbers >= 0 of the ranks' nodes. True if any pair connects two nodes. O(n^2). */
bool eqp__network_pairs(int n, const int *node, int *partner);

#endif
