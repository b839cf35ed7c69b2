/* SPDX-License-Identifier: BSD-3-Clause */
/* The far field of all cells, divided among ranks as far_parts.h says. Moments come in and local expansions go out by
 * items; in between, columns of wave numbers travel to the ranks that multiply them with their kernels, and back. The
 * plan depends on the grid and the number of ranks alone. */
#ifndef DD_WAVES_H
#define DD_WAVES_H

#include "far_parts.h"

#include <equipoise/more/route.h>

typedef struct dd_waves {
    int64_t n[3]; /* the grid's */
    dd_far *far;
    dd_far_parts parts;
    int rank;
    dd_far_slice items, columns;              /* of this rank */
    double *kernel;                           /* [columns.n][nkernel] */
    double *moments, *local;                  /* [items.n][cells of a plane][components of the chunk] */
    double *planes_out, *columns_out, *plane; /* sent to columns, and back; one plane being joined */
    double *scratch;                          /* a cell's raw moments or stress; for the caller */
    double **at;                       /* [2][nchunks][planes] places of moments and of local expansions in columns */
    dd_far_run *run;                   /* [2][nchunks] */
    const void *received;              /* received columns of local expansions (borrowed) */
    eqp_route *to_columns, *to_planes; /* NULL if one part computes all */
} dd_waves;

/* Collective; the same code on all ranks. *waves is unchanged on error. */
int dd_waves_create(const dd_domain *domain, const dd_medium *medium, const dd_grid *grid, dd_waves **waves);
/* NULL is legal. Collective if the plan has nodes that share memory. */
void dd_waves_free(dd_waves *waves);

/* Start of an item of this rank in `moments` and in `local`. Local. */
double *dd_waves_moments(const dd_waves *waves, int64_t item);
double *dd_waves_local(const dd_waves *waves, int64_t item);

/* Clears the moments. Local. */
void dd_waves_clear(dd_waves *waves);
/* Computes a stage. EQP_OK, EQP_ERR_MEMORY or EQP_ERR_STOPPED. Local. */
int dd_waves_compute(dd_waves *waves, int stage);
/* Sends the results of a stage, except the last. Collective. */
int dd_waves_exchange(dd_waves *waves, int stage);

#endif
