/* SPDX-License-Identifier: BSD-3-Clause */
/* How the far field travels. One rank of those that have segments in a cell gets all others of the cell (see stage.h)
 * and adds up its moments: chunk by chunk they go to the ranks that transform the cell's plane (waves.h), and what
 * comes out for a cell goes to the ranks that have segments there. */
#ifndef DD_FIELD_H
#define DD_FIELD_H

#include "waves.h"

typedef struct dd_claim dd_claim;

typedef struct dd_field {
    dd_far_parts parts;
    int *home;       /* [cells] who adds a cell's moments up: of those with most of its segments the first; -1: it is
                        empty. NULL: no cells are far */
    dd_claim *claim; /* [cells] while homes are found */
    int *segments;   /* [cells] of this rank, while homes are found */
    MPI_Request request;
    int64_t nlive;
    int64_t *live; /* [nlive] cells with own segments, ascending */
    int64_t nmine;
    int64_t *mine;   /* [nmine] cells that this rank adds up, ascending */
    double *moments; /* [nmine][moments] of these */
    double *local;   /* [nlive][local expansion] */
    eqp_route *out;  /* of moments */
    eqp_route *back; /* of local expansions */
} dd_field;

/* Memory to find homes in. *field: zeroed or freed. Local. */
int dd_field_open(const dd_domain *domain, const dd_grid *grid, dd_field *field);
/* The homes are known when it ends; EQP_ERR_MEMORY may be this rank's alone then. Collective; nobody waits before. */
int dd_field_begin(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, dd_field *field);
int dd_field_end(const dd_domain *domain, const dd_grid *grid, dd_field *field);
/* The ways. Collective. */
int dd_field_plan(const dd_domain *domain, dd_field *field);
/* Collective. */
void dd_field_free(dd_field *field);

/* Moments on their way from moments[], which the caller has filled. Collective. */
int dd_field_start(dd_field *field);
/* Waits for the moments of this rank's items. Collective. */
int dd_field_take_moments(dd_field *field, dd_waves *waves);
/* Local expansions of this rank's items to where they are wanted. Collective. */
int dd_field_exchange(dd_field *field, const dd_waves *waves);

#endif
