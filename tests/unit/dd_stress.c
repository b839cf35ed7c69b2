/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_stress.h"

#include "elastic/pairs_near.h"

#include <math.h>

#define REAL double
#define MASK bool
#define LESS(a, b) ((a) < (b))
#define SELECT(mask, yes, no) ((mask) ? (yes) : (no))
#define WIDE(x) (x)
#define INVERSE(x) (1 / (x))
#define INVERSE_ROOT(x) (1 / sqrt(x))
#define LOG(x) log(x)

#include "elastic/pairs_line.h"

void dd_stress_of_segment(const dd_medium *medium, const dd_segment *segment, const double x[3], double stress[6])
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
