/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces on one target group from its list, Plummer-softened: acceleration and potential per unit mass. */
#ifndef BH_FORCE_H
#define BH_FORCE_H

#include "walk.h"

/* BH_DOUBLE: everything in double precision. BH_MIXED: coordinates relative to the middle of the targets are made in
 * double precision, interactions computed in single, sums of up to 512 of them kept in single and added up in double:
 * errors of some 1e-7 of the sum of magnitudes, far below those of the cells. What single precision cannot hold is
 * computed in double, a block of the list at a time: coordinates beyond some ten sides of the root cube, masses (but 0)
 * below 2^-70 or above 2^14 of the root's, cells nearer to the targets' bounds than 2^-12 of their size (unless eps is
 * larger); and all pairs where eps is below 2^-12 of that size: without softening near pairs decide, so that pairs are
 * all in double precision then. Units follow from the tree's box and root cell. */
typedef enum bh_precision { BH_DOUBLE, BH_MIXED } bh_precision;

/* A kernel in one precision, with its scratch; one per thread. */
typedef struct bh_kernel bh_kernel;

/* name: "plain", "avx2" (with FMA), "avx512", or NULL or "auto" for the fastest that this CPU runs; see
 * bh_kernel_list(). Free with bh_kernel_free(). EQP_ERR_UNKNOWN: not in this build; EQP_ERR_STATE: the CPU or its
 * operating system does not support it; EQP_ERR_MEMORY. Thread-safe. */
int bh_kernel_create(const char *name, bh_precision precision, bh_kernel **kernel);
void bh_kernel_free(bh_kernel *kernel);

/* Name of the chosen row, never "auto"; static storage. */
const char *bh_kernel_name(const bh_kernel *kernel);
bh_precision bh_kernel_precision(const bh_kernel *kernel);

/* The i-th name of this build, "plain" first, then ascending in speed; NULL after the last. *runs_here (NULL allowed):
 * true if this CPU supports it. */
const char *bh_kernel_list(int i, bool *runs_here);

/* Adds G times the field of the list's cells (monopole and quadrupole) and source particles at the targets.
 * With a list->cutoff above 0, source particles at that distance or farther (without softening) add nothing. In double
 * precision a pair of targets acts on each other both ways or not at all; in mixed precision the distance may round to
 * the cutoff, some 1e-7 of the targets' bounds, on one side only.
 * A cell is -G (M / s + q / (2 s^5)) with s^2 = d^2 + eps^2 and q = d.quad.d - eps^2 trace, and its gradient: the
 * second moments of a softened field have a trace, without which cells smaller than eps would be wrong by their size
 * squared. x, y, z [n]; ax, ay, az, pot [n] += . A source at distance 0 from a target adds no force, and with eps == 0
 * no potential; with eps > 0 the particle itself adds -G m / eps to the potential, which the caller takes off (see
 * bh_potential_self; in mixed precision some 1e-7 of it remains). Distances (with eps == 0) below 1e-90 count as 0.
 * The order of the sums follows from the list alone: the result does not depend on who computes it, as long as they use
 * the same kernel on the same kind of CPU (whose estimates of 1 / sqrt may differ). In mixed precision it depends on
 * the other targets, too: they are one group. O(n (cells + sources)). EQP_ERR_ARGUMENT: n < 0, G or eps not finite. */
int bh_force(bh_kernel *kernel, const bh_tree *tree, const bh_list *list, double G, double eps, int64_t n,
             const double *x, const double *y, const double *z, double *ax, double *ay, double *az, double *pot);

/* Potential of a particle of mass m at its own position in both functions here: -G m / eps, or 0 with eps == 0.
 * Subtract it to get the potential of all other particles. */
double bh_potential_self(double G, double m, double eps);

/* Direct summation over n sources at nt targets, the reference. Same conventions as bh_force(). */
void bh_direct(int64_t n, const double *x, const double *y, const double *z, const double *m, double G, double eps,
               int64_t nt, const double *tx, const double *ty, const double *tz, double *ax, double *ay, double *az,
               double *pot);

#endif
