/* SPDX-License-Identifier: BSD-3-Clause */
/* How near two segments come. Pure geometry: the caller chooses the periodic images. */
#ifndef DD_DISTANCE_H
#define DD_DISTANCE_H

#include <stdbool.h>

/* True if two segments are certainly farther apart than `reach`: the balls around them are farther apart. `between`:
 * from one middle to the other by the nearest image; half1, half2: half lengths. No branches: loops over candidates
 * vectorise. */
static inline bool dd_segments_are_far(const double between[3], double half1, double half2, double reach)
{
    const double sum = half1 + half2 + reach;

    return between[0] * between[0] + between[1] * between[1] + between[2] * between[2] > sum * sum;
}

/* Square of the least distance of two segments a1 - a2 and b1 - b2, and where it is: a1 + s (a2 - a1) and
 * b1 + t (b2 - b1), 0 <= s, t <= 1. Where many pairs of points come equally near (parallel segments) one of them.
 * Segments without length are points. The stationary point of the quadratic form in s and t, else the least value on
 * the border of the square (V. J. Lumelsky, Inf. Process. Lett. 21 (1985) 55). */
double dd_segments_distance2(const double a1[3], const double a2[3], const double b1[3], const double b2[3], double *s,
                             double *t);

/* The same for a point and a segment b1 - b2. */
double dd_point_distance2(const double point[3], const double b1[3], const double b2[3], double *t);

#endif
