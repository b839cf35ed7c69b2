/* SPDX-License-Identifier: BSD-3-Clause */
/* Three numbers. */
#ifndef DD_MOTION_VECTOR_H
#define DD_MOTION_VECTOR_H

#include <math.h>

static inline double dd__dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double dd__length(const double a[3])
{
    return sqrt(dd__dot(a, a));
}

static inline void dd__cross(const double a[3], const double b[3], double c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* to += factor * a. */
static inline void dd__add(double to[3], double factor, const double a[3])
{
    for (int i = 0; i < 3; i++) {
        to[i] += factor * a[i];
    }
}

/* unit = a / |a|; its length comes back. A vector of no length stays as it is. */
static inline double dd__unit(const double a[3], double unit[3])
{
    double length = dd__length(a);

    for (int i = 0; i < 3; i++) {
        unit[i] = length > 0.0 ? a[i] / length : 0.0;
    }
    return length;
}

#endif
