/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces are the derivatives of the elastic energy, which is integrated here independently of them. */
#include "dd_segments.h"
#include "elastic/pairs.h"
#include "unit.h"

#define NODES 4

/* A closed loop of straight segments. */
typedef struct loop {
    double node[NODES][3], burgers[3];
} loop;

static dd_segment segment_of(const loop *l, int i)
{
    dd_segment s;

    for (int d = 0; d < 3; d++) {
        s.x1[d] = l->node[i][d];
        s.x2[d] = l->node[(i + 1) % NODES][d];
        s.burgers[d] = l->burgers[d];
    }
    return s;
}

/* The integrand of the energy of two line elements along u and v at a distance r (Cai et al. 2006, with Ra for R); all
 * Burgers vectors of a loop are the same, so that their cross product's term is 0. */
static double density(const dd_medium *m, const double b[3], const double u[3], const double v[3], const double r[3])
{
    const double ra2 = dd_dot(r, r) + m->a * m->a, ra = sqrt(ra2), factor = m->mu / (8 * DD_PI);
    const double laplacian = 2 / ra + m->a * m->a / (ra2 * ra);
    double bu[3], bv[3];

    dd_cross(b, u, bu);
    dd_cross(b, v, bv);
    return factor * dd_dot(b, u) * dd_dot(b, v) * laplacian +
           2 * factor / (1 - m->nu) * (dd_dot(bu, bv) / ra - dd_dot(bu, r) * dd_dot(bv, r) / (ra2 * ra));
}

static double pair_energy(const dd_medium *m, const dd_segment *s, const dd_segment *t)
{
    enum { PANELS = 8 };
    const dd_gauss *rule = dd_gauss_for(6);
    const int n = PANELS * rule->n;
    double u[3], v[3], sum = 0;

    for (int d = 0; d < 3; d++) {
        u[d] = s->x2[d] - s->x1[d];
        v[d] = t->x2[d] - t->x1[d];
    }
    for (int i = 0; i < n; i++) {
        const double y = (i / rule->n + (1 + rule->x[i % rule->n]) / 2) / PANELS;
        for (int j = 0; j < n; j++) {
            const double z = (j / rule->n + (1 + rule->x[j % rule->n]) / 2) / PANELS;
            double r[3];
            for (int d = 0; d < 3; d++) {
                r[d] = s->x1[d] + y * u[d] - t->x1[d] - z * v[d];
            }
            sum += rule->w[i % rule->n] * rule->w[j % rule->n] * density(m, s->burgers, u, v, r);
        }
    }
    return sum / 4 / (PANELS * PANELS);
}

static double energy(const dd_medium *m, const loop *l)
{
    double sum = 0;

    for (int i = 0; i < NODES; i++) {
        const dd_segment s = segment_of(l, i);
        sum += pair_energy(m, &s, &s) / 2;
        for (int j = 0; j < i; j++) {
            const dd_segment t = segment_of(l, j);
            sum += pair_energy(m, &s, &t);
        }
    }
    return sum;
}

static void add_end(double force[NODES][3], int i, const double f[3])
{
    for (int d = 0; d < 3; d++) {
        force[i % NODES][d] += f[d];
    }
}

static void forces_of(dd_pairs_fn fn, const dd_medium *m, const loop *l, double force[NODES][3])
{
    memset(force, 0, NODES * sizeof *force);
    for (int i = 0; i < NODES; i++) {
        const dd_segment s = segment_of(l, i);
        double f[12];
        dd_self_elastic(m, &s, f);
        add_end(force, i, f);
        add_end(force, i + 1, f + 3);
        for (int j = 0; j < i; j++) {
            const dd_segment t = segment_of(l, j);
            dd_pair_force(fn, m, &s, &t, f);
            add_end(force, i, f);
            add_end(force, i + 1, f + 3);
            add_end(force, j, f + 6);
            add_end(force, j + 1, f + 9);
        }
    }
}

/* Four-point differences: their error is about (h / a)^4. */
TEST(forces_of_a_loop_are_derivatives_of_its_energy)
{
    const dd_medium m = {.mu = 3, .nu = 0.3, .a = 8};
    const double h = 0.05;
    dd_pairs_fn fn;
    uint64_t draw = 1;

    assert_ok(dd_pairs_choose(DD_ISA_AUTO, &fn, NULL));
    for (int round = 0; round < 2; round++) {
        loop l;
        double force[NODES][3], expected[NODES][3];

        dd_draw_vector(&draw, l.burgers);
        for (int i = 0; i < NODES; i++) {
            dd_draw_vector(&draw, l.node[i]);
            for (int d = 0; d < 3; d++) {
                l.node[i][d] *= 25;
            }
        }
        for (int i = 0; i < NODES; i++) {
            for (int d = 0; d < 3; d++) {
                static const double weight[4] = {1, -8, 8, -1}, step[4] = {-2, -1, 1, 2};
                const double kept = l.node[i][d];
                expected[i][d] = 0;
                for (int k = 0; k < 4; k++) {
                    l.node[i][d] = kept + step[k] * h;
                    expected[i][d] -= weight[k] * energy(&m, &l) / (12 * h);
                }
                l.node[i][d] = kept;
            }
        }
        forces_of(fn, &m, &l, force);
        dd_assert_below(dd_deviation(force[0], expected[0], 3 * NODES), 1e-7);
    }
}
