/* SPDX-License-Identifier: BSD-3-Clause */
/* Straight dislocation segments and the forces between them. Lengths in units of the Burgers magnitude b, the shear
 * modulus in any unit of stress [S]: forces come in [S] b^2, energies in [S] b^3. */
#ifndef DD_SEGMENT_H
#define DD_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

/* An isotropic medium and its boundaries. */
typedef struct dd_medium {
    double mu;     /* shear modulus, > 0 */
    double nu;     /* Poisson's ratio, -1 < nu < 0.5 */
    double a;      /* core radius, > 0 */
    double core;   /* factor of the core energy, in the unit of mu; mu/4pi ln(a/0.1) by default */
    double box[3]; /* edges of a periodic box; 0: free in that direction */
} dd_medium;

/* Sense from x1 to x2; burgers belongs to that sense. */
typedef struct dd_segment {
    double x1[3], x2[3], burgers[3];
} dd_segment;

/* Many segments, column by column, so that kernels read them side by side. Columns are readable (and forces writable)
 * for DD_LANES places beyond the last segment. */
#define DD_LANES 8
typedef struct dd_columns {
    double *at[9];    /* x1 y1 z1, x2 y2 z2, burgers x y z */
    double *force[6]; /* on the first ends x y z, on the second ends x y z: kernels add */
} dd_columns;

/* Consecutive segments of the columns. */
typedef struct dd_run {
    int64_t first, n;
} dd_run;

/* Computed pairs: near-parallel pairs take another formula and several times the time. */
typedef struct dd_pair_counts {
    int64_t general, parallel;
} dd_pair_counts;

#endif
