/* SPDX-License-Identifier: BSD-3-Clause */
/* How the far field travels. One rank of those that have segments in a cell gets all others of the cell (see stage.h)
 * and adds up its moments: they go to the ranks that compute with its slab of sources (far_parts.h), and what these
 * make of them for a cell goes to the ranks that have segments there, who add the slabs up. */
#ifndef DD_FIELD_H
#define DD_FIELD_H

#include "../../physics/elastic/far.h"
#include "far_parts.h"

#include <equipoise/route.h>

typedef struct dd_claim dd_claim;

typedef struct dd_field {
    dd_far_parts parts;
    dd_far_piece piece; /* of this rank */
    int *home;          /* [cells] who adds a cell's moments up: of those with most of its segments the first; -1: it is
                           empty. NULL: no cells are far */
    dd_claim *claim;    /* [cells] while homes are found */
    int *segments;      /* [cells] of this rank, while homes are found */
    MPI_Request request;
    int64_t nlive;
    int64_t *live; /* [nlive] cells with own segments, ascending */
    int64_t nmine;
    int64_t *mine;   /* [nmine] cells that this rank adds up, ascending */
    double *own;     /* [nmine][DD_FAR_MOMENTS] of these */
    double *moments; /* [piece.nsources][DD_FAR_MOMENTS] */
    double *made;    /* [piece.ncells][DD_FAR_FIELD] this rank's part of the field */
    double *field;   /* [nlive][DD_FAR_FIELD] the whole one */
    eqp_route *out;  /* of moments */
    eqp_route *back; /* of fields */
} dd_field;

/* Memory to find homes in. *field: zeroed or freed. Local. */
int dd_field_open(const dd_domain *domain, const dd_grid *grid, dd_field *field);
/* The homes are known when it ends; EQP_ERR_MEMORY may be this rank's alone then. Collective; nobody waits before. */
int dd_field_begin(const dd_domain *domain, const dd_grid *grid, dd_field *field);
int dd_field_end(const dd_domain *domain, const dd_grid *grid, dd_field *field);
/* The ways. Collective. */
int dd_field_plan(const dd_domain *domain, dd_field *field);
/* Collective. */
void dd_field_free(dd_field *field);

/* Moments on their way from own[], which the caller has filled. Collective. */
int dd_field_start(dd_field *field);
/* Waits for the moments that this rank needs and sets them. Collective. */
int dd_field_take_moments(dd_field *field, dd_far *far);
/* What this rank makes of them. EQP_OK or EQP_ERR_STOPPED. Local. */
int dd_field_compute(dd_field *field, const dd_far *far);
/* All that others have made, to where it is wanted. Collective. */
int dd_field_exchange(dd_field *field);

#endif
