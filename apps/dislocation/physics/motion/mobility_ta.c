/* SPDX-License-Identifier: BSD-3-Clause */
/* BCC_Ta, BCC_Ta_linear, BCC_Ta_pencil: fits of stress over speed to molecular dynamics of tantalum. */
#include "mobility_drag.h"

/* In MPa and m/s. */
#define EDGE_SLOPE 0.9196
#define EDGE_STRESS 22.286
#define EDGE_SPEED 1105
#define EDGE_POWER 28.1015
#define EDGE_TOP 5e3
#define SCREW_TOP 1e4
#define STEEPER 100 /* beyond the top, in units of the slope at low speeds */
#define AT_REST 1e-6

/* BCC_Ta_pencil: its fits, and its drag along lines in Pa s. */
#define PENCIL_LINE 2e-5
static const dd_ta_fit pencil_twin = {2200, 0.12, 1.7}, pencil_anti = {10600, 0.5, 3};

/* dd_curve.by */
enum { BURGERS, DRAG = BURGERS, K, B, ALPHA, RATE, KNEE };

typedef double fit_stress(const double *by, double speed, double *slope);

static double edge_fit(const double *by, double speed, double *slope)
{
    const double rise = EDGE_STRESS * pow(speed / EDGE_SPEED, EDGE_POWER - 1);

    (void)by;
    *slope = EDGE_SLOPE + EDGE_POWER / EDGE_SPEED * rise;
    return EDGE_SLOPE * speed + rise * speed / EDGE_SPEED;
}

/* k (1 / (1 + e^-x) - 1/2) = k / 2 tanh(x / 2), and e^(rate (speed - knee)) with a ramp in place of its jump. */
static double screw_fit(const double *by, double speed, double *slope)
{
    const double jump = exp(-by[RATE] * by[KNEE]), level = tanh(0.5 * by[B] * speed);

    *slope = 0.25 * by[K] * by[B] * (1 - level * level) + by[ALPHA] + by[RATE] * jump * exp(by[RATE] * speed) +
             (speed < AT_REST ? jump / AT_REST : 0);
    return 0.5 * by[K] * level + by[ALPHA] * speed + jump * (expm1(by[RATE] * speed) + fmin(1, speed / AT_REST));
}

/* At u b/s, in Pa; beyond the top a straight line. */
static double stress(const dd_curve *curve, fit_stress *fit, double top, double steep, double u, double *slope)
{
    const double speed = u * curve->by[BURGERS];
    double s = fit(curve->by, speed, slope);

    if (!(s <= top)) {
        double low = 0, high = speed;
        for (double middle = high / 2; middle > low && middle < high; middle = low + (high - low) / 2) {
            *(fit(curve->by, middle, slope) <= top ? &low : &high) = middle;
        }
        *slope = steep;
        s = top + steep * (speed - low);
    }
    *slope *= 1e6 * curve->by[BURGERS];
    return 1e6 * s;
}

static double edge_stress(const dd_curve *curve, double u, double *slope)
{
    return stress(curve, edge_fit, EDGE_TOP, STEEPER * EDGE_SLOPE, u, slope);
}

static double screw_stress(const dd_curve *curve, double u, double *slope)
{
    return stress(curve, screw_fit, SCREW_TOP, STEEPER * curve->by[ALPHA], u, slope);
}

static double linear_stress(const dd_curve *curve, double u, double *slope)
{
    *slope = curve->by[DRAG];
    return curve->by[DRAG] * u;
}

static dd_curve screw_curve(const dd_mobility *m, const dd_ta_fit *f, double rate, double knee)
{
    return (dd_curve){screw_stress, {m->burgers, f->k, f->b, f->alpha, rate, knee}};
}

void dd__begin_ta(dd_drag_sum *sum)
{
    const dd_mobility *m = sum->mobility;

    sum->edge[0] = sum->edge[1] = (dd_curve){edge_stress, {m->burgers}};
    for (int i = 0; i < DD_TA_SCREWS; i++) {
        sum->screw[i] = screw_curve(m, &m->ta_fit[i], 5e-3, 1e3);
    }
}

void dd__begin_ta_linear(dd_drag_sum *sum)
{
    for (int i = 0; i < 2; i++) {
        sum->edge[i] = (dd_curve){linear_stress, {sum->mobility->ta_edge[i]}};
    }
    for (int i = 0; i < DD_TA_SCREWS; i++) {
        sum->screw[i] = (dd_curve){linear_stress, {sum->mobility->ta_screw[i]}};
    }
}

/* e: direction of the edges of its plane, along which it glides. */
static void add_screw(dd_drag_sum *sum, const dd_half *half, const double e[3], double length)
{
    const dd_mobility *m = sum->mobility;
    dd_drag *constant = &sum->glides->constant;
    double plane[3], twin[3], glide[3];
    dd_glide *g = dd__glide_add(sum->glides, length, e, &sum->screw[DD_TA_110]);

    dd_v3_cross(e, half->b, plane);
    if (!dd__has_zero(plane)) {
        const int i = fabs(e[0]) < 0.5 ? 0 : fabs(e[1]) < 0.5 ? 1 : 2;
        const double axis[3] = {i == 0, i == 1, i == 2};
        dd_v3_cross(axis, half->b, twin);
        const int back = half->b[i] * dd_v3_dot(twin, e) * (half->along < 0 ? -1 : 1) > 0 ? 1 : 0;
        g->curve[back] = &sum->screw[DD_TA_112AT];
        g->curve[1 - back] = &sum->screw[DD_TA_112T];
    }
    if (!dd__drag_screw(constant, half, length * m->ta_climb_screw, length * m->ta_line, glide)) {
        dd__drag_along(constant, length * m->ta_climb_screw, plane);
    }
}

void dd__add_ta(dd_drag_sum *sum, const dd_half *half)
{
    const dd_mobility *m = sum->mobility;
    dd_drag *constant = &sum->glides->constant;
    dd_split split;

    if (!dd__split_bcc(half, &split)) {
        dd__drag_line(constant, half->length * m->ta_climb_screw, half->length * m->ta_line, half->t);
        return;
    }
    if (split.screw > 0) {
        add_screw(sum, half, split.direction[0], split.screw);
    }
    for (int k = 0; k < 2; k++) {
        if (split.edge[k] > 0) {
            const double length = fmin(split.edge[k], half->length);
            double plane[3];
            dd_v3_cross(split.direction[k], half->b, plane);
            dd__drag_edge(constant, half->b, split.direction[k], length * m->ta_climb_edge, length * m->ta_line);
            dd__glide_add(sum->glides, length, half->b, &sum->edge[dd__has_zero(plane) ? 0 : 1]);
        }
    }
}

void dd__begin_pencil(dd_drag_sum *sum)
{
    sum->climb = 1 / sum->mobility->climb;
    sum->edge[0] = (dd_curve){edge_stress, {sum->mobility->burgers}};
    sum->screw[0] = screw_curve(sum->mobility, &pencil_twin, 0.012, 800);
    sum->screw[1] = screw_curve(sum->mobility, &pencil_anti, 0.012, 800);
}

void dd__add_pencil(dd_drag_sum *sum, const dd_half *half)
{
    dd_drag *constant = &sum->glides->constant;

    if (!dd__is_bcc(half)) {
        dd__drag_line(constant, half->length * sum->climb, half->length * PENCIL_LINE, half->t);
        return;
    }
    if (half->across > DD_SHORT) {
        const double length = half->length * half->across;
        double e[3];
        dd_v3_along(half->t, -half->along, half->b, e);
        dd__unit(e, e);
        dd__drag_edge(constant, half->b, e, length * sum->climb, length * PENCIL_LINE);
        dd__glide_add(sum->glides, length, half->b, &sum->edge[0]);
    }
    if (fabs(half->along) > DD_SHORT) {
        dd_glide *g = dd__glide_add(sum->glides, half->length * fabs(half->along), half->b, &sum->screw[0]);
        dd__drag_along(constant, g->length * PENCIL_LINE, half->b);
        g->way = DD_GLIDES_SIXFOLD;
        g->curve[1] = &sum->screw[1];
        dd_v3_scale(half->along < 0 ? -1 : 1, g->force);
    }
}
