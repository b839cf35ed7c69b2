/* SPDX-License-Identifier: BSD-3-Clause */
/* The far field of all cells, divided among ranks by dd_far_parts. Moments enter and local expansions leave by items;
 * in between, columns of wave numbers travel to the ranks that multiply them with their kernels, and back. The plan
 * depends only on the grid and the number of ranks. */
#ifndef DD_WAVES_H
#define DD_WAVES_H

#include "../../physics/elastic/far.h"
#include "../stage/grid.h"

/* Division of the far field among ranks, independent of the assignment of nodes. Work has three stages: planes of cells
 * forward, columns of wave numbers, planes back. A plane's components are divided into chunks, so that more ranks than
 * planes have work; a plane and a chunk form an item. A part computes a range of items and a range of
 * columns; parts beyond the number of cells that is worth their messages compute nothing. */

typedef struct dd_far_parts {
    dd_far_sizes sizes;
    int nparts; /* parts that compute; 0: nothing is far */
    int nchunks;
} dd_far_parts;

enum { DD_FAR_FORWARD, DD_FAR_COLUMNS, DD_FAR_BACK, DD_FAR_STAGES };

typedef struct dd_far_slice {
    int64_t first, n;
} dd_far_slice;

typedef struct dd_waves {
    int64_t n[3]; /* of the grid */
    dd_far *far;
    dd_far_parts parts;
    int rank;
    dd_far_slice items, columns;              /* of this rank */
    double *kernel;                           /* [columns.n][nkernel] */
    double *moments, *local;                  /* [items.n][cells of a plane][components of the chunk] */
    double *planes_out, *columns_out, *plane; /* sent to columns, and back; one plane being joined */
    eqp_node *node;       /* moments, local, planes_out and columns_out are those of all of its ranks, in their window
                             (borrowed); NULL: of this rank alone */
    double *scratch;      /* a cell's raw moments or stress; for the caller */
    double **at;          /* [2][nchunks][planes] places of moments and of local expansions in columns */
    dd_far_run *run;      /* [2][nchunks] */
    const void *received; /* received columns of local expansions (borrowed) */
    eqp_route *to_columns, *to_planes; /* NULL if one part computes all */
} dd_waves;

/* Collective; the same code on all ranks. *waves is unchanged on error. */
int dd_waves_create(const dd_domain *domain, const dd_medium *medium, const dd_grid *grid, dd_waves **waves);
/* NULL is legal. Collective if the plan has nodes that share memory. */
void dd_waves_free(dd_waves *waves);

/* Numbers of the far field of all ranks that share memory. Local. */
int64_t dd_waves_shared(const dd_far_parts *parts);
/* From now on these numbers are in this memory (borrowed), if the waves were created with a window. Local. */
void dd_waves_share(dd_waves *waves, double *memory);

/* Start of an item of this rank in `moments` or in `local`; of any rank if these are shared. Local. */
double *dd_waves_item(const dd_waves *waves, bool local, int64_t item);

/* Computes a stage. EQP_OK, EQP_ERR_MEMORY or EQP_ERR_STOPPED. Local. */
int dd_waves_compute(dd_waves *waves, int stage);
/* Sends the results of any stage but the last, unless they are shared. Collective. */
int dd_waves_exchange(dd_waves *waves, int stage);

/* Divides the far field of a grid among nparts parts. Local. */
void dd_far_parts_init(dd_far_parts *parts, const dd_grid *grid, int nparts);

/* The items, plane x nchunks + chunk, and the columns of a part; empty for a part that does not compute. Local. */
dd_far_slice dd_far_parts_items(const dd_far_parts *parts, int part);
dd_far_slice dd_far_parts_columns(const dd_far_parts *parts, int part);
int dd_far_parts_owner(const dd_far_parts *parts, int64_t item);
/* Components of a chunk, out of all moments or all numbers of a local expansion. Local. */
dd_far_slice dd_far_parts_chunk(const dd_far_parts *parts, int64_t ncomponents, int64_t chunk);
/* Work of a part in a stage, in units of the work of one cell in all stages. Local. */
int64_t dd_far_parts_work(const dd_far_parts *parts, int part, int stage);

/* ---- Exchange of the far field. One of the ranks with segments in a cell receives all of the cell's segments (see
 * stage.h) and sums its moments. The moments go in chunks to the ranks that transform the cell's plane; the local
 * expansion goes to the ranks with segments in the cell. */

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
/* The same by the segments of all ranks: count [ranks][cells]. Local; EQP_OK or EQP_ERR_MEMORY. */
int dd_field_count(const dd_domain *domain, const dd_grid *grid, const int *count, dd_field *field);
/* Allocates moments and local expansions. Local. */
int dd_field_create_numbers(dd_field *field);
/* The same, and plans the routes. Collective. */
int dd_field_plan(const dd_domain *domain, dd_field *field);
/* Collective. */
void dd_field_free(dd_field *field);

/* Starts to send the moments, or puts them where they are shared. Collective. */
int dd_field_give_moments(dd_field *field, dd_waves *waves);
/* Receives the moments of this rank's items, unless they are shared. Collective. */
int dd_field_take_moments(dd_field *field, dd_waves *waves);
/* Sends local expansions of this rank's items to the ranks that need them; shared ones are copied. Collective. */
int dd_field_exchange(dd_field *field, const dd_waves *waves);

#endif
