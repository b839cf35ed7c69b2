/* SPDX-License-Identifier: BSD-3-Clause */
/* Levelled curves: parts that are even in every phase of a cycle. */
#ifndef EQUIPOISE_METHODS_LEVELS_LEVELLED_H
#define EQUIPOISE_METHODS_LEVELS_LEVELLED_H

#include <stdint.h>

/* Items in curve order, their loads, and what is asked for. All borrowed. */
typedef struct eqp__levelling {
    int64_t n;
    const double *weight; /* [n] what the plain curve would balance */
    const double *load;   /* [n][nphases] */
    int nphases;
    const double *times; /* [nphases] or NULL */
    int nparts;
    const double *share;  /* [nparts] or NULL */
    double imbalance_tol; /* imbalance of a phase that is good enough */
} eqp__levelling;

/* What came out. */
typedef struct eqp__levelled {
    double unrepaired; /* cycle efficiency before items moved */
    double efficiency; /* of the returned parts */
    int64_t moved;     /* items that the repair moved */
    int curve;         /* 1: the plain weighted curve was better, and is what is returned */
} eqp__levelled;

/* Assigns. A phase is the deeper the fewer items have load in it, and an item belongs to the bin of its deepest phase.
 * From the deepest bin to the shallowest, each is cut along the curve into a run for every part, so that the parts
 * become even in the bin's phase, with what they have of it from deeper bins. A run goes to the part with whose runs it
 * has the largest part of the curve in common. Items with load in several phases of uneven proportions leave some
 * phases uneven: those are levelled by moving items, which never makes the largest load of any phase larger. Parts
 * without items get one where shares are equal and items enough. Local, deterministic, about O(n nphases + nphases
 * nparts log n + moved nparts). part: [n]; unchanged on error. EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT. */
int eqp__levelled_assign(const eqp__levelling *in, int *part, eqp__levelled *result);

/* The repair alone: moves items of any assignment so that the phase that loses most gets a smaller largest load, until
 * none can. part: [n] */
int eqp__levelled_repair(const eqp__levelling *in, int *part, int64_t *moved);

#endif
