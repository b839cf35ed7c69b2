/* SPDX-License-Identifier: BSD-3-Clause */
/* The far field: what segments do to those that are too far away to be computed pair by pair.
 *
 * The box is divided into a regular grid of cells. A cell and its 26 neighbours are near: their pairs are not this
 * file's. All other cells act by multipole moments, and so do all periodic images of all cells, the 27 near ones
 * apart. The stress of a line element (W. Cai et al., J. Mech. Phys. Solids 54 (2006) 561) is that of ten harmonic
 * potentials: with R from the source to the target, g_i = e_imk b_m dx_k and the core radius a,
 *     phi_mk = sum b_m dx_k / R,    psi = sum g . R / R + a^2/2 sum g . grad 1/R,
 *     s_ab = mu/4pi (e_ima d_i phi_mb + e_imb d_i phi_ma) + mu/(4pi (1 - nu)) (d_a d_b psi - 2 delta_ab div g/R),
 * up to (a/R)^4. About a cell's centre psi = xi . G + J, where G_i = sum g_i / R and J is harmonic. Each potential has
 * (order + 1)^2 independent derivatives; cells act on each other by a convolution over the grid, which a Fourier
 * transform over cells makes a product. Its cost is proportional to the number of cells times its logarithm.
 *
 * Where all directions are periodic the kernels are sums over the whole lattice (Ewald's method: P. P. Ewald, Ann.
 * Phys. 369 (1921) 253). Their Fourier component of wave number 0 is left out: the stress of a box, near pairs
 * included, has no mean, whatever the plastic strain. The applied stress is the mean. If some directions are free
 * and some periodic, images count up to DD_FAR_IMAGE_CELLS cells or a box away, the larger of both.
 *
 * How to use it. Sources: raw moments of a cell start from zeros, dd_far_add_segment() adds segments to them,
 * dd_far_close() makes moments of them. A plane is all cells of one x; planes are transformed along y and z
 * (dd_far_plane_forward()), which makes columns of one wave number each; columns take their kernel
 * (dd_far_column()), and planes return (dd_far_plane_inverse()). The result for a cell is opened by
 * dd_far_open() and acts on segments there by dd_far_force(). Planes, columns and runs of components are independent of
 * each other; the same moments give the same bits, whoever computes which. */
#ifndef DD_FAR_H
#define DD_FAR_H

#include "pairs.h"

#include <stdbool.h>
#include <stdint.h>

#define DD_FAR_LEAST_ORDER 2
#define DD_FAR_DEFAULT_ORDER 6
#define DD_FAR_MOST_ORDER 12
#define DD_FAR_IMAGE_CELLS 24

typedef struct dd_far dd_far;

/* Sizes of a far field. Moments and local expansions are numbered by component. */
typedef struct dd_far_sizes {
    int64_t nraw;     /* of a cell, while segments are added */
    int64_t nmoments; /* of a cell */
    int64_t nlocal;   /* of a cell: its local expansion */
    int64_t nfield;   /* of a cell: its stress as a polynomial */
    int64_t nplanes;  /* n[0] */
    int64_t ncells;   /* of a plane: n[1] n[2] */
    int64_t ncolumns; /* of wave numbers along y and z */
    int64_t nkernel;  /* numbers of a column's kernel */
} dd_far_sizes;

/* Sizes for a grid of n[0] x n[1] x n[2] cells. Local. */
void dd_far_count(const int64_t n[3], const bool periodic[3], int order, dd_far_sizes *sizes);

/* A grid of n[0] x n[1] x n[2] cells from `low`, `edge` long. In a direction that is periodic (medium->box > 0) the
 * edge is that of the box and there are 3 cells or more; a free one can have any number. Cell
 * (ix n[1] + iy) n[2] + iz. order: of the multipole moments and local expansions, DD_FAR_LEAST_ORDER to
 * DD_FAR_MOST_ORDER; the stress is a polynomial of one degree less. All is copied. EQP_OK or EQP_ERR_MEMORY. */
int dd_far_create(const dd_medium *medium, const double low[3], const double edge[3], const int64_t n[3], int order,
                  dd_far **far);
void dd_far_free(dd_far *far);

const dd_far_sizes *dd_far_sizes_of(const dd_far *far);

/* Adds a segment of a cell to the cell's raw moments [nraw], at the periodic image nearest to the cell's centre; the
 * segment may extend beyond its cell. O(order^3). */
void dd_far_add_segment(const dd_far *far, int64_t cell, const dd_segment *segment, double *raw);

/* Computes moments [nmoments] from raw ones, which are destroyed. */
void dd_far_close(const dd_far *far, double *raw, double *moments);

/* Transforms n components of a plane's cells: [ncells][n] real numbers to [ncolumns][2][n], real and imaginary parts,
 * and back. EQP_OK or EQP_ERR_MEMORY. */
int dd_far_plane_forward(const dd_far *far, int64_t n, const double *cells, double *columns);
int dd_far_plane_inverse(const dd_far *far, int64_t n, const double *columns, double *cells);

/* The kernel [nkernel] of a column. EQP_OK or EQP_ERR_MEMORY. */
int dd_far_kernel(const dd_far *far, int64_t column, double *kernel);

/* Positions of the n components from `first` on, in consecutive columns: those of plane x at at[x], for each column
 * real parts [n], then imaginary ones. */
typedef struct dd_far_run {
    int64_t first, n;
    double *const *at; /* [nplanes] (borrowed) */
} dd_far_run;

/* Local expansions of a column from its moments; the runs of each together cover all components. place: of the column
 * in the runs. EQP_OK or EQP_ERR_MEMORY. */
int dd_far_column(const dd_far *far, int64_t column, int64_t place, const double *kernel, int64_t nin,
                  const dd_far_run *in, int64_t nout, const dd_far_run *out);

/* The stress in a cell [nfield]. */
void dd_far_open(const dd_far *far, const double *local, double *field);

/* Nodal forces, on x1 and then on x2, on a segment of a cell; exact for the polynomial. */
void dd_far_force(const dd_far *far, int64_t cell, const double *field, const dd_segment *segment, double force[6]);

#endif
