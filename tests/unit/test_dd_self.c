/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces on a segment by itself and by an applied stress. */
#include "dd_segments.h"
#include "dd_stress.h"
#include "unit.h"

#include "elastic/pairs.h"

/* A segment's own stress, integrated along it: it needs many panels because it is sharp near the ends. */
TEST(elastic_self_force_is_that_of_the_own_stress)
{
    enum { PANELS = 60 };
    const dd_medium m = {.mu = 5, .nu = 0.2, .a = 2, .core = 1};
    const dd_gauss *rule = dd_gauss_for(6);
    uint64_t draw = 1;

    for (int i = 0; i < 20; i++) {
        const dd_segment s = dd_draw_segment(&draw, 50, 40);
        double expected[6] = {0}, force[6];

        for (int p = 0; p < PANELS; p++) {
            for (int g = 0; g < rule->n; g++) {
                const double at = (p + (1 + rule->x[g]) / 2) / PANELS, weight = rule->w[g] / PANELS;
                double x[3], stress[6], f[6];
                for (int d = 0; d < 3; d++) {
                    x[d] = s.x1[d] + at * (s.x2[d] - s.x1[d]);
                }
                dd_stress_of_segment(&m, &s, x, stress);
                dd_peach_koehler(stress, &s, f);
                for (int d = 0; d < 3; d++) {
                    expected[d] += weight * (1 - at) * f[d];
                    expected[3 + d] += weight * at * f[d];
                }
            }
        }
        dd_self_elastic(&m, &s, force);
        dd_assert_below(dd_deviation(force, expected, 6), 1e-9);
    }
}

/* The core's energy is core * L (bs^2 + be^2 / (1 - nu)). */
static double core_energy(const dd_medium *m, const dd_segment *s)
{
    double t[3];

    for (int d = 0; d < 3; d++) {
        t[d] = s->x2[d] - s->x1[d];
    }
    const double length = sqrt(dd_dot(t, t)), screw = dd_dot(s->burgers, t) / length;
    const double edge2 = dd_dot(s->burgers, s->burgers) - screw * screw;
    return m->core * length * (screw * screw + edge2 / (1 - m->nu));
}

TEST(core_force_is_the_derivative_of_its_energy)
{
    const dd_medium m = {.mu = 5, .nu = 0.2, .a = 2, .core = 0.7};
    uint64_t draw = 2;

    for (int i = 0; i < 20; i++) {
        dd_segment s = dd_draw_segment(&draw, 50, 40);
        double elastic[6], whole[6], core[6], expected[6];

        dd_self_elastic(&m, &s, elastic);
        dd_self_force(&m, &s, whole);
        for (int k = 0; k < 6; k++) {
            double *x = k < 3 ? &s.x1[k] : &s.x2[k - 3];
            const double kept = *x, h = 1e-3;
            *x = kept + h;
            const double up = core_energy(&m, &s);
            *x = kept - h;
            expected[k] = (core_energy(&m, &s) - up) / (2 * h);
            *x = kept;
            core[k] = whole[k] - elastic[k];
        }
        dd_assert_below(dd_deviation(core, expected, 6), 1e-6);
    }
}

TEST(applied_stress_pushes_both_ends_alike)
{
    /* A screw along z with b along z in a shear yz: force sigma b along x per length. */
    const dd_segment screw = {{1, 2, 3}, {1, 2, 13}, {0, 0, 2}};
    const double yz[6] = {0, 0, 0, 0.5, 0, 0}, zx[6] = {0, 0, 0, 0, 0.5, 0}, xx[6] = {1, 0, 0, 0, 0, 0};
    const double along_x[6] = {5, 0, 0, 5, 0, 0}, along_y[6] = {0, -5, 0, 0, -5, 0};
    const dd_segment edge = {{0, 0, 0}, {0, 0, 4}, {3, 0, 0}};
    const double climb[6] = {0, -6, 0, 0, -6, 0};
    double force[6];

    dd_peach_koehler(yz, &screw, force);
    dd_assert_below(dd_deviation(force, along_x, 6), 1e-15);
    dd_peach_koehler(zx, &screw, force);
    dd_assert_below(dd_deviation(force, along_y, 6), 1e-15);
    dd_peach_koehler(xx, &edge, force);
    dd_assert_below(dd_deviation(force, climb, 6), 1e-15);
}
