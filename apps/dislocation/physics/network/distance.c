/* SPDX-License-Identifier: BSD-3-Clause */
#include "distance.h"

#include "vector.h"

/* Square of the sine of the angle below which segments count as parallel: their least distance is then at an end. */
#define PARALLEL 1e-12

double dd_point_distance2(const double point[3], const double b1[3], const double b2[3], double *t)
{
    double line[3], to_point[3], length2, at;

    dd_v3_minus(b2, b1, line);
    dd_v3_minus(point, b1, to_point);
    length2 = dd_v3_dot(line, line);
    at = length2 > 0.0 ? dd_v3_dot(to_point, line) / length2 : 0.0;
    *t = fmin(fmax(at, 0.0), 1.0);
    dd_v3_along(to_point, -*t, line, to_point);
    return dd_v3_dot(to_point, to_point);
}

typedef struct nearest {
    double distance2, s, t;
} nearest;

static void take_if_nearer(nearest *best, double distance2, double s, double t)
{
    if (distance2 < best->distance2) {
        *best = (nearest){distance2, s, t};
    }
}

double dd_segments_distance2(const double a1[3], const double a2[3], const double b1[3], const double b2[3], double *s,
                             double *t)
{
    double u[3], v[3], w[3], at, distance2;
    nearest best;

    /* The border: each end against the other segment. */
    best.s = 0.0;
    best.distance2 = dd_point_distance2(a1, b1, b2, &best.t);
    distance2 = dd_point_distance2(a2, b1, b2, &at);
    take_if_nearer(&best, distance2, 1.0, at);
    distance2 = dd_point_distance2(b1, a1, a2, &at);
    take_if_nearer(&best, distance2, at, 0.0);
    distance2 = dd_point_distance2(b2, a1, a2, &at);
    take_if_nearer(&best, distance2, at, 1.0);

    dd_v3_minus(a2, a1, u);
    dd_v3_minus(b2, b1, v);
    dd_v3_minus(b1, a1, w);
    const double uu = dd_v3_dot(u, u), vv = dd_v3_dot(v, v), uv = dd_v3_dot(u, v);
    const double uw = dd_v3_dot(u, w), vw = dd_v3_dot(v, w), det = uu * vv - uv * uv;
    if (det > PARALLEL * uu * vv) {
        const double at_a = (uw * vv - vw * uv) / det, at_b = (uw * uv - vw * uu) / det;
        if (at_a > 0.0 && at_a < 1.0 && at_b > 0.0 && at_b < 1.0) {
            double gap[3];
            dd_v3_along(w, at_b, v, gap);
            dd_v3_along(gap, -at_a, u, gap);
            take_if_nearer(&best, dd_v3_dot(gap, gap), at_a, at_b);
        }
    }
    *s = best.s;
    *t = best.t;
    return best.distance2;
}
