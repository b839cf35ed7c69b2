/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_valid.h"
#include "unit.h"

#include "motion/step.h"

static const dd_step_rule defaults = DD_STEP_RULE_DEFAULTS;

/* Velocities of two nodes whose motions decay and rotate. */
static void velocities(const double *x, double *v)
{
    for (int j = 0; j < 2; j++) {
        v[3 * j] = -x[3 * j] + 2.0 * x[3 * j + 1];
        v[3 * j + 1] = -2.0 * x[3 * j] - x[3 * j + 1];
        v[3 * j + 2] = -0.5 * (j + 1) * x[3 * j + 2];
    }
}

/* One step of the header's loop; updates x. */
static void advance(dd_stepper *stepper, double x[6])
{
    double v0[6], v1[6], x1[6];
    dd_verdict verdict;

    velocities(x, v0);
    assert_ok(dd_stepper_begin(stepper, dd_step_largest(2, v0)));
    dd_step_predict(2, x, v0, stepper->dt, x1);
    for (;;) {
        const double dt = stepper->dt;
        velocities(x1, v1);
        double error = dd_step_error(2, x, v0, x1, v1, dt);
        assert_ok(dd_stepper_judge(stepper, error, 0.0, &verdict));
        if (verdict == DD_STEP_ACCEPT) {
            assert_true(stepper->rule.method == DD_EULER || error <= stepper->rule.rtol);
            assert_true(stepper->done == dt);
            break;
        }
        if (verdict == DD_STEP_CORRECT) {
            assert_true(stepper->dt == dt);
            dd_step_correct(2, x, v0, v1, dt, x1);
        } else {
            assert_true(stepper->dt < dt);
            dd_step_predict(2, x, v0, stepper->dt, x1);
        }
    }
    memcpy(x, x1, sizeof x1);
}

/* Largest distance to the exact solution at about t = 1. */
static double deviation(dd_step_method method, double rtol, double dt_max)
{
    const double start[6] = {3, 1, 2, -1, 4, 5};
    dd_step_rule rule = defaults;
    dd_stepper stepper;
    double x[6], t = 0.0, worst = 0.0;

    rule.method = method;
    rule.rtol = rtol;
    rule.dt_max = dt_max;
    memcpy(x, start, sizeof x);
    assert_ok(dd_stepper_init(&stepper, &rule, 0.0));
    while (t < 1.0) {
        advance(&stepper, x);
        t += stepper.done;
    }
    for (int j = 0; j < 2; j++) {
        const double *s = &start[3 * j];
        double exact[3] = {exp(-t) * (cos(2 * t) * s[0] + sin(2 * t) * s[1]),
                           exp(-t) * (cos(2 * t) * s[1] - sin(2 * t) * s[0]), exp(-0.5 * (j + 1) * t) * s[2]};
        for (int i = 0; i < 3; i++) {
            worst = fmax(worst, fabs(x[3 * j + i] - exact[i]));
        }
    }
    return worst;
}

/* Errors per step are dt^2 or dt^3, by the method's order. */
TEST(solutions_converge)
{
    double coarse = deviation(DD_TRAPEZOID, 1.0, 0.02), fine = deviation(DD_TRAPEZOID, 1.0, 0.01);
    double limited = deviation(DD_TRAPEZOID, 1e-4, 1.0);
    double euler = deviation(DD_EULER, 1.0, 0.02), half = deviation(DD_EULER, 1.0, 0.01);
    double ways = deviation(DD_EULER, 0.001, 1.0);

    assert_true(coarse < 0.2 && fine < 0.6 * coarse);
    assert_true(limited < 0.05);
    assert_true(euler < 0.3 && half < 0.6 * euler);
    assert_true(ways < 0.02);
}

/* Iterated to convergence the step is the implicit trapezoid, of second order. */
TEST(corrections_converge)
{
    double worst[2];

    for (int k = 0; k < 2; k++) {
        const double dt = 0.02 / (k + 1);
        double x[6] = {3, 1, 2, -1, 4, 5}, v0[6], v1[6], x1[6];
        for (int step = 0; step < 50 * (k + 1); step++) {
            velocities(x, v0);
            dd_step_predict(2, x, v0, dt, x1);
            for (int i = 0; i < 30; i++) {
                velocities(x1, v1);
                dd_step_correct(2, x, v0, v1, dt, x1);
            }
            velocities(x1, v1);
            assert_true(dd_step_error(2, x, v0, x1, v1, dt) < 1e-13);
            memcpy(x, x1, sizeof x);
        }
        worst[k] = fabs(x[0] - exp(-1.0) * (cos(2.0) * 3.0 + sin(2.0)));
    }
    assert_near(worst[0] / worst[1], 4.0, 0.1);
}

TEST(errors_are_largest_components)
{
    const double x0[6] = {0, 0, 0, 1, 2, 3}, v0[6] = {2, 0, 0, 0, 0, 4}, v1[6] = {0, 2, 0, 0, 0, 4};
    double x1[6] = {1, 1, 0, 1, 2 + 3, 7 + 4}, v[6] = {0, 3, 4, 1, 1, 1};

    assert_near(dd_step_error(2, x0, v0, x1, v1, 1.0), 4.0, 1e-14); /* of 3 and 4 */
    assert_near(dd_step_error(1, x0, v0, x1, v1, 1.0), 0.0, 1e-14);
    assert_near(dd_step_error(0, x0, v0, x1, v1, 1.0), 0.0, 0.0);
    assert_near(dd_step_largest(2, v), 5.0, 1e-14);
    assert_near(dd_step_largest(0, v), 0.0, 0.0);
    assert_near(dd_step_way(2, v0, v1, 0.5), 2.0, 1e-14); /* of sqrt(0.5) and 2 */
    assert_near(dd_step_way(0, v0, v1, 0.5), 0.0, 0.0);
    x1[1] = v[0] = NAN;
    assert_true(isinf(dd_step_error(2, x0, v0, x1, v1, 1.0)));
    assert_true(isinf(dd_step_largest(2, v)));
    assert_true(isinf(dd_step_way(2, v0, v, 1.0)));
}

TEST(guesses_are_means_of_two_velocities)
{
    const double v0[6] = {2, 0, 4, 2, 0, 4}, last[6] = {0, 2, 0, 0, 0, 0};
    dd_stepper stepper = {.rule = defaults};
    double v[6];

    dd_step_guess(&stepper, 2, v0, last, v);
    assert_memory_equal(v, ((const double[6]){1, 1, 2, 2, 0, 4}), sizeof v);
    stepper.rule.method = DD_EULER;
    dd_step_guess(&stepper, 2, v0, last, v);
    assert_memory_equal(v, v0, sizeof v);
}

TEST(steps_are_no_longer_than_a_way)
{
    dd_step_rule rule = defaults;
    dd_stepper stepper;
    dd_verdict verdict;

    rule.way_max = 100.0;
    assert_ok(dd_stepper_init(&stepper, &rule, 1e-8));
    const double way[4] = {101.0, NAN, 101.0, 100.0};
    const dd_verdict want[4] = {DD_STEP_CORRECT, DD_STEP_RETRY, DD_STEP_CORRECT, DD_STEP_ACCEPT};
    for (int k = 0; k < 4; k++) {
        assert_ok(dd_stepper_judge(&stepper, 0.0, way[k], &verdict));
        assert_int_equal(verdict, want[k]);
    }
    rule.way_max = 0.0;
    assert_refused(dd_stepper_init(&stepper, &rule, 1e-8));
}

TEST(steps_grow_and_shrink)
{
    dd_step_rule rule = defaults;
    dd_stepper stepper;
    dd_verdict verdict;

    rule.rtol = 2.0;
    rule.dt_max = 1.0;
    rule.dt_min = 0.01;
    rule.corrections = 1;
    assert_ok(dd_stepper_init(&stepper, &rule, 0.5));
    assert_ok(dd_stepper_begin(&stepper, 100.0));
    assert_near(stepper.dt, 0.5, 0.0);
    assert_ok(dd_stepper_judge(&stepper, 2.0, 0.0, &verdict));
    assert_int_equal(verdict, DD_STEP_ACCEPT);
    assert_near(stepper.dt, 0.6, 1e-15);
    assert_near(stepper.done, 0.5, 0.0);
    /* Too large, too large again, cut, corrected, accepted: no growth. */
    const double error[5] = {2.1, 2.1, 5.0, 1.0, 0.0};
    const dd_verdict want[5] = {DD_STEP_CORRECT, DD_STEP_RETRY, DD_STEP_CORRECT, DD_STEP_ACCEPT, DD_STEP_ACCEPT};
    assert_ok(dd_stepper_begin(&stepper, 0.0));
    for (int k = 0; k < 4; k++) {
        assert_ok(dd_stepper_judge(&stepper, error[k], 0.0, &verdict));
        assert_int_equal(verdict, want[k]);
        assert_near(stepper.dt, k == 0 ? 0.6 : 0.3, 1e-15);
    }
    assert_int_equal(stepper.steps, 2);
    assert_int_equal(stepper.retries, 1);
    /* Nor after a correction alone. */
    assert_ok(dd_stepper_begin(&stepper, 0.0));
    assert_ok(dd_stepper_judge(&stepper, 2.1, 0.0, &verdict));
    assert_ok(dd_stepper_judge(&stepper, 1.0, 0.0, &verdict));
    assert_int_equal(verdict, DD_STEP_ACCEPT);
    assert_near(stepper.dt, 0.3, 1e-15);
    for (int k = 0; k < 20; k++) {
        assert_ok(dd_stepper_begin(&stepper, 0.0));
        assert_ok(dd_stepper_judge(&stepper, 0.0, 0.0, &verdict));
    }
    assert_near(stepper.dt, 1.0, 0.0);
    /* NaN is never accepted or corrected; finally the step is stuck. */
    assert_ok(dd_stepper_begin(&stepper, 0.0));
    for (int k = 0; k < 6; k++) {
        assert_ok(dd_stepper_judge(&stepper, k % 2 == 0 ? NAN : INFINITY, 0.0, &verdict));
        assert_int_equal(verdict, DD_STEP_RETRY);
    }
    dd_stepper before = stepper;
    assert_int_equal(dd_stepper_judge(&stepper, NAN, 0.0, &verdict), EQP_ERR_STATE);
    assert_memory_equal(&before, &stepper, sizeof before);
}

TEST(euler_limits_the_way)
{
    dd_step_rule rule = defaults;
    dd_stepper stepper;
    dd_verdict verdict;

    rule.method = DD_EULER;
    rule.rtol = 3.0;
    rule.dt_max = 0.1;
    assert_ok(dd_stepper_init(&stepper, &rule, 0.0));
    const double largest[5] = {0.0, 29.0, 60.0, 1e300, 1e-310}, dt[5] = {0.1, 0.1, 0.05, 3e-300, 0.1};
    for (int k = 0; k < 5; k++) {
        assert_ok(dd_stepper_begin(&stepper, largest[k]));
        assert_near(stepper.dt / dt[k], 1.0, 1e-14);
        assert_ok(dd_stepper_judge(&stepper, 1e9, 0.0, &verdict));
        assert_int_equal(verdict, DD_STEP_ACCEPT);
        assert_near(stepper.done / dt[k], 1.0, 1e-14);
    }
    assert_int_equal(dd_stepper_begin(&stepper, INFINITY), EQP_ERR_DATA);
    assert_int_equal(dd_stepper_begin(&stepper, NAN), EQP_ERR_DATA);
}
