/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of messages and collective calls by the network model, and the model fitted to timings. */
#ifndef EQUIPOISE_MOVE_NETWORK_H
#define EQUIPOISE_MOVE_NETWORK_H

#include <equipoise/problem.h>

/* True if all numbers are finite and in range. */
bool eqp__network_valid(const eqp_network *network);

/* Seconds of a reduction to all, or of a barrier. */
double eqp__network_reduction(const eqp_network *network, int nparts);

/* Seconds of an allgather that brings each part this many bytes. */
double eqp__network_gathering(const eqp_network *network, int nparts, double bytes);

/* The network that the messages and bytes of an allgather are counted by. */
eqp_network eqp__network_of_gather(const eqp_network *network);

/* The line first + per_byte * bytes, both >= 0, with the smallest sum of relative deviations from timings that are > 0:
 * it goes through two of them, or one and the origin, or is level, so that outliers do not bend it. O(n^3).
 * bytes, seconds: [n], n >= 1. */
void eqp__network_fit(int n, const double *bytes, const double *seconds, double *first, double *per_byte);

/* Pairs of ranks that time messages at the same time, of different nodes as far as there are any: every rank's other
 * one, -1 for one that is left over. node: [n] numbers >= 0 of the ranks' nodes. Returns whether any pair is of two
 * nodes. O(n^2). */
bool eqp__network_pairs(int n, const int *node, int *partner);

#endif
