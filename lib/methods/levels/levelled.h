/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `levelled`: parts that are even in every phase of a cycle. */
#ifndef EQUIPOISE_METHODS_LEVELS_LEVELLED_H
#define EQUIPOISE_METHODS_LEVELS_LEVELLED_H

#include <equipoise/balance.h>

/* Items in curve order with loads of phases, and the requested balance. Both are borrowed. */
typedef struct eqp__levelling {
    const eqp_balance_items *items;
    const eqp_balance_options *options;
} eqp__levelling;

/* Assigns items to parts. A phase is deeper the fewer items have load in it, and an item belongs to the bin of its
 * deepest phase. From the deepest bin to the shallowest, each bin is cut along the curve into one run per part, so that
 * loads in the bin's phase become even, including loads from deeper bins. A run goes to a part whose runs in deeper
 * bins overlap it most along the curve. Items with load in several phases can leave some phases uneven; a repair then
 * moves items and never raises the largest load of any phase. If shares are equal and n >= nparts, every part gets an
 * item. If the plain weighted curve is better, the result is its parts. Local, deterministic, about O(n nphases +
 * nphases nparts log n + moved nparts). part: [n]; unchanged on error. *moved: items that the repair moved. EQP_OK or
 * EQP_ERR_MEMORY. */
int eqp__levelled_assign(const eqp__levelling *in, int *part, int64_t *moved);

/* The repair alone, for any assignment: moves items to lower the largest load of the phase with most lost time, until
 * no phase improves. part: [n] */
int eqp__levelled_repair(const eqp__levelling *in, int *part, int64_t *moved);

#endif
