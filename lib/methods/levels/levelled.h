/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `levelled`: parts that are even in every phase of a cycle. */
#ifndef EQUIPOISE_METHODS_LEVELS_LEVELLED_H
#define EQUIPOISE_METHODS_LEVELS_LEVELLED_H

#include <stdint.h>

/* Items in curve order, their loads, and the requested balance. All borrowed. */
typedef struct eqp__levelling {
    int64_t n;
    const double *weight; /* [n] weight that the plain curve balances */
    const double *load;   /* [n][nphases] */
    int nphases;
    const double *times; /* [nphases] or NULL */
    int nparts;
    const double *share;  /* [nparts] or NULL */
    double imbalance_tol; /* phases up to this imbalance need no repair */
} eqp__levelling;

typedef struct eqp__levelled {
    double unrepaired; /* cycle efficiency before items moved */
    double efficiency; /* of the returned parts */
    int64_t moved;     /* items that the repair moved */
    int curve;         /* 1: the plain weighted curve was better and is returned */
} eqp__levelled;

/* Assigns items to parts. A phase is deeper the fewer items have load in it, and an item belongs to the bin of its
 * deepest phase. From the deepest bin to the shallowest, each bin is cut along the curve into one run per part, so that
 * loads in the bin's phase become even, including loads from deeper bins. A run goes to a part whose runs in deeper
 * bins overlap it most along the curve. Items with load in several phases can leave some phases uneven; a repair then
 * moves items and never raises the largest load of any phase. If shares are equal and n >= nparts, every part gets an
 * item. Local, deterministic, about O(n nphases + nphases nparts log n + moved nparts). part: [n]; unchanged on error.
 * EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT. */
int eqp__levelled_assign(const eqp__levelling *in, int *part, eqp__levelled *result);

/* The repair alone, for any assignment: moves items to lower the largest load of the phase with most lost time, until
 * no phase improves. part: [n] */
int eqp__levelled_repair(const eqp__levelling *in, int *part, int64_t *moved);

#endif
