/* SPDX-License-Identifier: BSD-3-Clause */
/* Who computes the far field, whatever the assignment of nodes: target cells in runs, source cells in slabs of whole
 * rows, a part for each run and slab. A part then gets the moments of one slab only, and a cell's field is the sum of
 * what the slabs do to it. */
#ifndef DD_FAR_PARTS_H
#define DD_FAR_PARTS_H

#include "grid.h"

typedef struct dd_far_parts {
    int64_t ncells, nrows; /* rows along z */
    int runs, slabs;       /* part run x slabs + slab computes; those behind the last do not. 0: no cells are far */
} dd_far_parts;

/* What one part computes. */
typedef struct dd_far_piece {
    int64_t cell, ncells;     /* targets */
    int64_t row, nrows;       /* sources */
    int64_t source, nsources; /* the cells of these rows */
} dd_far_piece;

/* The division whose expected cost for a part is least: work, moments in, fields out to where segments live. O(rows).
 * Local. */
void dd_far_parts_init(dd_far_parts *parts, const dd_grid *grid, int nparts);

/* false: the part computes nothing, and the piece is empty. Local. */
bool dd_far_parts_piece(const dd_far_parts *parts, int part, dd_far_piece *piece);

/* The run and the slab that a cell lies in. Local. */
int dd_far_parts_run(const dd_far_parts *parts, int64_t cell);
int dd_far_parts_slab(const dd_far_parts *parts, int64_t cell);

#endif
