/* SPDX-License-Identifier: BSD-3-Clause */
/* H. Akima, "A new method of interpolation and smooth curve fitting based on local procedures", J. ACM 17 (1970) 589:
 * the slope at a knot is a mean of the slopes of the two adjacent pieces, each weighted by the change of slope on the
 * opposite side.
 *
 * Clarke 2011, section 6.2, adds the ends (0, first speed) and (n, last speed), and doubles end values where there are
 * fewer than five points. That makes the curve constant outside; slopes of 0 beyond both ends do the same for any
 * number of points. */
#include "models/curve.h"

#include <math.h>

/* Slopes that differ by less than this fraction of the largest are equal up to rounding. */
#define SAME_SLOPE 1e-9
/* A cubic with end slopes within -3 s / h to 3 s / h stays above 0; this is a little less, so that it stays well above:
 * a tenth of the lower of its ends. */
#define POSITIVE 2.7

/* The pieces beyond both ends are flat. */
static double find_slope(const eqp__curve *c, int left)
{
    return left < 0 || left + 1 >= c->n ? 0.0 : (c->s[left + 1] - c->s[left]) / (c->x[left + 1] - c->x[left]);
}

static double find_knot_slope(const eqp__curve *c, int i)
{
    const double m0 = find_slope(c, i - 2), m1 = find_slope(c, i - 1), m2 = find_slope(c, i), m3 = find_slope(c, i + 1);
    const double w1 = fabs(m3 - m2), w2 = fabs(m1 - m0);
    const double largest = fmax(fmax(fabs(m0), fabs(m1)), fmax(fabs(m2), fabs(m3)));

    return w1 + w2 <= SAME_SLOPE * largest ? 0.5 * (m1 + m2) : (w1 * m1 + w2 * m2) / (w1 + w2);
}

static void sort_points(eqp__curve *c, int npoints, const eqp__speed_point *point)
{
    c->n = 0;
    for (int i = 0; i < npoints; i++) {
        int j = c->n++;

        for (; j > 0 && c->x[j - 1] > point[i].size; j--) {
            c->x[j] = c->x[j - 1];
            c->s[j] = c->s[j - 1];
        }
        c->x[j] = point[i].size;
        c->s[j] = point[i].speed;
    }
}

static void add_ends(eqp__curve *c, double n)
{
    for (int j = c->n++; j > 0; j--) {
        c->x[j] = c->x[j - 1];
        c->s[j] = c->s[j - 1];
    }
    c->x[0] = 0.0;
    c->s[0] = c->s[1];
    if (n > c->x[c->n - 1]) {
        c->x[c->n] = n;
        c->s[c->n] = c->s[c->n - 1];
        c->n++;
    }
}

void eqp__curve_smooth(eqp__curve *curve)
{
    curve->smooth = true;
    for (int i = 0; i < curve->n; i++) {
        double d = find_knot_slope(curve, i);

        if (i > 0) {
            d = fmin(d, POSITIVE * curve->s[i] / (curve->x[i] - curve->x[i - 1]));
        }
        if (i + 1 < curve->n) {
            d = fmax(d, -POSITIVE * curve->s[i] / (curve->x[i + 1] - curve->x[i]));
        }
        curve->d[i] = d;
    }
    /* Constant outside, so the ends are flat. */
    curve->d[0] = 0.0;
    curve->d[curve->n - 1] = 0.0;
}

void eqp__curve_akima(eqp__curve *curve, int npoints, const eqp__speed_point *point, double n)
{
    sort_points(curve, npoints, point);
    add_ends(curve, n);
    eqp__curve_smooth(curve);
}
