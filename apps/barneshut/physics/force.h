/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces on one target group from its list, Plummer-softened: acceleration and potential per unit mass. */
#ifndef BH_FORCE_H
#define BH_FORCE_H

#include "walk.h"

/* Scratch of the kernels; one per thread. */
typedef struct bh_kernel bh_kernel;
int bh_kernel_create(bh_kernel **kernel);
void bh_kernel_free(bh_kernel *kernel);

/* Adds G times the field of the list's cells (monopole and quadrupole) and source particles at the targets.
 * A cell is -G (M / s + q / (2 s^5)) with s^2 = d^2 + eps^2 and q = d.quad.d - eps^2 trace, and its gradient: the second
 * moments of a softened field have a trace, without which cells smaller than eps would be wrong by their size squared.
 * x, y, z [n]; ax, ay, az, pot [n] += . A source at distance 0 from a target adds no force, and with eps == 0 no
 * potential; with eps > 0 the particle itself adds -G m / eps to the potential, which the caller takes off (see
 * bh_potential_self). Distances (with eps == 0) below 1e-90 count as 0. The order of the sums follows from the list
 * alone: the result does not depend on who computes it. O(n (cells + sources)). EQP_ERR_ARGUMENT: n < 0, G or eps not
 * finite. */
int bh_force(bh_kernel *kernel, const bh_tree *tree, const bh_list *list, double G, double eps, int64_t n,
             const double *x, const double *y, const double *z, double *ax, double *ay, double *az, double *pot);

/* What the two functions here add to the potential of a particle of mass m for itself: -G m / eps, or 0 with eps == 0.
 * Subtract it for the potential of all others. */
double bh_potential_self(double G, double m, double eps);

/* Direct summation over n sources at nt targets, the reference. Same conventions. */
void bh_direct(int64_t n, const double *x, const double *y, const double *z, const double *m, double G, double eps,
               int64_t nt, const double *tx, const double *ty, const double *tz, double *ax, double *ay, double *az,
               double *pot);

#endif
