/* SPDX-License-Identifier: BSD-3-Clause */
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
    do {
        const double dt = stepper->dt;
        velocities(x1, v1);
        const double error = dd_step_error(2, x, v0, x1, v1, dt);
        assert_ok(dd_stepper_judge(stepper, error, 0.0, &verdict));
        if (verdict == DD_STEP_ACCEPT) {
            assert_true(stepper->rule.method == DD_EULER || error <= stepper->rule.rtol);
            assert_true(stepper->done == dt);
        } else if (verdict == DD_STEP_CORRECT) {
            assert_true(stepper->dt == dt);
            dd_step_correct(2, x, v0, v1, dt, x1);
        } else {
            assert_true(stepper->dt < dt);
            dd_step_predict(2, x, v0, stepper->dt, x1);
        }
    } while (verdict != DD_STEP_ACCEPT);
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
    for (dd_stepper_init(&stepper, &rule, 0.0); t < 1.0; t += stepper.done) {
        advance(&stepper, x);
    }
    for (int j = 0; j < 6; j += 3) {
        const double *s = start + j, c = exp(-t) * cos(2 * t), d = exp(-t) * sin(2 * t);
        const double exact[3] = {c * s[0] + d * s[1], c * s[1] - d * s[0], exp(-0.5 * (j / 3 + 1) * t) * s[2]};
        for (int i = 0; i < 3; i++) {
            worst = fmax(worst, fabs(x[j + i] - exact[i]));
        }
    }
    return worst;
}

/* Errors per step are dt^2 or dt^3, by the method's order. */
TEST(solutions_converge)
{
    const double coarse = deviation(DD_TRAPEZOID, 1.0, 0.02), euler = deviation(DD_EULER, 1.0, 0.02);

    assert_true(coarse < 0.2 && deviation(DD_TRAPEZOID, 1.0, 0.01) < 0.6 * coarse);
    assert_true(euler < 0.3 && deviation(DD_EULER, 1.0, 0.01) < 0.6 * euler);
    assert_true(deviation(DD_TRAPEZOID, 1e-4, 1.0) < 0.05);
    assert_true(deviation(DD_EULER, 0.001, 1.0) < 0.02);
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
    assert_near(dd_step_largest(2, v), 5.0, 1e-14);
    assert_near(dd_step_way(2, v0, v1, 0.5), 2.0, 1e-14); /* of sqrt(0.5) and 2 */
    assert_true(dd_step_error(0, x0, v0, x1, v1, 1.0) == 0 && dd_step_largest(0, v) == 0);
    assert_true(dd_step_way(0, v0, v1, 0.5) == 0);
    x1[1] = v[0] = NAN;
    assert_true(isinf(dd_step_error(2, x0, v0, x1, v1, 1.0)) && isinf(dd_step_largest(2, v)));
    assert_true(isinf(dd_step_way(2, v0, v, 1.0)));
}

TEST(guesses_are_means_of_two_velocities)
{
    const double v0[6] = {2, 0, 4, 2, 0, 4}, last[6] = {0, 2, 0, 0, 0, 0}, mean[6] = {1, 1, 2, 2, 0, 4};
    dd_stepper stepper = {.rule = defaults};
    double v[6];

    dd_step_guess(&stepper, 2, v0, last, v);
    assert_memory_equal(v, mean, sizeof v);
    stepper.rule.method = DD_EULER;
    dd_step_guess(&stepper, 2, v0, last, v);
    assert_memory_equal(v, v0, sizeof v);
}

/* A history of one stepper: error and way of a try, the verdict, and dt after it. Steps grow by 1.2 up to dt_max unless
 * a try was corrected or cut, are cut by 2, and are no longer than a way; NaN is neither accepted nor corrected. */
TEST(steps_grow_and_shrink)
{
    static const struct {
        bool begins;
        double error, way;
        dd_verdict verdict;
        double dt;
    } tries[] = {
        {true, 2.0, 0, DD_STEP_ACCEPT, 0.6},
        {true, 2.1, 0, DD_STEP_CORRECT, 0.6}, /* too large, too large again, cut, corrected, accepted: no growth */
        {false, 2.1, 0, DD_STEP_RETRY, 0.3},
        {false, 5.0, 0, DD_STEP_CORRECT, 0.3},
        {false, 1.0, 0, DD_STEP_ACCEPT, 0.3},
        {true, 2.1, 0, DD_STEP_CORRECT, 0.3}, /* nor after a correction alone */
        {false, 1.0, 0, DD_STEP_ACCEPT, 0.3},
        {true, 0, 100.0, DD_STEP_ACCEPT, 0.36},
        {true, 0, 101.0, DD_STEP_CORRECT, 0.36},
        {false, 0, NAN, DD_STEP_RETRY, 0.18},
        {false, 0, 101.0, DD_STEP_CORRECT, 0.18},
        {false, 0, 100.0, DD_STEP_ACCEPT, 0.18},
        {true, NAN, 0, DD_STEP_RETRY, 0.09},
        {false, INFINITY, 0, DD_STEP_RETRY, 0.045},
        {false, NAN, 0, DD_STEP_RETRY, 0.0225},
    };
    dd_step_rule rule = defaults;
    dd_stepper stepper;
    dd_verdict verdict;

    rule.rtol = 2.0;
    rule.way_max = 100.0;
    rule.dt_max = 1.0;
    rule.dt_min = 0.012;
    rule.corrections = 1;
    dd_stepper_init(&stepper, &rule, 0.5);
    for (int k = 0; k < COUNT_OF(tries); k++) {
        const double dt = stepper.dt;
        if (tries[k].begins) {
            assert_ok(dd_stepper_begin(&stepper, 100.0));
            assert_true(stepper.dt == dt);
        }
        assert_ok(dd_stepper_judge(&stepper, tries[k].error, tries[k].way, &verdict));
        assert_int_equal(verdict, tries[k].verdict);
        assert_near(stepper.dt, tries[k].dt, 1e-15);
        assert_true(verdict != DD_STEP_ACCEPT || stepper.done == dt);
    }
    const dd_stepper before = stepper; /* stuck */
    assert_int_equal(dd_stepper_judge(&stepper, NAN, 0.0, &verdict), EQP_ERR_STATE);
    assert_memory_equal(&before, &stepper, sizeof before);
    for (int k = 0; k < 30; k++) {
        assert_ok(dd_stepper_begin(&stepper, 0.0));
        assert_ok(dd_stepper_judge(&stepper, 0.0, 0.0, &verdict));
    }
    assert_near(stepper.dt, 1.0, 0.0);
}

TEST(euler_limits_the_way)
{
    const double largest[5] = {0.0, 29.0, 60.0, 1e300, 1e-310}, dt[5] = {0.1, 0.1, 0.05, 3e-300, 0.1};
    dd_step_rule rule = defaults;
    dd_stepper stepper;
    dd_verdict verdict;

    rule.method = DD_EULER;
    rule.rtol = 3.0;
    rule.dt_max = 0.1;
    dd_stepper_init(&stepper, &rule, 0.0);
    for (int k = 0; k < 5; k++) {
        assert_ok(dd_stepper_begin(&stepper, largest[k]));
        assert_ok(dd_stepper_judge(&stepper, 1e9, 0.0, &verdict));
        assert_int_equal(verdict, DD_STEP_ACCEPT);
        assert_near(stepper.done / dt[k], 1.0, 1e-14);
    }
    assert_int_equal(dd_stepper_begin(&stepper, INFINITY), EQP_ERR_DATA);
    assert_int_equal(dd_stepper_begin(&stepper, NAN), EQP_ERR_DATA);
}
