/* SPDX-License-Identifier: BSD-3-Clause */
/* Analytic forms of cumulative time functions, and their fits to samples. */
#include "base/internal.h"

#include <equipoise/more/models.h>

#include <math.h>

#define LEGENDRE 1.08366 /* of his density of primes, 1 / (ln x - LEGENDRE) */

static double power_value(const void *user, double x)
{
    const double *c = ((const eqp_functional_family *)user)->c;

    return c[0] * pow(x, c[1]);
}

static double power_slope(const void *user, double x)
{
    const double *c = ((const eqp_functional_family *)user)->c;

    return c[0] * c[1] * pow(x, c[1] - 1);
}

static double power_bend(const void *user, double x)
{
    const double *c = ((const eqp_functional_family *)user)->c;

    return c[0] * c[1] * (c[1] - 1) * pow(x, c[1] - 2);
}

/* r in the source: with it t' = t (p - r) / x. */
static double primes_r(double x)
{
    return 1 / (log(x) - LEGENDRE);
}

static double primes_value(const void *user, double x)
{
    return power_value(user, x) * primes_r(x);
}

static double primes_slope(const void *user, double x)
{
    const double p = ((const eqp_functional_family *)user)->c[1];

    return primes_value(user, x) * (p - primes_r(x)) / x; /* (5) */
}

/* The derivative of t (p - r) / x, with r' = -r^2 / x. */
static double primes_bend(const void *user, double x)
{
    const double p = ((const eqp_functional_family *)user)->c[1], r = primes_r(x);

    return primes_value(user, x) * ((p - r) * (p - r - 1) + r * r) / (x * x);
}

static double polynomial_value(const void *user, double x)
{
    const double *c = ((const eqp_functional_family *)user)->c;

    return x * (c[0] + x * (c[1] + x * c[2]));
}

static double polynomial_slope(const void *user, double x)
{
    const double *c = ((const eqp_functional_family *)user)->c;

    return c[0] + x * (2 * c[1] + 3 * x * c[2]);
}

static double polynomial_bend(const void *user, double x)
{
    const double *c = ((const eqp_functional_family *)user)->c;

    return 2 * c[1] + 6 * x * c[2];
}

static int is_family(const eqp_functional_family *f, double low)
{
    const double *c = f->c;

    if (!isfinite(c[0]) || !isfinite(c[1]) || !(low >= 0)) {
        return 0;
    }
    switch (f->form) {
    case EQP_FUNCTIONAL_POWER:
        return c[0] > 0 && c[1] > 0;
    case EQP_FUNCTIONAL_PRIMES:
        return c[0] > 0 && c[1] > 0 && log(low) - LEGENDRE > 1 / c[1];
    case EQP_FUNCTIONAL_POLYNOMIAL:
        return isfinite(c[2]) && c[0] >= 0 && c[1] >= 0 && c[2] >= 0 && c[0] + c[1] + c[2] > 0;
    default:
        return 0;
    }
}

int eqp_functional_family_time(const eqp_functional_family *family, double low, double high, eqp_functional_time *time)
{
    EQP__FAIL_IF(!family || !time || !is_family(family, low) || !(high >= low) || !isfinite(high), EQP_ERR_ARGUMENT);
    switch (family->form) {
    case EQP_FUNCTIONAL_POWER:
        *time = (eqp_functional_time){low, high, power_value, power_slope, power_bend, family};
        break;
    case EQP_FUNCTIONAL_PRIMES:
        *time = (eqp_functional_time){low, high, primes_value, primes_slope, primes_bend, family};
        break;
    default:
        *time = (eqp_functional_time){low, high, polynomial_value, polynomial_slope, polynomial_bend, family};
    }
    return EQP_OK;
}

static int check_samples(enum eqp_functional_form form, int64_t n, const double *x, const double *t)
{
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(!(x[i] > 0) || !isfinite(x[i]) || (i > 0 && !(x[i] > x[i - 1])), EQP_ERR_ARGUMENT);
        EQP__FAIL_IF(!(t[i] > 0) || !isfinite(t[i]) || (i > 0 && t[i] < t[i - 1]) ||
                         (form == EQP_FUNCTIONAL_PRIMES && !(log(x[i]) > LEGENDRE)),
                     EQP_ERR_DATA);
    }
    return EQP_OK;
}

/* Fits a straight line to logarithms: ln t = ln c0 + c1 ln x; for primes ln t + ln(ln x - LEGENDRE) replaces ln t. */
static void fit_line(int64_t n, const double *x, const double *t, eqp_functional_family *f)
{
    const int primes = f->form == EQP_FUNCTIONAL_PRIMES;
    double mean_u = 0, mean_v = 0, uu = 0, uv = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n; i++) {
            const double u = log(x[i]), v = log(t[i]) + (primes ? log(u - LEGENDRE) : 0);
            if (pass == 0) {
                mean_u += u / (double)n;
                mean_v += v / (double)n;
            } else {
                uu += (u - mean_u) * (u - mean_u);
                uv += (u - mean_u) * (v - mean_v);
            }
        }
    }
    f->c[1] = uv / uu;
    f->c[0] = exp(mean_v - f->c[1] * mean_u);
}

static double relative_error(const eqp_functional_time *time, int64_t n, const double *x, const double *t)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        const double error = time->value(time->user, x[i]) / t[i] - 1;
        sum += error * error;
    }
    return sqrt(sum / (double)n);
}

int eqp_functional_fit(enum eqp_functional_form form, int64_t n, const double *x, const double *t,
                       eqp_functional_family *family, double *error)
{
    eqp_functional_family f = {.form = form};
    eqp_functional_time time;
    double bound[2], misfit;

    EQP__FAIL_IF((form != EQP_FUNCTIONAL_POWER && form != EQP_FUNCTIONAL_PRIMES) || n < 2 || !x || !t || !family,
                 EQP_ERR_ARGUMENT);
    EQP__CHECK(check_samples(form, n, x, t));
    fit_line(n, x, t, &f);
    /* Samples far from the form can give valid parameters whose values overflow. */
    EQP__FAIL_IF(eqp_functional_family_time(&f, x[0], x[n - 1], &time), EQP_ERR_DATA);
    EQP__CHECK(eqp_functional_cut(&time, 1, NULL, bound, NULL));
    EQP__FAIL_IF(!isfinite(misfit = relative_error(&time, n, x, t)), EQP_ERR_DATA);
    *family = f;
    if (error) {
        *error = misfit;
    }
    return EQP_OK;
}
