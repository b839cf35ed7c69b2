/* SPDX-License-Identifier: BSD-3-Clause */
/* Division of the far field among ranks, independent of the assignment of nodes. Three stages of work: planes of cells
 * forward, columns of wave numbers, planes back. A plane's components are divided into chunks, so that more ranks than
 * planes have work; a plane and a chunk are an item. The first parts that have enough cells compute, each a
 * range of items and a range of columns. */
#ifndef DD_FAR_PARTS_H
#define DD_FAR_PARTS_H

#include "../../physics/elastic/far.h"
#include "../stage/grid.h"

typedef struct dd_far_parts {
    dd_far_sizes sizes;
    int nparts; /* parts that compute; 0: nothing is far */
    int nchunks;
} dd_far_parts;

enum { DD_FAR_FORWARD, DD_FAR_COLUMNS, DD_FAR_BACK, DD_FAR_STAGES };

typedef struct dd_far_slice {
    int64_t first, n;
} dd_far_slice;

/* Divides the far field of a grid among nparts parts. Local. */
void dd_far_parts_init(dd_far_parts *parts, const dd_grid *grid, int nparts);

/* The items, plane x nchunks + chunk, and the columns of a part; empty for a part that does not compute. Local. */
dd_far_slice dd_far_parts_items(const dd_far_parts *parts, int part);
dd_far_slice dd_far_parts_columns(const dd_far_parts *parts, int part);
/* The part of an item. Local. */
int dd_far_parts_owner(const dd_far_parts *parts, int64_t item);
/* Components of a chunk, out of all moments or all numbers of a local expansion. Local. */
dd_far_slice dd_far_parts_chunk(const dd_far_parts *parts, int64_t ncomponents, int64_t chunk);
/* Work of a part in a stage, in units of the work of one cell in all stages. Local. */
int64_t dd_far_parts_work(const dd_far_parts *parts, int part, int stage);

#endif
