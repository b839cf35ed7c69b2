/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions in plain doubles that every kernel needs for nearly parallel pairs besides the formula. */
#ifndef DD_PAIRS_NEAR_H
#define DD_PAIRS_NEAR_H

#include "pairs.h"

#define DD_PI 3.14159265358979323846
#define DD_INLINE static inline __attribute__((always_inline))

/* Conditions of the near-parallel formula, see dd_parallel() in pairs_simd.h: an error of the closed form of 3e-8 by
 * that estimate; the squares of 2 lengths sqrt(e) / s and of 2 lengths of the shorter segment. */
#define DD_PARALLEL_LOSS 1e17
#define DD_PARALLEL_CROSSING 4
#define DD_PARALLEL_FAR 4

/* The same for pairs of very different lengths: squares of the ratio of lengths, and of the distance in units of the
 * shorter length. */
#define DD_LOPSIDED 1e6
#define DD_LOPSIDED_AWAY 16

/* The singularity of crossing lines matters if it is less than this number of lengths away. */
#define DD_NEAR_CROSSING 3

/* Gauss-Legendre nodes on (-1, 1) and weights; n is a multiple of 8. */
#define DD_GAUSS_MOST 64
typedef struct dd_gauss {
    int n;
    const double *x, *w;
} dd_gauss;

/* The rule for an interval whose nearest singularity lies on an ellipse around it: `sum` is the sum of its distances to
 * both ends in units of the interval's length. INFINITY gives the rule with 8 points. */
const dd_gauss *dd_gauss_for(double sum);

/* Rules of few points, [point][rule], weights 0 beyond their points: rule k if dd_gauss_few_sum[k - 1] > sum >=
 * dd_gauss_few_sum[k]; the last is for a sum below all of them, and has no points. */
#define DD_GAUSS_FEW 8
#define DD_GAUSS_FEW_RULES 6
extern const double dd_gauss_few_x[DD_GAUSS_FEW][DD_GAUSS_FEW_RULES + 1];
extern const double dd_gauss_few_w[DD_GAUSS_FEW][DD_GAUSS_FEW_RULES + 1];
extern const double dd_gauss_few_sum[DD_GAUSS_FEW_RULES];
#define DD_GAUSS_FEW_LEAST 3 /* points of rule 0; each has one more */

/* That sum for a singularity at y = at +- i up and the interval t1 to t2 of t, y = centre + height sinh(t). */
double dd_sum_of(double at, double up, double centre, double height, double t1, double t2);

/* A target's data for all of its pairs. */
typedef struct dd_target {
    double x1[3], span[3], mid[3], burgers[3], tangent[3], length, square;
} dd_target;

/* Not inlined, so that every instruction set has the same bits. */
dd_target dd_target_of(const dd_segment *segment);

static inline double dd_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void dd_cross(const double a[3], const double b[3], double c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
