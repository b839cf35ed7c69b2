/* SPDX-License-Identifier: BSD-3-Clause */
/* Items of all ranks on rank 0, for what one rank does for all. */
#ifndef EQUIPOISE_PAR_GATHERED_H
#define EQUIPOISE_PAR_GATHERED_H

#include "comm/collect.h"

#include <equipoise/balance.h>
#include <equipoise/more/assign.h>

#include <stdbool.h>

/* On other ranks than 0 the arrays are empty. */
typedef struct eqp__gathered {
    eqp__collect way;
    int64_t n, npins;   /* items and pins here */
    bool has_pins;      /* the same on all ranks */
    double *weight;     /* [n] */
    int *part;          /* [n] */
    double *point;      /* [n][3], or NULL: see eqp__gathered_points() */
    double *phase_load; /* [n][nphases], or NULL: see eqp__gathered_phases() */
    int64_t *pin_first; /* [n + 1] */
    int64_t *pin;       /* [npins] */
    double *pin_weight; /* [npins] or NULL */
} eqp__gathered;

/* Gathers weights, parts, and the pins if there are not too many. Collective; closed by the caller, also after an
 * error. Start from {0}. */
int eqp__gathered_open(MPI_Comm comm, const eqp_balance_items *items, const int *part, eqp__gathered *g);

/* Gathers the positions, too. Collective. */
int eqp__gathered_points(eqp__gathered *g, const eqp_balance_items *items);

/* Gathers the loads of phases, too. Collective. */
int eqp__gathered_phases(eqp__gathered *g, const eqp_balance_items *items, int nphases);

/* The pins as a hypergraph, each with the largest cost that is named for it; *graph stays as it is where there are
 * none. Local. */
int eqp__gathered_graph(const eqp__gathered *g, eqp_hypergraph **graph);

/* Agrees on a code of rank 0, and sends its parts back to the n items of each rank. Collective. */
int eqp__gathered_return(eqp__gathered *g, int code, int64_t n, int *part);

void eqp__gathered_close(eqp__gathered *g);

#endif
