/* SPDX-License-Identifier: BSD-3-Clause */
/* Where memory runs out, speed falls from one plateau to another. Points on the two plateaus do not tell where: the
 * line of equal time crosses the straight piece between them close to the nearer point, the next measurement lies on
 * the same plateau, and the other point stays. The search then creeps, as regula falsi does near a corner. Plateaus are
 * therefore extended over a part of the fall, so that the next sizes lie near the middle of the unknown range until one
 * of them lies on the slope.
 *
 * The curve keeps the shape of Clarke 2011, section 5.2: measured points stay, and falling pieces still fall. */
#include "models/curve.h"

#include <math.h>
#include <string.h>

/* A fall: to less than two thirds. */
#define FALL 1.5
/* How steep a plateau may be, as a part of the fall. */
#define FLAT 0.1
/* For what part of the fall a plateau goes on: with another plateau on the other side, or with a slope. */
#define BETWEEN 0.25
#define BESIDE 0.125

/* Speed is constant beyond both ends. */
static double find_slope(const eqp__curve *c, int left)
{
    return left < 0 || left + 1 >= c->n ? 0.0 : (c->s[left + 1] - c->s[left]) / (c->x[left + 1] - c->x[left]);
}

/* Puts a knot after knot j, unless there is no number between it and the next one. */
static bool insert(eqp__curve *c, int j, double x, double s)
{
    const int next = j + 1;

    if (!(x > c->x[j] && x < c->x[next])) {
        return false;
    }
    memmove(c->x + next + 1, c->x + next, (size_t)(c->n - next) * sizeof *c->x);
    memmove(c->s + next + 1, c->s + next, (size_t)(c->n - next) * sizeof *c->s);
    c->x[next] = x;
    c->s[next] = s;
    c->n++;
    return true;
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
            j += left && insert(curve, j, low + part, fast);
            j += right && insert(curve, j, high - part, slow);
        }
    }
    if (curve->smooth) {
        eqp__curve_smooth(curve);
    }
}
