/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of the force, behind one table: a version for another instruction set is one more row. */
#ifndef BH_KERNEL_H
#define BH_KERNEL_H

#include <stdint.h>

/* Sources in a block: a block of either kind takes 16 to 20 KiB, so that it stays in a 32 KiB L1 cache for all targets.
 */
#define BH_BLOCK_POINTS 512
#define BH_BLOCK_BODIES 256

/* Source i adds to partial sum i mod BH_LANES, so that the sums are the same with every vector width up to this. */
#define BH_LANES 8

/* Squared (softened) distances up to this count as 0: it keeps 1/s^3 finite when eps is 0. */
#define BH_LEAST_SQUARE 1e-180

typedef struct bh_points {
    double x[BH_BLOCK_POINTS], y[BH_BLOCK_POINTS], z[BH_BLOCK_POINTS], m[BH_BLOCK_POINTS];
} bh_points;

/* Cells as monopole and traceless quadrupole about (x, y, z). */
typedef struct bh_bodies {
    double x[BH_BLOCK_BODIES], y[BH_BLOCK_BODIES], z[BH_BLOCK_BODIES], m[BH_BLOCK_BODIES];
    double qxx[BH_BLOCK_BODIES], qxy[BH_BLOCK_BODIES], qxz[BH_BLOCK_BODIES];
    double qyy[BH_BLOCK_BODIES], qyz[BH_BLOCK_BODIES], qzz[BH_BLOCK_BODIES];
    double trace[BH_BLOCK_BODIES];
} bh_bodies;

/* Targets and where their field is added. */
typedef struct bh_targets {
    int64_t n;
    const double *x, *y, *z;
    double *ax, *ay, *az, *pot;
} bh_targets;

/* n is a multiple of BH_LANES; what fills the last lanes has mass (and quadrupole) 0. */
typedef struct bh_kernel_row {
    const char *name;
    void (*points)(const bh_points *block, int64_t n, double G, double eps2, const bh_targets *targets);
    void (*bodies)(const bh_bodies *block, int64_t n, double G, double eps2, const bh_targets *targets);
} bh_kernel_row;

/* Row 0, "plain", runs everywhere. */
extern const bh_kernel_row bh_kernel_table[];
extern const int bh_kernel_table_size;

#endif
