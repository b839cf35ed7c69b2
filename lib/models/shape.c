/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape rules of Clarke 2011, section 5.2: speed rises with non-increasing slope up to some size, then falls. With
 * a first piece that is constant this is not quite enough for one crossing with every line through the origin: time has
 * to grow with size, too, which rules out a first rise that is steeper than the line itself.
 *
 * The newest point counts most, for a machine may change: points are placed from the newest to the oldest, each moved
 * into the range that the newer ones leave it. Points of a function that has the shape are never moved. Nor does a
 * difference within the noise of a measurement move an older point by more than itself: of two newer points on a
 * plateau, the faster one may be the larger, and what was measured before the fall would not fit that rise. */
#include "models/curve.h"

#include <math.h>
#include <string.h>

/* By how much time has to grow between two points: a relative slack that keeps crossings apart. */
#define GROWTH 1e-9
/* Speeds that differ by less may be the same. */
#define NOISE 0.01

static double find_slope(const eqp__curve *c, int left)
{
    return (c->s[left + 1] - c->s[left]) / (c->x[left + 1] - c->x[left]);
}

static double extend(const eqp__curve *c, int from, double slope, double x)
{
    return c->s[from] + slope * (x - c->x[from]);
}

/* The range for a speed at size x that shall become knot j, as the knots before it see it. */
static void bound_from_left(const eqp__curve *c, int j, double x, double *high)
{
    const int left = j - 1;

    *high = fmin(*high, c->s[left] / c->x[left] * x * (1.0 - GROWTH));
    if (left >= 1) {
        /* No rise after a fall; no steeper rise after a rise. */
        *high = fmin(*high, extend(c, left, fmax(find_slope(c, left - 1), 0.0), x));
    }
}

/* Bounds from the knots to the right; j is the first of them. */
static void bound_from_right(const eqp__curve *c, int j, double x, double *low, double *high)
{
    const double slope = j + 1 < c->n ? find_slope(c, j) : 0.0;

    *low = fmax(*low, c->s[j] / c->x[j] * x * (1.0 + GROWTH));
    if (slope > 0.0) {
        *high = fmin(*high, extend(c, j, slope, x));
    }
    if (j > 0) {
        /* A fall stays a fall; points within a rise lie on or above the piece. */
        *low = fmax(*low, c->s[j - 1] >= c->s[j] ? c->s[j] : extend(c, j, find_slope(c, j - 1), x));
    }
}

/* True if a step from (x0, s0) to (x1, s1) would move an older point by more than its height: a rise moves points to
 * its left above its line, a fall moves higher points to its right. */
static bool moves_older(double x0, double s0, double x1, double s1, int nolder, const eqp__speed_point *older)
{
    const double slope = (s1 - s0) / (x1 - x0);

    for (int i = 0; i < nolder; i++) {
        const double x = older[i].size, s = older[i].speed;

        if (s1 > s0 ? x < x0 && s - (s0 + slope * (x - x0)) > s1 - s0 : x > x1 && s - s1 > s0 - s1) {
            return true;
        }
    }
    return false;
}

static bool is_noise(double s, double other)
{
    return s != other && fabs(s - other) < NOISE * other;
}

/* Speed of a new knot j; the speed of a neighbouring knot if the step to it is noise. */
static double level(const eqp__curve *c, int j, double x, double s, int nolder, const eqp__speed_point *older)
{
    if (j > 0 && is_noise(s, c->s[j - 1]) && moves_older(c->x[j - 1], c->s[j - 1], x, s, nolder, older)) {
        s = c->s[j - 1];
    }
    if (j < c->n && is_noise(s, c->s[j]) && moves_older(x, s, c->x[j], c->s[j], nolder, older)) {
        s = c->s[j];
    }
    return s;
}

/* Inserts point[i] as a knot. Points with lower indices are older. */
static void place(eqp__curve *c, int i, const eqp__speed_point *point)
{
    const double x = point[i].size;
    double low = 0.0, high = INFINITY, speed;
    int j = 0;

    while (j < c->n && c->x[j] < x) {
        j++;
    }
    if (j > 0) {
        bound_from_left(c, j, x, &high);
    }
    if (j < c->n) {
        bound_from_right(c, j, x, &low, &high);
    }
    speed = fmin(fmax(point[i].speed, low), high);
    speed = fmin(fmax(level(c, j, x, speed, i, point), low), high);
    if (low > high && j > 0 && j < c->n) {
        /* The bounds cross by rounding; a point on the piece satisfies both. */
        speed = extend(c, j, find_slope(c, j - 1), x);
    }
    memmove(c->x + j + 1, c->x + j, (size_t)(c->n - j) * sizeof *c->x);
    memmove(c->s + j + 1, c->s + j, (size_t)(c->n - j) * sizeof *c->s);
    c->x[j] = x;
    c->s[j] = speed;
    c->n++;
}

void eqp__curve_piecewise(eqp__curve *curve, int npoints, const eqp__speed_point *point)
{
    curve->n = 0;
    curve->smooth = false;
    for (int i = npoints - 1; i >= 0; i--) {
        place(curve, i, point);
    }
}
