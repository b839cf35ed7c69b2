/* SPDX-License-Identifier: BSD-3-Clause */
/* Who computes the far field of which cells: what all columns of sources do to all cells, cell by cell, dealt out
 * evenly. So there may be more ranks than cells, and none has a whole cell more to do than others. */
#ifndef DD_FAR_SLICE_H
#define DD_FAR_SLICE_H

#include "../physics/elastic/far.h"

/* Of one cell. */
typedef struct dd_far_piece {
    int64_t cell;
    int64_t column, count; /* of sources */
} dd_far_piece;

/* A part's pieces: n of them, of consecutive cells, the first and the last maybe of a part of their sources. */
typedef struct dd_far_slice {
    const dd_far *far; /* borrowed */
    int64_t n;
    int64_t begin, end; /* columns, over all cells */
} dd_far_slice;

dd_far_slice dd_far_slice_of(const dd_far *far, int64_t ncells, int part, int nparts);

/* The i-th piece, 0 to n - 1. */
dd_far_piece dd_far_slice_piece(const dd_far_slice *slice, int64_t i);

/* Far cells that act in all of it. O(n). */
int64_t dd_far_slice_count(const dd_far_slice *slice);

/* Fields of all pieces: [n][DD_FAR_FIELD]. */
void dd_far_slice_stress(const dd_far_slice *slice, double *field);

#endif
