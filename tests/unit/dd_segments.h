/* SPDX-License-Identifier: BSD-3-Clause */
/* Stress of a segment, random segments, and forces of single pairs. */
#ifndef DD_SEGMENTS_H
#define DD_SEGMENTS_H

#include "elastic/pairs.h"
#include "elastic/pairs_near.h"
#include "unit.h"

#define REAL double
#define MASK bool
#define LESS(a, b) ((a) < (b))
#define SELECT(mask, yes, no) ((mask) ? (yes) : (no))
#define WIDE(x) (x)
#define INVERSE(x) (1 / (x))
#define INVERSE_ROOT(x) (1 / sqrt(x))
#define LOG(x) log(x)

#include "elastic/pairs_line.h"

/* Non-singular stress of a straight segment at x, in units of mu: xx yy zz yz zx xy, without periodic images. A single
 * segment's stress is defined up to terms that vanish for closed loops; this form is that of the segment forces.
 * Source: Cai et al., J. Mech. Phys. Solids 54 (2006) 561. */
static inline void dd_stress_of_segment(const dd_medium *medium, const dd_segment *segment, const double x[3],
                                        double stress[6])
{
    static const int row[6] = {0, 1, 2, 1, 2, 0}, column[6] = {0, 1, 2, 2, 0, 1};
    const double k1 = medium->mu / (8 * DD_PI), k2 = 2 * k1 / (1 - medium->nu), a2 = medium->a * medium->a;
    const dd_target s = dd_target_of(segment);
    const double *v = s.tangent, *b = s.burgers;
    double rho[3] = {x[0] - s.x1[0], x[1] - s.x1[1], x[2] - s.x1[2]}, cross[3], edge[3];

    const double foot = dd_dot(rho, v);
    for (int d = 0; d < 3; d++) {
        rho[d] -= foot * v[d];
    }
    const dd_line l = dd_line_of(-foot, s.length - foot, dd_dot(rho, rho) + a2);
    dd_cross(rho, b, cross);
    dd_cross(b, v, edge); /* = b x v: R x b = rho x b + q edge, with R = rho - q v */
    const double er = dd_dot(edge, rho), wide0 = 2 * l.k0 + a2 * l.m0, wide1 = 2 * l.k1 + a2 * l.m1;
    double screw[3], over3[3];
    for (int d = 0; d < 3; d++) {
        screw[d] = cross[d] * wide0 + edge[d] * wide1;
        over3[d] = rho[d] * l.k0 - v[d] * l.k1;
    }
    for (int k = 0; k < 6; k++) {
        const int i = row[k], j = column[k];
        const double both = rho[i] * rho[j] * l.m0 - (rho[i] * v[j] + v[i] * rho[j]) * l.m1 + v[i] * v[j] * l.m2;
        stress[k] = -k1 * (screw[i] * v[j] + v[i] * screw[j]) +
                    k2 * (er * both - edge[i] * over3[j] - over3[i] * edge[j] + (k < 3 ? er * (l.k0 + a2 * l.m0) : 0));
    }
}

/* Independent components in [-1, 1]. */
static inline void dd_draw_vector(uint64_t *state, double v[3])
{
    for (int d = 0; d < 3; d++) {
        v[d] = 2 * noise(state) - 1;
    }
}

/* Starts in a cube with that half edge and extends up to `length` in each direction. */
static inline dd_segment dd_draw_segment(uint64_t *state, double half, double length)
{
    dd_segment s;
    double span[3];

    dd_draw_vector(state, s.x1);
    dd_draw_vector(state, span);
    dd_draw_vector(state, s.burgers);
    for (int d = 0; d < 3; d++) {
        s.x1[d] *= half;
        s.x2[d] = s.x1[d] + length * span[d];
    }
    return s;
}

#define DD_MOST_SOURCES 100

typedef struct dd_sources_of_test {
    double at[9][DD_MOST_SOURCES + DD_LANES], force[6][DD_MOST_SOURCES + DD_LANES];
    dd_columns columns;
} dd_sources_of_test;

/* Sets forces to zero, and canaries behind the last one. */
static inline void dd_sources_clear(dd_sources_of_test *s)
{
    for (int k = 0; k < 9; k++) {
        s->columns.at[k] = s->at[k];
        for (int i = 0; i < DD_MOST_SOURCES + DD_LANES; i++) {
            s->at[k][i] = NAN;
        }
    }
    memset(s->force, 0, sizeof s->force);
    for (int k = 0; k < 6; k++) {
        s->columns.force[k] = s->force[k];
    }
}

static inline void dd_sources_put(dd_sources_of_test *s, int i, const dd_segment *segment)
{
    for (int d = 0; d < 3; d++) {
        s->at[d][i] = segment->x1[d];
        s->at[3 + d][i] = segment->x2[d];
        s->at[6 + d][i] = segment->burgers[d];
    }
}

static inline double dd_largest(const double x[], int n)
{
    double most = 0;

    for (int i = 0; i < n; i++) {
        most = isnan(x[i]) || isnan(most) ? NAN : fmax(most, fabs(x[i]));
    }
    return most;
}

/* Largest difference over the largest component of `expected`. */
static inline double dd_deviation(const double x[], const double expected[], int n)
{
    double difference[64];

    for (int i = 0; i < n; i++) {
        difference[i] = x[i] - expected[i];
    }
    return dd_largest(difference, n) / dd_largest(expected, n);
}

#define dd_assert_below(value, limit)                                                                                  \
    do {                                                                                                               \
        const double dd_value = (value);                                                                               \
        if (!(dd_value <= (limit))) {                                                                                  \
            fail_msg("%s is %g, more than %g", #value, dd_value, (double)(limit));                                     \
        }                                                                                                              \
    } while (0)

#endif
