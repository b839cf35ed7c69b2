/* SPDX-License-Identifier: BSD-3-Clause */
/* The far field of all cells, divided among ranks as far_parts.h says. Moments come in and local expansions go out by
 * items; in between columns of wave numbers travel to those who multiply them with their kernels, and back. What is
 * planned here follows from the grid and the number of ranks alone. */
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
    double *moments, *local;                  /* [items.n][cells of a plane][chunk], chunks as long as they are */
    double *planes_out, *columns_out, *plane; /* what travels to columns, and back; one plane that is put together */
    double *scratch;                          /* a cell's raw moments, or its stress; for the caller */
    double **at;                       /* [2][nchunks][planes] places of moments and of local expansions in columns */
    dd_far_run *run;                   /* [2][nchunks] */
    const void *received;              /* columns of local expansions that others sent (borrowed) */
    eqp_route *to_columns, *to_planes; /* NULL where one part computes all */
} dd_waves;

/* Collective; the same code on all ranks. *waves is unchanged on error. */
int dd_waves_create(const dd_domain *domain, const dd_medium *medium, const dd_grid *grid, dd_waves **waves);
/* NULL is legal. Collective if the plan has nodes that share memory. */
void dd_waves_free(dd_waves *waves);

/* Where an item of this rank begins in `moments` and in `local`. Local. */
double *dd_waves_moments(const dd_waves *waves, int64_t item);
double *dd_waves_local(const dd_waves *waves, int64_t item);

/* No moments anywhere. Local. */
void dd_waves_clear(dd_waves *waves);
/* What is computed in a stage. EQP_OK, EQP_ERR_MEMORY or EQP_ERR_STOPPED. Local. */
int dd_waves_compute(dd_waves *waves, int stage);
/* What travels after it: not after the last. Collective. */
int dd_waves_exchange(dd_waves *waves, int stage);

#endif
