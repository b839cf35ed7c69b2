/* SPDX-License-Identifier: BSD-3-Clause */
#include "step.h"

#include <equipoise/error.h>

#include <math.h>

void dd_stepper_init(dd_stepper *stepper, const dd_step_rule *rule, double dt)
{
    *stepper = (dd_stepper){.rule = *rule, .dt = dt > 0.0 ? fmin(dt, rule->dt_max) : rule->dt_max};
}

int dd_stepper_begin(dd_stepper *stepper, double largest)
{
    if (!(largest >= 0.0) || !isfinite(largest)) {
        return EQP_ERR_DATA;
    }
    stepper->corrected = 0;
    stepper->cut = false;
    if (stepper->rule.method == DD_EULER) {
        /* Compared as products, as a quotient by a tiny velocity may overflow. */
        bool far = largest * stepper->rule.dt_max > stepper->rule.rtol;
        stepper->dt = far ? stepper->rule.rtol / largest : stepper->rule.dt_max;
    }
    return EQP_OK;
}

int dd_stepper_judge(dd_stepper *stepper, double error, double way, dd_verdict *verdict)
{
    const dd_step_rule *rule = &stepper->rule;

    if (rule->method == DD_EULER || (error <= rule->rtol && way <= rule->way_max)) {
        stepper->done = stepper->dt;
        if (rule->method == DD_TRAPEZOID && !stepper->cut && stepper->corrected == 0) {
            stepper->dt = fmin(stepper->dt * rule->grow, rule->dt_max);
        }
        *verdict = DD_STEP_ACCEPT;
        return EQP_OK;
    }
    if (stepper->corrected < rule->corrections && isfinite(error + way)) {
        stepper->corrected++;
        *verdict = DD_STEP_CORRECT;
        return EQP_OK;
    }
    if (!(stepper->dt * rule->shrink >= rule->dt_min) || !(stepper->dt * rule->shrink > 0.0)) {
        return EQP_ERR_STATE;
    }
    stepper->dt *= rule->shrink;
    stepper->corrected = 0;
    stepper->cut = true;
    *verdict = DD_STEP_RETRY;
    return EQP_OK;
}

void dd_step_guess(const dd_stepper *stepper, int64_t n, const double *v0, const double *last, double *v)
{
    for (int64_t j = 0; j < 3 * n; j += 3) {
        const bool any = last[j] != 0.0 || last[j + 1] != 0.0 || last[j + 2] != 0.0;
        for (int64_t i = j; i < j + 3; i++) {
            v[i] = any && stepper->rule.method == DD_TRAPEZOID ? 0.5 * (v0[i] + last[i]) : v0[i];
        }
    }
}

void dd_step_predict(int64_t n, const double *x0, const double *v, double dt, double *x1)
{
    for (int64_t i = 0; i < 3 * n; i++) {
        x1[i] = x0[i] + dt * v[i];
    }
}

void dd_step_correct(int64_t n, const double *x0, const double *v0, const double *v1, double dt, double *x1)
{
    for (int64_t i = 0; i < 3 * n; i++) {
        x1[i] = x0[i] + 0.5 * dt * (v0[i] + v1[i]);
    }
}

/* The larger value; NaN counts as larger than all numbers. */
static double larger(double largest, double other)
{
    return other <= largest ? largest : (isnan(other) ? INFINITY : other);
}

double dd_step_error(int64_t n, const double *x0, const double *v0, const double *x1, const double *v1, double dt)
{
    double most = 0.0;

    for (int64_t i = 0; i < 3 * n; i++) {
        most = larger(most, fabs(x1[i] - x0[i] - 0.5 * dt * (v0[i] + v1[i])));
    }
    return most;
}

double dd_step_way(int64_t n, const double *v0, const double *v1, double dt)
{
    double most = 0.0;

    for (int64_t i = 0; i < 3 * n; i += 3) {
        const double v[3] = {v0[i] + v1[i], v0[i + 1] + v1[i + 1], v0[i + 2] + v1[i + 2]};
        most = larger(most, dd_step_largest(1, v));
    }
    return 0.5 * dt * most;
}

double dd_step_largest(int64_t n, const double *v)
{
    double largest = 0.0;

    for (const double *at = v; at < v + 3 * n; at += 3) {
        largest = larger(largest, at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
    }
    return sqrt(largest);
}
