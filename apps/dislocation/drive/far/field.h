/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchange of the far field. One of the ranks with segments in a cell receives all of the cell's segments (see stage.h)
 * and sums its moments. The moments go in chunks to the ranks that transform the cell's plane (waves.h); the local
 * expansion goes to the ranks with segments in the cell. */
#ifndef DD_FIELD_H
#define DD_FIELD_H

#include "waves.h"

typedef struct dd_claim dd_claim;

typedef struct dd_field {
    dd_far_parts parts;
    int *home; /* [cells] rank that sums a cell's moments: the first one with the most of its segments; -1: empty cell.
                  NULL: no far cells */
    dd_claim *claim; /* [cells] while homes are determined */
    int *segments;   /* [cells] of this rank, while homes are determined */
    MPI_Request request;
    int64_t nlive;
    int64_t *live; /* [nlive] cells with own segments, ascending */
    int64_t nmine;
    int64_t *mine;   /* [nmine] cells that this rank sums, ascending */
    double *moments; /* [nmine][moments] of these cells */
    double *local;   /* [nlive][local expansion] */
    eqp_route *out;  /* of moments */
    eqp_route *back; /* of local expansions */
} dd_field;

/* Allocates memory for homes. *field: zeroed or freed. Local. */
int dd_field_open(const dd_domain *domain, const dd_grid *grid, dd_field *field);
/* begin and end find the homes without waiting in between; end may return EQP_ERR_MEMORY on this rank alone. cell: [n]
 * of the own segments. Collective. */
int dd_field_begin(const dd_domain *domain, int64_t n, const int64_t *cell, const dd_grid *grid, dd_field *field);
int dd_field_end(const dd_domain *domain, const dd_grid *grid, dd_field *field);
/* Plans the routes. Collective. */
int dd_field_plan(const dd_domain *domain, dd_field *field);
/* Collective. */
void dd_field_free(dd_field *field);

/* Receives the moments of this rank's items. Collective. */
int dd_field_take_moments(dd_field *field, dd_waves *waves);
/* Sends local expansions of this rank's items to the ranks that need them. Collective. */
int dd_field_exchange(dd_field *field, const dd_waves *waves);

#endif
