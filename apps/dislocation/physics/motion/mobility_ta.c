/* SPDX-License-Identifier: BSD-3-Clause */
/* BCC_Ta and BCC_Ta_linear: stress over speed along the directions of glide, and Newton's method for what the parts of
 * arms add up to. */
#include "mobility_drag.h"

/* In MPa and m/s. */
#define EDGE_SLOPE 0.9196
#define EDGE_STRESS 22.286
#define EDGE_SPEED 1105
#define EDGE_POWER 28.1015
#define EDGE_TOP 5e3
#define SCREW_RATE 5e-3
#define SCREW_SPEED 1e3
#define SCREW_TOP 1e4
#define STEEPER 100 /* beyond the top, in units of the slope at low speeds */
#define AT_REST 1e-6

#define MOST_STEPS 100
#define MOST_CUTS 40
#define CLOSE 1e-8 /* error of the force, or the next step; relative */

/* Glide of a part of an arm, one way (0) and the other (1). */
typedef struct glide {
    double length, along[3], drag[2];
    const dd_ta_fit *screw[2]; /* NULL: an edge */
} glide;

typedef struct parts {
    double burgers;
    dd_drag constant; /* drags that are */
    bool is_linear;
    int n;
    glide glide[3 * DD_MOST_ARMS];
} parts;

static double edge_stress(double speed, double *slope)
{
    const double rise = EDGE_STRESS * pow(speed / EDGE_SPEED, EDGE_POWER - 1);

    *slope = EDGE_SLOPE + EDGE_POWER / EDGE_SPEED * rise;
    return EDGE_SLOPE * speed + rise * speed / EDGE_SPEED;
}

/* k (1 / (1 + e^-x) - 1/2) = k / 2 tanh(x / 2), and e^(rate (speed - SCREW_SPEED)) with a ramp in place of its jump. */
static double screw_stress(const dd_ta_fit *fit, double speed, double *slope)
{
    const double jump = exp(-SCREW_RATE * SCREW_SPEED), level = tanh(0.5 * fit->b * speed);

    *slope = 0.25 * fit->k * fit->b * (1 - level * level) + fit->alpha + SCREW_RATE * jump * exp(SCREW_RATE * speed) +
             (speed < AT_REST ? jump / AT_REST : 0);
    return 0.5 * fit->k * level + fit->alpha * speed + jump * (expm1(SCREW_RATE * speed) + fmin(1, speed / AT_REST));
}

static double fit_stress(const dd_ta_fit *screw, double speed, double *slope)
{
    return screw != NULL ? screw_stress(screw, speed, slope) : edge_stress(speed, slope);
}

/* Beyond the top a straight line. */
static double stress(const dd_ta_fit *screw, double speed, double *slope)
{
    const double top = screw != NULL ? SCREW_TOP : EDGE_TOP, of_fit = fit_stress(screw, speed, slope);

    if (of_fit <= top) {
        return of_fit;
    }
    double low = 0, high = speed;
    for (double middle = high / 2; middle > low && middle < high; middle = low + (high - low) / 2) {
        *(fit_stress(screw, middle, slope) <= top ? &low : &high) = middle;
    }
    *slope = STEEPER * (screw != NULL ? screw->alpha : EDGE_SLOPE);
    return top + *slope * (speed - low);
}

/* At u b/s, in Pa and Pa s. */
static double glide_stress(const parts *p, const glide *g, double u, double *slope)
{
    const int way = u < 0 ? 1 : 0;

    if (p->is_linear) {
        *slope = g->drag[way];
        return *slope * u;
    }
    const double s = stress(g->screw[way], fabs(u) * p->burgers, slope);
    *slope *= 1e6 * p->burgers;
    return copysign(1e6 * s, u);
}

/* drag->tensor: the derivative of the drag at v; drag->force: what the drag at v leaves of the force. */
static void linearise(const parts *p, const double force[3], const double v[3], dd_drag *drag)
{
    memcpy(drag->tensor, p->constant.tensor, sizeof drag->tensor);
    for (int i = 0; i < 3; i++) {
        drag->force[i] = force[i] - dd_v3_dot(p->constant.tensor[i], v);
    }
    for (int k = 0; k < p->n; k++) {
        const glide *g = &p->glide[k];
        double slope;
        const double s = glide_stress(p, g, dd_v3_dot(v, g->along), &slope);
        dd__add(drag->force, -g->length * s, g->along);
        dd__drag_along(drag, g->length * slope, g->along);
    }
    dd__forbidden_take(&drag->never, drag->force);
}

/* v goes along a step until what remains of the force there is at most half of what it was, or points on. */
static void advance(const parts *p, const double force[3], const dd_drag *drag, const double step[3], double v[3])
{
    const double start[3] = {v[0], v[1], v[2]}, first = dd_v3_dot(drag->force, step);
    double low = 0, high = 1, part = 1;
    dd_drag there = *drag;

    for (int cut = 0; cut < MOST_CUTS; cut++) {
        dd_v3_along(start, part, step, v);
        linearise(p, force, v, &there);
        const double rest = dd_v3_dot(there.force, step);
        if (fabs(rest) <= 0.5 * first || (rest > 0 && part == 1)) {
            return;
        }
        *(rest > 0 ? &low : &high) = part;
        part = 0.5 * (low + high);
    }
}

/* From rest. drag becomes the last of Newton's systems, whose unknown is the velocity itself. */
static void balance(const parts *p, const double force[3], dd_drag *drag)
{
    double all[3] = {force[0], force[1], force[2]}, v[3] = {0, 0, 0};

    dd__forbidden_take(&drag->never, all);
    for (int step = 0; step < MOST_STEPS; step++) {
        double by[3];
        linearise(p, force, v, drag);
        dd__drag_solve(drag, by);
        if (dd_v3_length(drag->force) <= CLOSE * dd_v3_length(all) || dd_v3_length(by) <= CLOSE * dd_v3_length(v)) {
            break;
        }
        advance(p, force, drag, by, v);
    }
    linearise(p, force, v, drag);
    for (int i = 0; i < 3; i++) {
        drag->force[i] += dd_v3_dot(drag->tensor[i], v);
    }
}

/* e: direction of the edges. */
static void add_edge(parts *p, const dd_mobility *m, const dd_half *half, const double e[3], double length)
{
    double climb[3];

    dd_v3_cross(e, half->b, climb);
    dd__drag_along(&p->constant, length * m->ta_climb_edge, climb);
    dd__drag_along(&p->constant, length * m->ta_line, e);
    const double drag = m->ta_edge[dd__has_zero(climb) ? 0 : 1];
    glide *g = &p->glide[p->n++];
    *g = (glide){.length = length, .drag = {drag, drag}};
    dd_v3_copy(g->along, half->b);
}

/* e: direction of the edges of its plane, along which it glides. */
static void add_screw(parts *p, const dd_mobility *m, const dd_half *half, const double e[3], double length)
{
    double plane[3], twin[3];
    dd_ta_screw forth = DD_TA_110, back = DD_TA_110;

    dd_v3_cross(e, half->b, plane);
    if (!dd__has_zero(plane)) {
        const int i = fabs(e[0]) < 0.5 ? 0 : fabs(e[1]) < 0.5 ? 1 : 2;
        const double axis[3] = {i == 0, i == 1, i == 2};
        dd_v3_cross(axis, half->b, twin);
        const bool is_twin = half->b[i] * dd_v3_dot(twin, e) * (half->along < 0 ? -1 : 1) > 0;
        forth = is_twin ? DD_TA_112T : DD_TA_112AT;
        back = is_twin ? DD_TA_112AT : DD_TA_112T;
    }
    dd__drag_along(&p->constant, length * m->ta_climb_screw, dd_v3_length(half->n) > 0 ? half->n : plane);
    dd__drag_along(&p->constant, length * m->ta_line, half->b);
    glide *g = &p->glide[p->n++];
    *g = (glide){.length = length,
                 .drag = {m->ta_screw[forth], m->ta_screw[back]},
                 .screw = {&m->ta_fit[forth], &m->ta_fit[back]}};
    dd_v3_copy(g->along, e);
}

static void add_half(parts *p, const dd_mobility *m, const dd_half *half)
{
    dd_split split;

    if (!dd__split_bcc(half, &split)) {
        dd__drag_line(&p->constant, half->length * m->ta_climb_screw, half->length * m->ta_line, half->t);
        return;
    }
    if (split.screw > 0) {
        add_screw(p, m, half, split.direction[0], split.screw);
    }
    for (int k = 0; k < 2; k++) {
        if (split.edge[k] > 0) {
            add_edge(p, m, half, split.direction[k], fmin(split.edge[k], half->length));
        }
    }
}

static void solve(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3], bool is_linear,
                  dd_drag *drag)
{
    const double force[3] = {drag->force[0], drag->force[1], drag->force[2]};
    parts p = {.burgers = mobility->burgers, .is_linear = is_linear};

    for (int j = 0; j < node->narms && j < DD_MOST_ARMS; j++) {
        const dd_half half = dd__half(&node->arm[j], to_neighbour[j]);
        if (half.length > 0) {
            add_half(&p, mobility, &half);
        }
    }
    balance(&p, force, drag);
}

void dd__drag_bcc_ta(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3], dd_drag *drag)
{
    solve(mobility, node, to_neighbour, false, drag);
}

void dd__drag_bcc_ta_linear(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                            dd_drag *drag)
{
    solve(mobility, node, to_neighbour, true, drag);
}
