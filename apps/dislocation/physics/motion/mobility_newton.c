/* SPDX-License-Identifier: BSD-3-Clause */
#include "mobility_drag.h"

#include <float.h>

#define MOST_STEPS 100
#define MOST_CUTS 40
#define CLOSE 1e-12   /* relative error of the force */
#define NO_STEP 1e-14 /* relative */
#define STUCK 1e-6    /* relative error of the force above which a descent is stuck */
#define NEARBY 1e-4   /* relative: for the slope of a slope */

/* DD_GLIDES_SIXFOLD: from a direction of twinning to one of antitwinning, and how sharply forces turn between them. */
#define SECTOR 1.0471975511965976
#define SECTOR_MARGIN 0.00081
#define SECTOR_TURN 15

dd_glide *dd__glide_add(dd_glides *these, double length, const double along[3], const dd_curve *curve)
{
    dd_glide *g = &these->glide[these->n++];

    *g = (dd_glide){.length = length, .curve = {curve, curve}};
    dd_v3_copy(g->force, along);
    dd_v3_copy(g->speed, along);
    return g;
}

/* tensor += c a b. */
static void add_outer(dd_drag *drag, double c, const double a[3], const double b[3])
{
    for (int i = 0; i < 3; i++) {
        dd__add(drag->tensor[i], c * a[i], b);
    }
}

/* The drag along t, which is the slope at u; the speed u grows along `up`. */
static void add_line(dd_drag *drag, const dd_glide *g, const double v[3], const dd_curve *curve, double u, double slope,
                     const double up[3])
{
    const double c = g->length * g->line, w = dd_v3_dot(v, g->t);
    double next;

    if (g->line > 0) {
        dd__add(drag->force, -c * slope * w, g->t);
        add_outer(drag, c * slope, g->t, g->t);
        if (u > 0) {
            curve->stress(curve, (1 + NEARBY) * u, &next);
            add_outer(drag, c * w * (next - slope) / (NEARBY * u), g->t, up);
        }
    }
}

static void add_along(dd_drag *drag, const dd_glide *g, const double v[3])
{
    const double u = dd_v3_dot(v, g->speed), sign = u < 0 ? -1 : 1;
    const dd_curve *curve = g->curve[u < 0 ? 1 : 0];
    double slope, up[3];
    const double s = curve->stress(curve, fabs(u), &slope);

    dd__add(drag->force, -g->length * sign * s, g->force);
    add_outer(drag, g->length * slope, g->force, g->speed);
    dd_v3_copy(up, g->speed);
    dd_v3_scale(sign, up);
    add_line(drag, g, v, curve, fabs(u), slope, up);
}

/* v without its part along an axis, as a direction and a speed, which comes back. */
static double across(const double v[3], const double axis[3], double e[3])
{
    dd_v3_along(v, -dd_v3_dot(v, axis), axis, e);
    return dd__unit(e, e);
}

static void add_round(dd_drag *drag, const dd_glide *g, const double v[3])
{
    double e[3], slope;
    const double u = across(v, g->speed, e), s = g->curve[0]->stress(g->curve[0], u, &slope);
    const double turn = u > 0 ? s / u : slope;

    dd__add(drag->force, -g->length * s, e);
    dd__drag_line(drag, g->length * turn, 0, g->speed);
    dd__drag_along(drag, g->length * (slope - turn), e);
    add_line(drag, g, v, g->curve[0], u, slope, e);
}

/* Orthonormal directions across b: x half way between the direction of twinning and that of antitwinning which v lies
 * between, y towards the latter. */
static void sector(const double b[3], const double line[3], const double v[3], double x[3], double y[3])
{
    double most = -HUGE_VAL, least = HUGE_VAL, twin[3] = {0}, behind[3] = {0};

    for (int i = 0; i < 3; i++) {
        const double axis[3] = {i == 0, i == 1, i == 2};
        double t[3];
        dd_v3_cross(axis, line, t);
        dd_v3_scale(b[i] < 0 ? -1 : 1, t);
        dd__unit(t, t);
        const double along = dd_v3_dot(v, t);
        if (along > most) {
            most = along;
            dd_v3_copy(twin, t);
        }
        if (along <= least) {
            least = along;
            dd_v3_copy(behind, t);
        }
    }
    dd_v3_minus(twin, behind, x);
    dd__unit(x, x);
    /* From twin to -behind: across x. */
    for (int i = 0; i < 3; i++) {
        y[i] = -behind[i] - twin[i];
    }
    dd__unit(y, y);
}

/* Velocity at the angle a from x: force at the angle c, of the size that lies between the curves. */
static void add_sixfold(dd_drag *drag, const dd_glide *g, const double v[3])
{
    double e[3], x[3], y[3], twin_slope, anti_slope, to[3], turned[3], turn[3];
    const double u = across(v, g->speed, e);
    const double twin = g->curve[0]->stress(g->curve[0], u, &twin_slope);
    const double anti = g->curve[1]->stress(g->curve[1], u, &anti_slope);

    if (!(u > 0)) {
        dd__drag_line(drag, g->length * 0.5 * (twin_slope + anti_slope), 0, g->speed);
        return;
    }
    sector(g->speed, g->force, v, x, y);
    const double all = SECTOR + SECTOR_MARGIN, half = SECTOR / 2;
    const double a = fmax(-half, fmin(half, atan2(dd_v3_dot(v, y), dd_v3_dot(v, x))));
    const double c = fmax(-half, fmin(half, -log(all / (a + all / 2) - 1) / SECTOR_TURN));
    const double bend = 4 * all / (SECTOR_TURN * (all * all - 4 * a * a)), w = sin(a) + 0.5;
    const double s = twin + w * (anti - twin), slope = twin_slope + w * (anti_slope - twin_slope);
    for (int i = 0; i < 3; i++) {
        to[i] = cos(c) * x[i] + sin(c) * y[i];
        turned[i] = cos(a) * y[i] - sin(a) * x[i];
        turn[i] = cos(a) * (anti - twin) * to[i] + s * bend * (cos(c) * y[i] - sin(c) * x[i]);
    }
    dd__add(drag->force, -g->length * s, to);
    add_outer(drag, g->length * slope, to, e);
    add_outer(drag, g->length / u, turn, turned);
}

/* drag->tensor: the derivative of the drag at v; drag->force: what the drag at v leaves of the force, and its size. */
static double linearise(const dd_glides *these, const double force[3], const double v[3], dd_drag *drag)
{
    memcpy(drag->tensor, these->constant.tensor, sizeof drag->tensor);
    for (int i = 0; i < 3; i++) {
        drag->force[i] = force[i] - dd_v3_dot(these->constant.tensor[i], v);
    }
    for (int k = 0; k < these->n; k++) {
        static void (*const add[])(dd_drag *, const dd_glide *, const double[3]) = {add_along, add_round, add_sixfold};
        add[these->glide[k].way](drag, &these->glide[k], v);
    }
    dd__forbidden_take(&drag->never, drag->force);
    return dd_v3_length(drag->force);
}

/* Error of a force that comes from rounding. */
static double rounding(const dd_drag *drag, const double v[3])
{
    double most = 0;

    for (int k = 0; k < 9; k++) {
        most = fmax(most, fabs(drag->tensor[k / 3][k % 3]));
    }
    return 4 * DBL_EPSILON * most * dd_v3_length(v);
}

/* v goes along a step as far as the error of the force becomes smaller; false: it does not move. */
static bool advance(const dd_glides *these, const double force[3], const dd_drag *drag, const double step[3],
                    double v[3])
{
    const double start[3] = {v[0], v[1], v[2]}, error = dd_v3_length(drag->force);
    dd_drag there = *drag;
    double part = 1;

    for (int cut = 0; cut < MOST_CUTS; cut++, part *= 0.5) {
        dd_v3_along(start, part, step, v);
        if (linearise(these, force, v, &there) < (1 - 1e-4 * part) * error) {
            return true;
        }
    }
    dd_v3_copy(v, start);
    return false;
}

/* Newton's method from v, which becomes the best there is; its error, relative. */
static double descend(const dd_glides *these, const double force[3], dd_drag *drag, double v[3])
{
    double all[3], by[3], error = linearise(these, force, v, drag);

    dd_v3_copy(all, force);
    dd__forbidden_take(&drag->never, all);
    for (int step = 0; step < MOST_STEPS; step++) {
        dd__drag_solve(drag, by);
        if (error <= CLOSE * dd_v3_length(all) || error <= rounding(drag, v) ||
            dd_v3_length(by) <= NO_STEP * dd_v3_length(v) || !advance(these, force, drag, by, v)) {
            break;
        }
        error = linearise(these, force, v, drag);
    }
    return error > 0 ? error / dd_v3_length(all) : 0;
}

/* Between sectors the derivative jumps, and a descent may stop at such a place: v, turned into the six sectors about
 * the axis, until a descent from there ends well. */
static void turn_until(const dd_glides *these, const dd_glide *g, const double force[3], dd_drag *drag, double error,
                       double v[3])
{
    const double *b = g->speed, from[3] = {v[0], v[1], v[2]};
    double side[3];

    dd_v3_cross(b, from, side);
    for (int k = 1; k < 12 && error > STUCK; k += 2) {
        const double angle = 0.5 * k * SECTOR;
        double w[3] = {0, 0, 0};
        dd__add(w, (1 - cos(angle)) * dd_v3_dot(from, b), b);
        dd__add(w, cos(angle), from);
        dd__add(w, sin(angle), side);
        const double other = descend(these, force, drag, w);
        if (other < error) {
            error = other;
            dd_v3_copy(v, w);
        }
    }
}

void dd__glides_balance(const dd_glides *these, dd_drag *drag)
{
    double force[3], v[3] = {0, 0, 0};

    dd_v3_copy(force, drag->force);
    const double error = descend(these, force, drag, v);
    for (int k = 0; k < these->n && error > STUCK; k++) {
        if (these->glide[k].way == DD_GLIDES_SIXFOLD) {
            turn_until(these, &these->glide[k], force, drag, error, v);
            break;
        }
    }
    memset(drag->tensor, 0, sizeof drag->tensor);
    for (int i = 0; i < 3; i++) {
        drag->tensor[i][i] = 1;
    }
    dd_v3_copy(drag->force, v);
}
