/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of three for the network's operations. */
#ifndef DD_VECTOR_H
#define DD_VECTOR_H

#include <math.h>
#include <string.h>

static const double dd_v3_zero[3] __attribute__((unused)) = {0.0, 0.0, 0.0};

static inline double dd_v3_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double dd_v3_length(const double a[3])
{
    return sqrt(dd_v3_dot(a, a));
}

static inline void dd_v3_cross(const double a[3], const double b[3], double c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* c = a + s b */
static inline void dd_v3_along(const double a[3], double s, const double b[3], double c[3])
{
    for (int k = 0; k < 3; k++) {
        c[k] = a[k] + s * b[k];
    }
}

static inline void dd_v3_minus(const double a[3], const double b[3], double c[3])
{
    for (int k = 0; k < 3; k++) {
        c[k] = a[k] - b[k];
    }
}

static inline void dd_v3_scale(double s, double a[3])
{
    for (int k = 0; k < 3; k++) {
        a[k] *= s;
    }
}

static inline void dd_v3_copy(double to[3], const double from[3])
{
    memcpy(to, from, 3 * sizeof *to);
}

/* ---- Functions of vectors for motion, besides the ones of network. */

/* to += factor * a. */
static inline void dd__add(double to[3], double factor, const double a[3])
{
    dd_v3_along(to, factor, a, to);
}

/* unit = a / |a|, which may be the same array; the length comes back. A vector of no length gives 0. */
static inline double dd__unit(const double a[3], double unit[3])
{
    double length = dd_v3_length(a);

    for (int i = 0; i < 3; i++) {
        unit[i] = length > 0.0 ? a[i] / length : 0.0;
    }
    return length;
}

#endif
