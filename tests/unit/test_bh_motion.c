/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <equipoise/error.h>

#include "defaults.h"
#include "generate.h"
#include "motion.h"
#include "serial.h"
#include "slow.h"

#include <math.h>
#include <stdlib.h>

/* Columns: x y z vx vy vz m ax ay az pot, all [n]. */
enum { X, Y, Z, VX, VY, VZ, M, AX, AY, AZ, POT, COLUMNS };

typedef struct body_system {
    int64_t n;
    double eps;
    double *at[COLUMNS];
} body_system;

static body_system make_system(int64_t n, double eps)
{
    body_system made = {n, eps, {0}};

    for (int k = 0; k < COLUMNS; k++) {
        made.at[k] = calloc((size_t)n, sizeof(double));
        assert_non_null(made.at[k]);
    }
    return made;
}

static void free_system(body_system *of)
{
    for (int k = 0; k < COLUMNS; k++) {
        free(of->at[k]);
    }
}

static void direct_forces(body_system *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        s->at[AX][i] = s->at[AY][i] = s->at[AZ][i] = s->at[POT][i] = 0;
    }
    bh_direct(s->n, s->at[X], s->at[Y], s->at[Z], s->at[M], 1, s->eps, s->n, s->at[X], s->at[Y], s->at[Z], s->at[AX],
              s->at[AY], s->at[AZ], s->at[POT]);
    for (int64_t i = 0; i < s->n; i++) {
        s->at[POT][i] -= bh_potential_self(1, s->at[M][i], s->eps);
    }
}

static void tree_forces(body_system *s)
{
    const bh_mac mac = {.theta = BH_DEFAULT_THETA, .G = 1};
    bh_serial serial;

    assert_int_equal(bh_serial_build(&serial, s->n, s->at[X], s->at[Y], s->at[Z], s->at[M], NULL, BH_DEFAULT_LEAF_SIZE,
                                     BH_DEFAULT_GROUP_SIZE),
                     EQP_OK);
    assert_int_equal(bh_serial_force(&serial, NULL, &mac, 1, s->eps, s->at[AX], s->at[AY], s->at[AZ], s->at[POT], NULL),
                     EQP_OK);
    bh_serial_free(&serial);
}

static void step(body_system *s, double dt, void (*forces)(body_system *))
{
    bh_kick(s->n, dt / 2, s->at[AX], s->at[AY], s->at[AZ], s->at[VX], s->at[VY], s->at[VZ]);
    bh_drift(s->n, dt, s->at[VX], s->at[VY], s->at[VZ], s->at[X], s->at[Y], s->at[Z]);
    forces(s);
    bh_kick(s->n, dt / 2, s->at[AX], s->at[AY], s->at[AZ], s->at[VX], s->at[VY], s->at[VZ]);
}

static bh_sums sums_of(const body_system *s)
{
    bh_sums made;

    bh_sums_make(s->n, s->at[M], s->at[X], s->at[Y], s->at[Z], s->at[VX], s->at[VY], s->at[VZ], s->at[AX], s->at[AY],
                 s->at[AZ], s->at[POT], 0, &made);
    return made;
}

static void assert_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance)) {
        fail_msg("%.17g is not %.17g within %g", got, wanted, tolerance);
    }
}

/* Masses 3 and 1 on a relative ellipse with semi-major axis 1, excentricity 0.5, at apocentre. G = 1, period pi. */
static body_system make_binary(void)
{
    body_system pair = make_system(2, 0);
    double apart = 1.5, speed = sqrt(4 * (2 / apart - 1));

    pair.at[M][0] = 3;
    pair.at[M][1] = 1;
    pair.at[X][0] = -0.25 * apart;
    pair.at[X][1] = 0.75 * apart;
    pair.at[VY][0] = -0.25 * speed;
    pair.at[VY][1] = 0.75 * speed;
    direct_forces(&pair);
    return pair;
}

static void sums_of_a_binary_are_those_on_paper(void **state)
{
    body_system pair = make_binary();

    (void)state;
    for (int i = 0; i < 2; i++) { /* moved and set going as a whole */
        pair.at[Y][i] += 10;
        pair.at[VZ][i] += 2;
    }
    bh_sums sums = sums_of(&pair);
    assert_near(sums.mass, 4, 0);
    assert_near(sums.kinetic + sums.potential, -3 / 2.0 + 0.5 * 4 * 4, 1e-14); /* -m1 m2 / 2a, and the whole's motion */
    assert_near(sums.potential, -3 / 1.5, 1e-14);
    assert_near(sums.virial, sums.potential, 1e-14);
    assert_near(sums.moment[0], 0, 1e-15);
    assert_near(sums.moment[1], 40, 1e-14);
    assert_near(sums.momentum[1], 0, 1e-15);
    assert_near(sums.momentum[2], 8, 1e-14);
    assert_near(sums.angular[0], 80, 1e-13);
    assert_near(sums.angular[2], 0.75 * sqrt(4 * 0.75), 1e-14); /* reduced mass x sqrt(M a (1 - e^2)) */
    free_system(&pair);
}

static void sums_of_nothing_are_zero(void **state)
{
    bh_sums sums = {.mass = 1, .angular = {1, 1, 1}};

    (void)state;
    bh_sums_make(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, &sums);
    for (int i = 0; i < BH_SUMS_DOUBLES; i++) {
        assert_true(((const double *)&sums)[i] == 0);
    }
}

static void sums_do_not_lose_small_terms(void **state)
{
    body_system s = make_system(1002, 0);

    (void)state;
    for (int64_t i = 0; i < s.n; i++) {
        s.at[M][i] = 1;
        s.at[VX][i] = 1e-3;
    }
    s.at[VX][0] = 1e16;
    s.at[VX][1001] = -1e16;
    assert_near(sums_of(&s).momentum[0], 1, 1e-15);
    free_system(&s);
}

/* How far the binary is from where it started after one period of `steps` steps. */
static double error_after_a_period(int steps)
{
    body_system pair = make_binary();
    double start = pair.at[X][1];

    for (int i = 0; i < steps; i++) {
        step(&pair, 3.14159265358979323846 / steps, direct_forces);
    }
    double error = hypot(pair.at[X][1] - start, pair.at[Y][1]);
    free_system(&pair);
    return error;
}

static void the_leapfrog_is_of_second_order(void **state)
{
    double ratio = error_after_a_period(500) / error_after_a_period(1000);

    (void)state;
    assert_true(ratio > 3.8 && ratio < 4.2);
}

static void the_leapfrog_runs_backwards_to_where_it_began(void **state)
{
    body_system pair = make_binary(), start = make_binary();

    (void)state;
    for (int i = 0; i < 400; i++) {
        step(&pair, i < 200 ? 0.01 : -0.01, direct_forces);
    }
    for (int k = X; k <= VZ; k++) {
        for (int i = 0; i < 2; i++) {
            assert_near(pair.at[k][i], start.at[k][i], 1e-11);
        }
    }
    free_system(&pair);
    free_system(&start);
}

static double length(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* Standard N-body units: energy -1/4, crossing time 2 sqrt(2); 200 steps of 1/64 are 1.1 crossing times. Measured with
 * three seeds: |dE/E| at most 4.3e-5, momentum 2.2e-5 and angular momentum 1.5e-5 (the forces of a tree are not exactly
 * opposite), virial ratio 0.978 to 0.984. The limits leave a factor of about 4. */
static void a_plummer_sphere_conserves_what_it_should_over_200_steps(void **state)
{
    bh_generator generator;
    double worst = 0;

    (void)state;
    assert_int_equal(bh_generator_parse("plummer:n=4096,seed=11", &generator, NULL), EQP_OK);
    body_system s = make_system(bh_generator_count(&generator), 0.05);
    assert_int_equal(bh_generate(&generator, 0, s.n, s.at[X], s.at[Y], s.at[Z], s.at[VX], s.at[VY], s.at[VZ], s.at[M]),
                     EQP_OK);
    tree_forces(&s);
    const bh_sums first = sums_of(&s);
    bh_sums now = first;
    for (int i = 0; i < (slow_here() ? 20 : 200); i++) {
        step(&s, 1.0 / 64, tree_forces);
        now = sums_of(&s);
        double energy = first.kinetic + first.potential;
        worst = fmax(worst, fabs((now.kinetic + now.potential - energy) / energy));
    }
    print_message("dE/E %.2e, momentum %.2e, angular momentum %.2e, virial ratio %.3f\n", worst,
                  length(now.momentum, first.momentum), length(now.angular, first.angular),
                  -2 * now.kinetic / now.virial);
    assert_true(worst < 2e-4);
    assert_true(length(now.momentum, first.momentum) < 1e-4);
    assert_true(length(now.angular, first.angular) < 1e-4);
    assert_near(now.mass, 1, 1e-14);
    assert_near(-2 * now.kinetic / now.virial, 1, 0.05);
    free_system(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_a_binary_are_those_on_paper),
        cmocka_unit_test(sums_of_nothing_are_zero),
        cmocka_unit_test(sums_do_not_lose_small_terms),
        cmocka_unit_test(the_leapfrog_is_of_second_order),
        cmocka_unit_test(the_leapfrog_runs_backwards_to_where_it_began),
        cmocka_unit_test(a_plummer_sphere_conserves_what_it_should_over_200_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
