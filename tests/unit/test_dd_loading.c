/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "motion/loading.h"

#define PI 3.14159265358979323846

enum { MOST = 64, XX = 0, YY, ZZ, YZ, ZX, XY };

static const double nothing[6] = {0};
static const dd_medium medium = {.mu = 50e9, .nu = 0.3, .a = 1.0};
static const double young = 2.0 * 50e9 * 1.3;

/* A polygon about the z axis, counterclockwise, at a height. */
static void polygon(int n, double radius, double height, const double burgers[3], dd_segment *segment)
{
    for (int k = 0; k < n; k++) {
        const double a = 2.0 * PI * k / n, b = 2.0 * PI * ((k + 1) % n) / n;
        segment[k] = (dd_segment){{radius * cos(a), radius * sin(a), height},
                                  {radius * cos(b), radius * sin(b), height},
                                  {burgers[0], burgers[1], burgers[2]}};
    }
}

/* A growing shear loop strains the volume by exactly b A / V, by steps of any shape. */
TEST(a_loop_grows)
{
    const double burgers[3] = {1, 0, 0}, volume = 1e6;
    dd_segment before[MOST], middle[MOST], after[MOST];

    for (int n = 3; n <= MOST; n += 7) {
        double strain[6] = {0}, part[6] = {0};
        polygon(n, 50.0, 0.0, burgers, before);
        polygon(n, 11.0, 30.0, burgers, middle);
        polygon(n, 80.0, 0.0, burgers, after);
        for (int k = 0; k < n; k++) {
            dd_strain_sweep(&before[k], &after[k], volume, strain);
            dd_strain_sweep(&before[k], &middle[k], volume, part);
            dd_strain_sweep(&middle[k], &after[k], volume, part);
        }
        /* Counterclockwise and outwards: t x d points down. */
        const double want = -0.5 * n * (80.0 * 80.0 - 50.0 * 50.0) * sin(2.0 * PI / n) / volume / 2.0;
        for (int k = 0; k < 6; k++) {
            assert_near(strain[k], k == ZX ? want : 0.0, 1e-14);
            assert_near(part[k], strain[k], 1e-13);
        }
        assert_near(dd_segment_length(&before[1]), 2.0 * 50.0 * sin(PI / n), 1e-9);
    }
}

/* stress : strain V is the work of the Peach-Koehler forces at mid-step, exact since they are linear. */
TEST(strain_is_work)
{
    const double stress[6] = {3, -2, 5, 0.7, -1.1, 4}, volume = 1234.0, burgers[3] = {0.3, -0.8, 0.5};
    dd_segment before[16], after[16];
    double strain[6] = {0}, work = 0.0, gained = 0.0;

    polygon(16, 5.0, 0.0, burgers, before);
    polygon(16, 9.0, 2.0, burgers, after);
    for (int k = 0; k < 16; k++) {
        dd_segment middle = before[k];
        double force[6];
        for (int i = 0; i < 3; i++) { /* distorted, but still closed */
            after[k].x2[i] += 0.5 * sin(3.0 * ((k + 1) % 16) + i);
            after[k].x1[i] += 0.5 * sin(3.0 * k + i);
            middle.x1[i] = 0.5 * (before[k].x1[i] + after[k].x1[i]);
            middle.x2[i] = 0.5 * (before[k].x2[i] + after[k].x2[i]);
        }
        dd_peach_koehler(stress, &middle, force);
        for (int i = 0; i < 3; i++) {
            work += force[i] * (after[k].x1[i] - before[k].x1[i]) + force[3 + i] * (after[k].x2[i] - before[k].x2[i]);
        }
        dd_strain_sweep(&before[k], &after[k], volume, strain);
    }
    for (int k = 0; k < 6; k++) {
        gained += (k < 3 ? 1.0 : 2.0) * stress[k] * strain[k] * volume;
    }
    assert_true(fabs(work) > 1.0);
    assert_near(gained / work, 1.0, 1e-12);
}

TEST(creep_keeps_the_stress)
{
    const double direction[3] = {0, 0, 2}, stress[6] = {1e6, 0, 2e6, 3e6, 0, 0}, strain[6] = {1, 2, 3, 4, 5, 6};
    dd_loading loading;

    dd_loading_init(&loading, DD_CREEP, &medium, 5.0, direction, stress);
    dd_loading_advance(&loading, 1e-3, strain);
    dd_loading_advance(&loading, 1e-3, strain);
    assert_memory_equal(loading.stress, stress, sizeof stress);
    for (int k = 0; k < 6; k++) {
        assert_near(loading.strain[k], 2.0 * strain[k], 0.0);
    }
    assert_near(dd_loading_along(&loading, loading.strain), 6.0, 1e-14);
}

/* The axial stress is E times the elastic strain, all other stresses are zero; plastic strain does not load. */
TEST(a_strain_rate_loads)
{
    const double direction[3] = {3, 4, 0}, e[3] = {0.6, 0.8, 0};
    const double strain[6] = {1e-6, 2e-6, 7e-6, 3e-6, 4e-6, -5e-6};
    const double along = 0.36 * 1e-6 + 0.64 * 2e-6 + 2.0 * 0.48 * -5e-6;
    dd_loading loading;

    dd_loading_init(&loading, DD_STRAIN_RATE, &medium, 10.0, direction, nothing);
    assert_near(dd_loading_along(&loading, strain), along, 1e-18);
    for (int step = 0; step < 2; step++) {
        dd_loading_advance(&loading, 1e-6, step == 0 ? nothing : strain);
        const double size = young * (step == 0 ? 1e-5 : 2e-5 - along);
        assert_near(dd_loading_along(&loading, loading.stress) / size, 1.0, 1e-12);
        assert_near(loading.stress[XX] / size, e[0] * e[0], 1e-12);
        assert_near(loading.stress[XY] / size, e[0] * e[1], 1e-12);
        assert_near(loading.stress[ZZ], 0.0, 0.0);
    }
}

/* Elastic cycles are a triangle wave between plus and minus the amplitude. A resumed run takes the sign from its
 * time. */
TEST(cycles_turn_at_their_amplitude)
{
    const double z[3] = {0, 0, 1}, dt = 1e-6, amplitude = 1e-4;
    dd_loading loading, later;

    dd_loading_init(&loading, DD_STRAIN_RATE, &medium, 10.0, z, nothing);
    dd_loading_cycle(&loading, amplitude, 0.0);
    for (int step = 1; step <= 90; step++) { /* slightly longer first steps, so that rounding decides no turn */
        /* Ten steps to the amplitude, forty a cycle. */
        const int phase = (step + 10) % 40;
        const double strain = amplitude * (phase <= 20 ? phase - 10 : 30 - phase) / 10.0;
        dd_loading_advance(&loading, dt * (step < 3 ? 1.000001 : 1.0), nothing);
        assert_near(loading.stress[ZZ] / (young * amplitude), strain / amplitude, 1e-5);
        if (phase != 0 && phase != 20) {
            dd_loading_init(&later, DD_STRAIN_RATE, &medium, -10.0, z, nothing);
            dd_loading_cycle(&later, amplitude, loading.time);
            assert_near(later.rate, phase < 20 ? 10.0 : -10.0, 0.0);
            assert_near(loading.rate, later.rate, 0.0);
        }
    }
}
