/* SPDX-License-Identifier: BSD-3-Clause */
/* The far field: what segments do to those that are too far away to be computed pair by pair.
 *
 * The box is divided into a regular grid of cells. A cell and its 26 neighbours are near: their pairs are not this
 * file's. Every other cell acts by two moments of its segments about its centre, sum b_m dx_k (9 numbers) and sum
 * b_m dx_k (x_l - centre_l) (27), with dx = x2 - x1 and x the segment's middle: the stress of a line element (W. Cai et
 * al., J. Mech. Phys. Solids 54 (2006) 561) and its derivatives, to the first order in the extent of the source and in
 * that of the target. In a periodic direction each cell acts once, from its nearest image; one that is exactly half a
 * box away acts half from either side.
 *
 * How to use it: segments are added to moments that start as zeros, dd_far_set_moments() takes the sums,
 * dd_far_stress() gives the field in a cell, dd_far_force() what it does to a segment there. The same moments give the
 * same bits on every rank. */
#ifndef DD_FAR_H
#define DD_FAR_H

#include "segment.h"

#include <stdbool.h>
#include <stdint.h>

#define DD_FAR_MOMENTS 36 /* of a cell: [m][k], then [m][k][l] */
#define DD_FAR_FIELD 24   /* stress xx yy zz yz xz xy, then its derivatives by x, by y, by z */

/* A grid, its kernels and its moments. Memory: less than 1 kB for each cell of a large grid that is periodic along x
 * and y, less than 2 kB for each of a free one. */
typedef struct dd_far dd_far;

/* A grid of n[0] x n[1] x n[2] cells from `low`, `edge` long; without moments. In a direction that is periodic
 * (medium-> box > 0) the edge is that of the box and there are 3 cells or more; a free one can have any number. Cell
 * (ix n[1] + iy) n[2] + iz. All is copied. EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_OVERFLOW, EQP_ERR_MEMORY; *far is
 * unchanged on error. */
int dd_far_create(const dd_medium *medium, const double low[3], const double edge[3], const int64_t n[3], dd_far **far);
void dd_far_free(dd_far *far);

/* Numbers of all moments, [cells][DD_FAR_MOMENTS]. */
int64_t dd_far_moments_size(const dd_far *far);

/* Adds a segment of a cell to the cell's moments. In periodic directions the image next to the cell's
 * centre is taken; the segment may reach out of its cell. */
void dd_far_add_segment(const dd_far *far, int64_t cell, const dd_segment *segment, double moment[DD_FAR_MOMENTS]);

/* Takes moments (copied) for dd_far_stress(). O(cells). */
void dd_far_set_moments(dd_far *far, const double *moments);

/* Those of consecutive cells only, moments [count][DD_FAR_MOMENTS]; others stay. */
void dd_far_set_run(dd_far *far, int64_t cell, int64_t count, const double *moments);

/* Whether two cells are computed pair by pair; a cell is near to itself. */
bool dd_far_is_near(const dd_far *far, int64_t a, int64_t b);

/* Number of far cells that act on a cell. */
int64_t dd_far_count(const dd_far *far, int64_t cell);

/* Of these, those in some consecutive rows of n[2] cells each. */
int64_t dd_far_count_rows(const dd_far *far, int64_t cell, int64_t row, int64_t nrows);

/* Stress at a cell's centre and its gradient, in the unit of mu and in that by b. O(cells); changes nothing. */
void dd_far_stress(const dd_far *far, int64_t cell, double field[DD_FAR_FIELD]);

/* The same for consecutive cells, first cell to first cell + count - 1, into field [count][DD_FAR_FIELD], with the same
 * bits. Cells of a column share tables and weights while these are in near caches: 1.1 to 1.4 times as quick, measured
 * with 4^3 to 10^3 cells. */
void dd_far_stress_run(const dd_far *far, int64_t cell, int64_t count, double *field);

/* What the cells in some consecutive rows of n[2] cells each do to these: the sum over all rows is the whole field, but
 * for rounding. Only moments of those rows need to be set. */
void dd_far_stress_rows(const dd_far *far, int64_t row, int64_t nrows, int64_t cell, int64_t count, double *field);

/* Nodal forces, on x1 and then on x2, on a segment of a cell: exact for a stress that is linear along it. */
void dd_far_force(const dd_far *far, int64_t cell, const double field[DD_FAR_FIELD], const dd_segment *segment,
                  double force[6]);

#endif
