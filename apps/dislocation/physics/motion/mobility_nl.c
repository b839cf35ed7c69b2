/* SPDX-License-Identifier: BSD-3-Clause */
/* BCC_Ta_nl and BCC_Va_nl with their variants: curves of stress over speed that depend on the temperature. */
#include "mobility_drag.h"

/* Tantalum: stresses in units of PEIERLS, speeds of TA_TOP (m/s). */
#define PEIERLS 5.25e8
#define TA_TOP 2000
#define TA_RATIO 0.9 /* of the top, from where on stresses are straight lines */
#define TA_EDGE_POWER 1.6
#define TA_SCREW_SLOPE 37.166
#define TA_SCREW_ONSET 1.14286
#define TA_OFFSET 1e-8
#define TA_MIX 5
#define TA_ACROSS 1e3  /* climb of edges, in units of their drag at high speeds */
#define TA_LINE 1e-3   /* likewise, along lines */
#define TA_LINE_B 1e-4 /* the same of BCC_Ta_nl_b: of the other character's stress */

/* Vanadium. Lengths of time and space are b and s. */
#define VA_TOP 5077 /* m/s */
#define VA_SCREW_ALPHA 0.14
#define VA_EDGE_BETA 2
#define VA_SCREW_MIX 5
#define VA_EDGE_MIX 3
#define VA_ACROSS 1e3
#define VA_LINE 1e-3
#define VA_LINE_PLANAR 5e-3 /* of each of a screw's two directions */
#define VA_JUNCTION 100
#define VA_STEPS 100
#define VA_JUMP 7 /* of a logarithm in a step */
#define VA_JUNCTION_LINE 1e-6

/* dd_curve.by of tantalum, and of vanadium. */
enum { TOP, SIZE, THERMAL, POWER };
enum { LINEAR = 1, CLOSE_TO_0, MIX, THERMAL_SPEED, EXPONENT, BOUND, UNIT };

/* f(r), given as value and slope at min(r, TA_RATIO), goes on as 1 / sqrt(1 - r^2) f does, and then straight. */
static double relativistic(double r, double f, double *slope)
{
    const double c = fmin(r, TA_RATIO), gamma = 1 / sqrt(1 - c * c);

    *slope = *slope * gamma + f * c * gamma * gamma * gamma;
    return f * gamma + *slope * (r - c);
}

/* (a + x)^power - a^power, of small x, too. */
static double grown(double a, double x, double power)
{
    return pow(a, power) * expm1(power * log1p(x / a));
}

static double ta_edge_stress(const dd_curve *curve, double speed, double *slope)
{
    const double r = speed / curve->by[TOP], c = fmin(r, TA_RATIO), size = curve->by[SIZE];

    *slope = size * TA_EDGE_POWER * pow(c + TA_OFFSET, TA_EDGE_POWER - 1);
    const double s = relativistic(r, size * grown(TA_OFFSET, c, TA_EDGE_POWER), slope);
    *slope /= curve->by[TOP];
    return s;
}

static double ta_screw_stress(const dd_curve *curve, double speed, double *slope)
{
    const double r = speed / curve->by[TOP], a = curve->by[THERMAL], p = curve->by[POWER];
    const double thermal = a * grown(TA_OFFSET, r, p), rise = a * p * pow(r + TA_OFFSET, p - 1);
    double drag = TA_SCREW_SLOPE * fmin(r, TA_RATIO) - TA_SCREW_ONSET, drag_rise = TA_SCREW_SLOPE;

    *slope = PEIERLS * rise / curve->by[TOP];
    if (!(drag > 0)) {
        return PEIERLS * thermal;
    }
    drag = relativistic(r, drag, &drag_rise);
    const double s = pow(pow(drag, TA_MIX) + pow(thermal, TA_MIX), 1.0 / TA_MIX);
    *slope = PEIERLS / curve->by[TOP] * (pow(drag / s, TA_MIX - 1) * drag_rise + pow(thermal / s, TA_MIX - 1) * rise);
    return PEIERLS * s;
}

void dd__begin_ta_nl(dd_drag_sum *sum)
{
    const double top = TA_TOP / sum->mobility->burgers, t = sum->mobility->temperature;
    const double size = PEIERLS * (2.9146 + 14.027 * exp(-t / 434.5));
    double slope;

    sum->edge[0] = (dd_curve){ta_edge_stress, {top, size}};
    sum->screw[0] = (dd_curve){ta_screw_stress, {top, 0, 2.3643 * exp(t / 1127), 0.2757 + t / 2548}};
    sum->screw_drag = PEIERLS * TA_SCREW_SLOPE / top;
    sum->edge_drag = ta_edge_stress(&sum->edge[0], TA_RATIO * top, &slope) / top;
}

/* Speed of a stress: of a linear and a thermal speed x and y the mean x y / (x^n + y^n)^(1/n). */
static double va_speed(const dd_curve *curve, double thermal, double thermal_slope, double stress, double *slope)
{
    const double n = curve->by[MIX], x = curve->by[LINEAR] * stress + curve->by[CLOSE_TO_0];
    const double most = fmax(x, thermal), a = pow(x / most, n), b = pow(thermal / most, n);
    const double mean = most * pow(a + b, 1 / n);

    *slope = (thermal * b / (a + b) * curve->by[LINEAR] + x * a / (a + b) * thermal_slope) / mean;
    return x / mean * thermal;
}

static double va_edge_speed(const dd_curve *curve, double stress, double *slope)
{
    const double v = curve->by[THERMAL_SPEED], rate = curve->by[EXPONENT], bound = curve->by[BOUND];
    const double at = rate * fmin(stress, bound), rise = v * rate * cosh(at);

    return va_speed(curve, v * sinh(at) + rise * (stress - fmin(stress, bound)), rise, stress, slope);
}

static double va_screw_speed(const dd_curve *curve, double stress, double *slope)
{
    const double v = curve->by[THERMAL_SPEED], power = curve->by[EXPONENT], bound = curve->by[BOUND];
    const double forth = stress / curve->by[UNIT], back = fmin(stress, bound) / curve->by[UNIT];
    const double rise =
        pow(VA_SCREW_ALPHA + forth, power - 1) + (stress < bound ? pow(VA_SCREW_ALPHA - back, power - 1) : 0);

    return va_speed(curve, v * (grown(VA_SCREW_ALPHA, forth, power) - grown(VA_SCREW_ALPHA, -back, power)),
                    v * power / curve->by[UNIT] * rise, stress, slope);
}

/* The stress of a speed, by Newton's method for the logarithms, between bounds. */
static double va_stress(const dd_curve *curve, double (*speed_of)(const dd_curve *, double, double *), double speed,
                        double *slope)
{
    double low = 0, high = HUGE_VAL, s = speed > 0 ? curve->by[UNIT] : 0, rise = 0;

    for (int step = 0; step < VA_STEPS; step++) {
        const double v = speed_of(curve, s, &rise), by = log(speed / v) * v / (s * rise);
        if (!(speed > 0) || fabs(by) < 1e-14) {
            break;
        }
        *(v < speed ? &low : &high) = s;
        double next = s * exp(fmax(-VA_JUMP, fmin(VA_JUMP, by)));
        if (!(next > low && next < high)) {
            next = sqrt(low * high);
        }
        s = next;
        if (fabs(by) < 1e-12) {
            break; /* the next step would be of the size of its square */
        }
    }
    *slope = 1 / rise;
    return s;
}

static double va_edge_stress(const dd_curve *curve, double speed, double *slope)
{
    return va_stress(curve, va_edge_speed, speed, slope);
}

static double va_screw_stress(const dd_curve *curve, double speed, double *slope)
{
    return va_stress(curve, va_screw_speed, speed, slope);
}

void dd__begin_va_nl(dd_drag_sum *sum)
{
    const dd_mobility *m = sum->mobility;
    const double t = m->temperature, top = VA_TOP / m->burgers, p = m->pressure / m->modulus_0, zero = 1e-6 * top;
    const double alpha = VA_SCREW_ALPHA, log_1 = log(1 + alpha);
    const double screw_peierls = m->modulus_0 * (6.939e-3 - (1.8786e-3 - 3.53e-3 * p) * p),
                 edge_peierls = m->modulus_0 * (1.265e-3 + (5.81e-4 + 7.11e-4 * p) * p);
    const double screw_energy = 7891 + (11292 - 6700 * p) * p, edge_energy = 696 + p * (579 - 630 * p); /* K */
    const double screw_linear = (1.8788e-2 - (3.484e-6 + 1.0695e-8 * t) * t) * top / screw_peierls,
                 edge_linear = (1.45e-2 - (2.53e-5 - 1.33e-8 * t) * t) * top / edge_peierls;
    const double screw_rate =
                     (1.9426e-2 + (9.115e-4 - 1.3776e-7 * t) * t) * screw_energy / t * log_1 / log((1 + alpha) / alpha),
                 edge_rate = VA_EDGE_BETA * edge_energy / t;
    const double screw_speed = (3.1e-2 - (3.65e-5 - 2.303e-8 * t) * t) * top * exp(-screw_rate),
                 edge_speed = 0.005 * top * exp(-edge_rate);

    sum->edge[0] = (dd_curve){va_edge_stress,
                              {0, edge_linear, zero, VA_EDGE_MIX, edge_speed, edge_rate / edge_peierls,
                               asinh(top / edge_speed) * edge_peierls / edge_rate, edge_peierls}};
    sum->screw[0] = (dd_curve){va_screw_stress,
                               {0, screw_linear, zero, VA_SCREW_MIX, screw_speed, screw_rate / log_1,
                                0.95 * alpha * screw_peierls, screw_peierls}};
    sum->edge_drag = 1 / edge_linear;
    sum->screw_drag = 1 / screw_linear;
}

/* A half as all laws here take it: a screw and an edge at right angles, whose drags grow with the Burgers vector. */
typedef struct part {
    double screw, edge, e[3]; /* lengths times |b|, 0: none; direction of the edges */
} part;

static part part_of(const dd_half *half)
{
    const double length = half->length * dd_v3_length(half->arm->burgers);
    part p;

    p.screw = fabs(half->along) > DD_IS_SCREW ? length * fabs(half->along) : 0;
    p.edge = half->across > DD_IS_SCREW ? length * half->across : 0;
    dd_v3_along(half->t, -half->along, half->b, p.e);
    dd__unit(p.e, p.e);
    return p;
}

/* Junctions leave nodes nothing but their line to move along, four arms nothing at all. */
static bool ta_stops(dd_drag_sum *sum, const dd_half *half)
{
    const bool four = sum->node->narms > 3, stops = four || dd__has_zero(half->b);

    if (stops) {
        dd__forbid_across(&sum->drag.never, half->t);
    }
    if (four) {
        dd__forbid(&sum->drag.never, half->t);
    }
    return stops;
}

void dd__add_ta_nl(dd_drag_sum *sum, const dd_half *half)
{
    const part p = part_of(half);
    dd_drag *constant = &sum->glides->constant;

    if (ta_stops(sum, half)) {
        return;
    }
    if (p.edge > 0) {
        dd__drag_edge(constant, half->b, p.e, p.edge * TA_ACROSS * sum->edge_drag, p.edge * TA_LINE * sum->edge_drag);
        dd__glide_add(sum->glides, p.edge, half->b, &sum->edge[0]);
    }
    if (p.screw > 0) {
        dd__drag_along(constant, p.screw * TA_LINE * sum->screw_drag, half->b);
        dd__glide_add(sum->glides, p.screw, half->b, &sum->screw[0])->way = DD_GLIDES_ROUND;
    }
}

/* planar: edges and screws glide in the plane, if the half has one. */
static void ta_add_b(dd_drag_sum *sum, const dd_half *half, bool planar)
{
    dd_glides *glides = sum->glides;
    part p = part_of(half);
    double e[3] = {0, 0, 0};

    if (ta_stops(sum, half)) {
        return;
    }
    if (planar) {
        dd_v3_cross(half->n, half->b, e);
        planar = dd__unit(e, e) > 0;
    }
    dd_v3_copy(e, planar ? e : p.e);
    if (p.edge > 0) {
        dd__drag_edge(&glides->constant, half->b, e, p.edge * TA_ACROSS * sum->edge_drag, 0);
        dd__glide_add(glides, p.edge, half->b, &sum->edge[0]);
        dd__glide_add(glides, TA_LINE_B * p.edge, e, &sum->screw[0]);
    }
    if (p.screw > 0) {
        if (planar) {
            dd__drag_along(&glides->constant, p.screw * sum->screw_drag, half->n);
        }
        dd_glide *g = dd__glide_add(glides, p.screw, planar ? e : half->b, &sum->screw[0]);
        g->way = planar ? DD_GLIDES_ALONG : DD_GLIDES_ROUND;
        dd__glide_add(glides, TA_LINE_B * p.screw, half->b, &sum->edge[0]);
    }
}

void dd__add_ta_nl_b(dd_drag_sum *sum, const dd_half *half)
{
    ta_add_b(sum, half, false);
}

void dd__add_ta_nl_b_planar(dd_drag_sum *sum, const dd_half *half)
{
    ta_add_b(sum, half, true);
}

/* Adds a junction or the edges; true: there are screws. */
static bool va_begin(dd_drag_sum *sum, const dd_half *half, part *p)
{
    dd_drag *constant = &sum->glides->constant;

    *p = part_of(half);
    if (dd__has_zero(half->b)) {
        const double across = half->length * VA_JUNCTION * sum->screw_drag;
        dd__drag_line(constant, across, VA_JUNCTION_LINE * across, half->t);
        return false;
    }
    if (p->edge > 0) {
        dd__drag_edge(constant, half->b, p->e, p->edge * VA_ACROSS * sum->edge_drag, 0);
        dd_glide *g = dd__glide_add(sum->glides, p->edge, half->b, &sum->edge[0]);
        g->line = VA_LINE;
        dd_v3_copy(g->t, p->e);
    }
    return p->screw > 0;
}

void dd__add_va_nl(dd_drag_sum *sum, const dd_half *half)
{
    part p;

    if (va_begin(sum, half, &p)) {
        dd_glide *g = dd__glide_add(sum->glides, p.screw, half->b, &sum->screw[0]);
        g->way = DD_GLIDES_ROUND;
        g->line = VA_LINE;
        dd_v3_copy(g->t, half->b);
    }
}

/* Axis i of a <111> has the plane of the {110} with the normal e_i x b. The force is nearest to one of these normals;
 * the screw moves along what is across b of the two other axes, of the length sqrt(1/3). */
void dd__add_va_nl_planar(dd_drag_sum *sum, const dd_half *half)
{
    const double *b = half->b;
    double along[3][3], most = -1;
    int away = 0;
    part p;

    if (!va_begin(sum, half, &p)) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        const double axis[3] = {i == 0, i == 1, i == 2};
        double normal[3];
        dd_v3_along(axis, -b[i], b, along[i]);
        dd_v3_scale(sqrt(0.5), along[i]);
        dd_v3_cross(axis, b, normal);
        dd__unit(normal, normal);
        if (fabs(dd_v3_dot(normal, sum->drag.force)) > most) {
            most = fabs(dd_v3_dot(normal, sum->drag.force));
            away = i;
        }
    }
    for (int k = 1; k <= 2; k++) {
        /* v = sum_k u_k g_k, of the two directions g and h. */
        const double *g = along[(away + k) % 3], *h = along[(away + 3 - k) % 3];
        const double gh = dd_v3_dot(g, h), hh = dd_v3_dot(h, h), det = dd_v3_dot(g, g) * hh - gh * gh;
        dd_glide *glide = dd__glide_add(sum->glides, p.screw, g, &sum->screw[0]);
        dd_v3_scale(hh / det, glide->speed);
        dd__add(glide->speed, -gh / det, h);
        glide->line = VA_LINE_PLANAR;
        dd_v3_copy(glide->t, b);
    }
}
