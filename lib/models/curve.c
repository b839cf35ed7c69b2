/* SPDX-License-Identifier: BSD-3-Clause */
#include "models/curve.h"

#include <math.h>
#include <string.h>

/* Speed is constant beyond both ends. */
static double find_slope(const eqp__curve *c, int left)
{
    return left < 0 || left + 1 >= c->n ? 0.0 : (c->s[left + 1] - c->s[left]) / (c->x[left + 1] - c->x[left]);
}

static void insert(eqp__curve *c, int j, double x, double s)
{
    memmove(c->x + j + 1, c->x + j, (size_t)(c->n - j) * sizeof *c->x);
    memmove(c->s + j + 1, c->s + j, (size_t)(c->n - j) * sizeof *c->s);
    c->x[j] = x;
    c->s[j] = s;
    c->n++;
}

/* The shape rules of Clarke 2011, section 5.2: speed rises with non-increasing slope up to some size, then falls.
 * With a constant first piece this does not yet give a single crossing with every line through the origin: time must
 * also grow with size, which excludes a first rise steeper than such a line.
 * The newest point counts most, since a machine may change. Points are placed from the newest to the oldest, each
 * moved into the range that newer points leave. Points of a function with this shape are never moved. A difference
 * within the measurement noise moves an older point by at most that difference: of two newer points on a plateau,
 * the larger may be faster by noise, and a point measured before the fall would not fit that rise. */

/* Relative growth of time required between two points; it keeps crossings apart. */
#define GROWTH 1e-9
/* Relative difference of speeds that may be noise. */
#define NOISE 0.01

static double extend(const eqp__curve *c, int from, double slope, double x)
{
    return c->s[from] + slope * (x - c->x[from]);
}

/* The range that the knots to the left allow for the speed at size x of a new knot j. */
static void bound_from_left(const eqp__curve *c, int j, double x, double *high)
{
    const int left = j - 1;

    *high = fmin(*high, c->s[left] / c->x[left] * x * (1.0 - GROWTH));
    if (left >= 1) {
        /* No rise after a fall; no steeper rise after a rise. */
        *high = fmin(*high, extend(c, left, fmax(find_slope(c, left - 1), 0.0), x));
    }
}

/* The same from the knots to the right; j is the first of them. */
static void bound_from_right(const eqp__curve *c, int j, double x, double *low, double *high)
{
    const double slope = find_slope(c, j);

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
    insert(c, j, x, speed);
}

void eqp__curve_piecewise(eqp__curve *curve, int npoints, const eqp__speed_point *point)
{
    curve->n = 0;
    curve->smooth = false;
    for (int i = npoints - 1; i >= 0; i--) {
        place(curve, i, point);
    }
}

/* H. Akima, "A new method of interpolation and smooth curve fitting based on local procedures", J. ACM 17 (1970) 589:
 * the slope at a knot is a mean of the slopes of the two adjacent pieces, each weighted by the change of slope on the
 * opposite side.
 *
 * Clarke 2011, section 6.2, adds the ends (0, first speed) and (n, last speed), and doubles end values where there are
 * fewer than five points. That makes the curve constant outside; slopes of 0 beyond both ends do the same for any
 * number of points. */

/* Slopes that differ by less than this fraction of the largest are equal up to rounding. */
#define SAME_SLOPE 1e-9
/* A cubic with end slopes within -3 s / h to 3 s / h stays above 0; this is a little less, so that it stays well above:
 * a tenth of the lower of its ends. */
#define POSITIVE 2.7

static double find_knot_slope(const eqp__curve *c, int i)
{
    const double m0 = find_slope(c, i - 2), m1 = find_slope(c, i - 1), m2 = find_slope(c, i), m3 = find_slope(c, i + 1);
    const double w1 = fabs(m3 - m2), w2 = fabs(m1 - m0);
    const double largest = fmax(fmax(fabs(m0), fabs(m1)), fmax(fabs(m2), fabs(m3)));

    return w1 + w2 <= SAME_SLOPE * largest ? 0.5 * (m1 + m2) : (w1 * m1 + w2 * m2) / (w1 + w2);
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
    curve->n = 0;
    for (int i = 0; i < npoints; i++) {
        int j = curve->n;

        while (j > 0 && curve->x[j - 1] > point[i].size) {
            j--;
        }
        insert(curve, j, point[i].size, point[i].speed);
    }
    insert(curve, 0, 0.0, curve->s[0]);
    if (n > curve->x[curve->n - 1]) {
        insert(curve, curve->n, n, curve->s[curve->n - 1]);
    }
    eqp__curve_smooth(curve);
}

/* Where memory runs out, speed falls from one plateau to another, and points on the plateaus do not tell where. The
 * line of equal time crosses the straight piece between them close to the nearer point, so the next measurement lies
 * on the same plateau and the other point stays: the search creeps, as regula falsi does near a corner. Plateaus are
 * therefore extended over a part of the fall, so that the next sizes bisect the unknown range until one lies on the
 * slope.
 * The curve keeps the shape of Clarke 2011, section 5.2: measured points stay, and falling pieces still fall. */

/* Smallest ratio of speeds at both ends of a fall. */
#define FALL 1.5
/* Largest slope of a plateau, as a fraction of the fall. */
#define FLAT 0.1
/* Fraction of the fall over which a plateau is extended: with another plateau on the other side, or with a slope. */
#define BETWEEN 0.25
#define BESIDE 0.125

/* Inserts a knot after knot j, unless no double lies between it and the next. */
static bool insert_after(eqp__curve *c, int j, double x, double s)
{
    const bool between = x > c->x[j] && x < c->x[j + 1];

    if (between) {
        insert(c, j + 1, x, s);
    }
    return between;
}

void eqp__curve_extend_plateaus(eqp__curve *curve)
{
    const int most = curve->n + EQP__CURVE_PLATEAUS;
    double before = 0.0;

    for (int j = 0; j + 1 < curve->n && curve->n + 2 <= most; j++) {
        const double slope = find_slope(curve, j), flat = FLAT * -slope;
        const bool left = fabs(before) < flat, right = fabs(find_slope(curve, j + 1)) < flat;
        const double low = curve->x[j], high = curve->x[j + 1], fast = curve->s[j], slow = curve->s[j + 1];
        const double part = (left && right ? BETWEEN : BESIDE) * (high - low);

        before = slope;
        if (fast > FALL * slow) {
            j += left && insert_after(curve, j, low + part, fast);
            j += right && insert_after(curve, j, high - part, slow);
        }
    }
    if (curve->smooth) {
        eqp__curve_smooth(curve);
    }
}

/* Bisections that reduce any interval to neighbouring doubles. */
#define HALVINGS 100

void eqp__curve_constant(eqp__curve *curve, double speed)
{
    curve->n = 1;
    curve->smooth = false;
    curve->x[0] = 0.0;
    curve->s[0] = speed;
}

/* A piece in Bernstein's form: speed is a mean of four positive numbers (see POSITIVE), so rounding cannot make it 0
 * even if they differ by orders of magnitude. */
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

double eqp__curve_speed(const eqp__curve *curve, double size)
{
    int low = 0, high = curve->n - 1;
    double b[4];

    if (size <= curve->x[0] || size >= curve->x[high]) {
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
    return mean_of(b, (size - curve->x[low]) / (curve->x[low + 1] - curve->x[low]));
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
