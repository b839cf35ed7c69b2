/* SPDX-License-Identifier: BSD-3-Clause */
#include "mobility_drag.h"

#include <float.h>

#define SAME_PLANE 1e-2

void dd__forbid(dd_forbidden *these, const double direction[3])
{
    double rest[3];

    if (these->n == 3 || !(dd__unit(direction, rest) > 0.0)) {
        return;
    }
    /* Twice, as one pass leaves rounding errors of the size of the remainder. */
    for (int pass = 0; pass < 2; pass++) {
        dd__forbidden_take(these, rest);
        if (pass == 0 && !(dd__unit(rest, rest) > SAME_PLANE)) {
            return;
        }
    }
    dd__unit(rest, these->along[these->n++]);
}

void dd__forbidden_take(const dd_forbidden *these, double v[3])
{
    for (int k = 0; k < these->n; k++) {
        dd__add(v, -dd_v3_dot(v, these->along[k]), these->along[k]);
    }
}

void dd__drag_along(dd_drag *drag, double c, const double a[3])
{
    for (int i = 0; i < 3; i++) {
        dd__add(drag->tensor[i], c * a[i], a);
    }
}

void dd__drag_line(dd_drag *drag, double across, double line, const double t[3])
{
    for (int i = 0; i < 3; i++) {
        drag->tensor[i][i] += across;
    }
    dd__drag_along(drag, line - across, t);
}

void dd__forbid_across(dd_forbidden *these, const double t[3])
{
    for (int i = 0; i < 3; i++) {
        double across[3] = {i == 0, i == 1, i == 2};
        dd__add(across, -t[i], t);
        if (dd_v3_length(across) > 0.5) {
            dd__forbid(these, across);
        }
    }
}

/* Orthonormal directions that remain, and their number; the axes if none is forbidden. */
static int basis(const dd_forbidden *never, double e[3][3])
{
    dd_forbidden all = *never;

    while (all.n < 3) {
        /* The axis that is farthest from all directions so far. */
        double best[3] = {0, 0, 0}, longest = 0;
        for (int i = 0; i < 3; i++) {
            double axis[3] = {i == 0, i == 1, i == 2};
            dd__forbidden_take(&all, axis);
            if (dd_v3_length(axis) > longest) {
                longest = dd_v3_length(axis);
                dd_v3_copy(best, axis);
            }
        }
        dd__forbid(&all, best);
    }
    memcpy(e, all.along + never->n, sizeof(double[3]) * (size_t)(3 - never->n));
    return 3 - never->n;
}

static void swap(double *a, double *b)
{
    const double was = *a;

    *a = *b;
    *b = was;
}

/* a x = y, y becoming x, by Gauss' elimination; false, and y is anything: singular to rounding, or no numbers. */
static bool eliminate(int n, double a[3][3], double y[3])
{
    double most = 0;

    for (int k = 0; k < n * n; k++) {
        most = fmax(most, fabs(a[k / n][k % n]));
    }
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++) {
            pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
        }
        for (int j = k; j < n; j++) {
            swap(&a[k][j], &a[pivot][j]);
        }
        swap(&y[k], &y[pivot]);
        if (!(fabs(a[k][k]) > 3 * DBL_EPSILON * most)) {
            return false;
        }
        for (int i = k + 1; i < n; i++) {
            const double c = a[i][k] / a[k][k];
            for (int j = k; j < n; j++) {
                a[i][j] -= c * a[k][j];
            }
            y[i] -= c * y[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) {
            y[i] -= a[i][j] * y[j];
        }
        y[i] /= a[i][i];
    }
    return true;
}

void dd__drag_solve(const dd_drag *drag, double v[3])
{
    double e[3][3], a[3][3], x[3];
    const int n = basis(&drag->never, e);

    v[0] = v[1] = v[2] = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            const double of[3] = {dd_v3_dot(drag->tensor[0], e[j]), dd_v3_dot(drag->tensor[1], e[j]),
                                  dd_v3_dot(drag->tensor[2], e[j])};
            a[i][j] = dd_v3_dot(e[i], of);
        }
        x[i] = dd_v3_dot(drag->force, e[i]);
    }
    if (eliminate(n, a, x)) {
        for (int i = 0; i < n; i++) {
            dd__add(v, x[i], e[i]);
        }
    }
}

void dd__drag_edge(dd_drag *drag, const double b[3], const double e[3], double climb, double line)
{
    double up[3];

    dd_v3_cross(e, b, up);
    dd__drag_along(drag, climb, up);
    dd__drag_along(drag, line, e);
}

bool dd__drag_screw(dd_drag *drag, const dd_half *half, double climb, double line, double glide[3])
{
    dd__drag_along(drag, line, half->b);
    dd_v3_cross(half->n, half->b, glide);
    if (dd__unit(glide, glide) > 0) {
        dd__drag_along(drag, climb, half->n);
        return true;
    }
    return false;
}

/* ---- The laws for cubic crystals without slip planes of their own, in Cai and Bulatov's form. */

/* A half that glides in the plane n, m = n x t; of a screw all directions across the line are alike. */
static void add_glide(dd_drag_sum *sum, const dd_half *half, const double n[3])
{
    dd_drag *drag = &sum->drag;
    double m[3];

    dd__drag_line(drag, half->length * sum->screw_drag, half->length * sum->line, half->t);
    if (half->across < DD_IS_SCREW) {
        return;
    }
    dd_v3_cross(n, half->t, m);
    const double glide = 1 / hypot(half->across / sum->edge_drag, half->along / sum->screw_drag);
    const double climb = hypot(half->across * sum->climb, half->along * sum->screw_drag);
    dd__drag_along(drag, half->length * (glide - sum->screw_drag), m);
    dd__drag_along(drag, half->length * (climb - sum->screw_drag), n);
}

/* A half that does not glide. Where it ends in a node of two arms, it may not move along its line either. */
static void add_junction(dd_drag_sum *sum, const dd_half *half)
{
    const bool stands = sum->junctions && sum->node->narms == 2;

    dd__drag_line(&sum->drag, half->length * sum->climb, half->length * (stands ? sum->climb : sum->line), half->t);
}

void dd__add_bcc_0(dd_drag_sum *sum, const dd_half *half)
{
    double n[3];

    if (dd__has_zero(half->b)) {
        add_junction(sum, half);
        return;
    }
    dd_v3_cross(half->b, half->t, n);
    dd__unit(n, n);
    add_glide(sum, half, n);
}

/* No climb at all: its directions leave the system, because the other drags would be lost beside drags of 1e10. */
void dd__add_bcc_glide(dd_drag_sum *sum, const dd_half *half)
{
    dd_drag *drag = &sum->drag;

    sum->climb = 0;
    if (dd__has_zero(half->b)) {
        /* Everything but its line, and with two arms that, too. */
        dd__forbid_across(&drag->never, half->t);
        if (sum->node->narms == 2) {
            dd__forbid(&drag->never, half->t);
        }
        dd__drag_line(drag, 0, half->length * sum->line, half->t);
    } else {
        add_glide(sum, half, half->n);
        dd__forbid(&drag->never, half->n);
    }
}

void dd__add_fcc_0(dd_drag_sum *sum, const dd_half *half)
{
    const dd_mobility *m = sum->mobility;
    const double b = half->length / (m->edge + (m->screw - m->edge) * fabs(half->along));

    dd__drag_line(&sum->drag, b, b, half->t);
}

void dd__add_fcc_0b(dd_drag_sum *sum, const dd_half *half)
{
    if (dd__has_zero(half->n)) {
        add_junction(sum, half);
    } else {
        add_glide(sum, half, half->n);
    }
}

void dd__add_fcc_climb(dd_drag_sum *sum, const dd_half *half)
{
    dd_drag *drag = &sum->drag;
    double m[3];

    sum->climb = 1e4 * sum->edge_drag;
    if (fabs(half->n[0] * half->n[1] * half->n[2]) < 0.13608) {
        add_junction(sum, half);
        return;
    }
    dd_v3_cross(half->n, half->t, m);
    dd__unit(m, m);
    dd__drag_along(drag, half->length / hypot(half->across / sum->edge_drag, half->along / sum->screw_drag), m);
    dd__drag_along(drag, half->length * sum->climb, half->n);
    dd__drag_along(drag, half->length * sum->line, half->t);
}
