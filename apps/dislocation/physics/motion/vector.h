/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of vectors for motion, besides the ones of network. */
#ifndef DD_MOTION_VECTOR_H
#define DD_MOTION_VECTOR_H

#include "network/vector.h"

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
