/* SPDX-License-Identifier: BSD-3-Clause */
#include "models/curve.h"

#include <math.h>
#include <stddef.h>

/* Bisections that reduce any interval to neighbouring doubles. */
#define HALVINGS 100

void eqp__curve_constant(eqp__curve *curve, double speed)
{
    curve->n = 1;
    curve->smooth = false;
    curve->x[0] = 0.0;
    curve->s[0] = speed;
}

/* A piece in Bernstein's form: speed is a mean of the four numbers, all of them positive (see akima.c), so that
 * rounding cannot make it 0 however far they are apart. */
static void find_bernstein(const eqp__curve *c, int j, double b[4])
{
    const double h = c->x[j + 1] - c->x[j], third = (c->s[j + 1] - c->s[j]) / 3.0;

    b[0] = c->s[j];
    b[1] = c->s[j] + (c->smooth ? c->d[j] * h / 3.0 : third);
    b[2] = c->s[j + 1] - (c->smooth ? c->d[j + 1] * h / 3.0 : third);
    b[3] = c->s[j + 1];
}

/* Speed at the fraction t of a piece. */
static double mean_of(const double b[4], double t)
{
    const double w = 1.0 - t;

    return w * w * (w * b[0] + 3.0 * t * b[1]) + t * t * (3.0 * w * b[2] + t * b[3]);
}

/* Coefficients of powers of (size - x[j]) of piece j. */
static void find_cubic(const eqp__curve *c, int j, double a[4])
{
    const double h = c->x[j + 1] - c->x[j], m = (c->s[j + 1] - c->s[j]) / h;

    a[0] = c->s[j];
    a[1] = c->smooth ? c->d[j] : m;
    a[2] = c->smooth ? (3.0 * m - 2.0 * c->d[j] - c->d[j + 1]) / h : 0.0;
    a[3] = c->smooth ? (c->d[j] + c->d[j + 1] - 2.0 * m) / h / h : 0.0;
}

double eqp__curve_speed(const eqp__curve *curve, double size, double *slope)
{
    int low = 0, high = curve->n - 1;
    double b[4], h, t;

    if (size <= curve->x[0] || size >= curve->x[high]) {
        if (slope) {
            *slope = 0.0;
        }
        return size <= curve->x[0] ? curve->s[0] : curve->s[high];
    }
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (curve->x[middle] <= size) {
            low = middle;
        } else {
            high = middle;
        }
    }
    find_bernstein(curve, low, b);
    h = curve->x[low + 1] - curve->x[low];
    t = (size - curve->x[low]) / h;
    if (slope) {
        const double w = 1.0 - t;
        *slope = 3.0 / h * (w * w * (b[1] - b[0]) + 2.0 * w * t * (b[2] - b[1]) + t * t * (b[3] - b[2]));
    }
    return mean_of(b, t);
}

double eqp__curve_seconds(const eqp__curve *curve, double size, double *rate)
{
    double slope;
    const double speed = eqp__curve_speed(curve, size, &slope);

    if (rate) {
        *rate = (1.0 - size / speed * slope) / speed;
    }
    return size / speed;
}

/* Items that a rank can compute in the time, minus size x + u; negative if that size takes longer. */
static double find_excess(const double b[4], double x, double h, double seconds, double u)
{
    return seconds * mean_of(b, u / h) - (x + u);
}

/* Finds the extremes of the excess within (0, h), in order, and returns their number. */
static int find_extremes(const double a[4], double seconds, double h, double extreme[2])
{
    /* 3 a3 u^2 + 2 a2 u + (a1 - 1 / seconds) = 0, in the form that does not cancel. */
    const double p = a[2], q = 3.0 * a[3], r = a[1] - 1.0 / seconds;
    const double discriminant = p * p - q * r;
    double root[2];
    int n = 0;

    if (!(discriminant >= 0.0)) {
        return 0;
    }
    const double w = -(p + copysign(sqrt(discriminant), p));
    root[0] = w / q;
    root[1] = r / w;
    if (root[1] < root[0] || !isfinite(root[0])) {
        const double swap = root[0];
        root[0] = root[1];
        root[1] = swap;
    }
    for (int i = 0; i < 2; i++) {
        if (root[i] > 0.0 && root[i] < h) {
            extreme[n++] = root[i];
        }
    }
    return n;
}

/* The first size in piece j that takes `seconds`; -1: none. The size at the start of the piece takes less. */
static double find_crossing(const eqp__curve *c, int j, double seconds)
{
    const double x = c->x[j], h = c->x[j + 1] - x;
    double a[4], b[4], end[3], low = 0.0;
    int n = 0;

    find_cubic(c, j, a);
    find_bernstein(c, j, b);
    if (c->smooth) {
        n = find_extremes(a, seconds, h, end);
    }
    end[n++] = h;
    for (int i = 0; i < n; i++) {
        double high = end[i];

        if (find_excess(b, x, h, seconds, high) > 0.0) {
            low = high;
            continue;
        }
        if (!c->smooth) {
            return x + fmin((seconds * a[0] - x) / (1.0 - seconds * a[1]), h);
        }
        for (int k = 0; k < HALVINGS; k++) {
            const double middle = 0.5 * (low + high);
            if (middle <= low || middle >= high) {
                break;
            }
            if (find_excess(b, x, h, seconds, middle) > 0.0) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return x + high;
    }
    return -1.0;
}

double eqp__curve_size(const eqp__curve *curve, double seconds)
{
    const int last = curve->n - 1;

    if (seconds * curve->s[0] <= curve->x[0]) {
        return seconds * curve->s[0];
    }
    for (int j = 0; j < last; j++) {
        const double size = find_crossing(curve, j, seconds);
        if (size >= 0.0) {
            return size;
        }
    }
    return fmax(seconds * curve->s[last], curve->x[last]);
}
