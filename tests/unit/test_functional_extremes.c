/* SPDX-License-Identifier: BSD-3-Clause */
/* Functional balancing at the limits of doubles: accepted input can be cut, the rest is refused with a code. */

#include "functional_cases.h"
#include "models/functional_look.h"
#include "slow.h"

#include <float.h>

FREES(eqp_functional_samples, eqp_functional_samples_free)

enum { MAX_SAMPLES = 20 };

static int rounds(void)
{
    return slow_here() ? 400 : 4000;
}

/* A random magnitude from 1e-e to 1e+e. */
static double any_size(double e)
{
    return pow(10, (2 * uniform() - 1) * e);
}

static double any_exponent(void)
{
    static const double exponents[] = {1, 3, 10, 100, 150, 300, 307.9};

    return exponents[(int)(6.99 * uniform())];
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* [n] ascending numbers, some of them equal if allowed. */
static void draw_ascending(int n, int strictly, double *x)
{
    const double e = any_exponent();

    for (int i = 0; i < n; i++) {
        x[i] = any_size(e);
    }
    qsort(x, (size_t)n, sizeof *x, compare);
    for (int i = 1; i < n; i++) {
        if (!strictly && uniform() < 0.2) {
            x[i] = x[i - 1];
        } else if (strictly && !(x[i] > x[i - 1])) {
            x[i] = nextafter(x[i - 1], INFINITY);
        }
    }
}

static void check_cut(const eqp_functional_time *time)
{
    enum { NODES = 7 };
    double bound[NODES + 1];

    assert_ok(eqp_functional_cut(time, NODES, NULL, bound, NULL));
    assert_true(bound[0] == time->low && bound[NODES] == time->high);
    for (int i = 0; i < NODES; i++) {
        assert_true(bound[i] <= bound[i + 1]);
    }
}

TEST(what_was_fitted_can_be_cut)
{
    int fitted[EQP_FUNCTIONAL_POLYNOMIAL + 1] = {0}, refused = 0;

    for (int round = 0; round < rounds(); round++) {
        const int n = 3 + (int)((MAX_SAMPLES - 3) * uniform());
        double x[MAX_SAMPLES], t[MAX_SAMPLES];

        draw_ascending(n, 1, x);
        draw_ascending(n, 0, t);
        for (int form = EQP_FUNCTIONAL_POWER; form <= EQP_FUNCTIONAL_POLYNOMIAL; form++) {
            eqp_functional_family family = {.c = {-1}};
            eqp_functional_time time;
            double error = -1;
            const int code = eqp_functional_fit((enum eqp_functional_form)form, n, x, t, &family, &error);

            assert_true(code == EQP_OK || (code == EQP_ERR_DATA && family.c[0] == -1 && error == -1));
            if (code == EQP_OK) {
                assert_true(error >= 0 && isfinite(error));
                assert_ok(eqp_functional_family_time(&family, x[0], x[n - 1], &time));
                check_cut(&time);
            }
            fitted[form] += code == EQP_OK;
            refused += code == EQP_ERR_DATA;
        }
    }
    assert_true(fitted[0] > rounds() / 2 && fitted[1] > 0 && fitted[2] > rounds() / 3 && refused > rounds() / 10);
}

TEST(what_lies_between_samples_can_be_cut)
{
    int taken = 0, refused = 0;

    for (int round = 0; round < 3 * rounds(); round++) {
        const int n = 2 + (int)((MAX_SAMPLES - 2) * uniform());
        const double x_shift = uniform() < 0.3, t_shift = uniform() < 0.3, e = any_exponent();
        double x[MAX_SAMPLES], t[MAX_SAMPLES], slope[MAX_SAMPLES];
        FREED(eqp_functional_samples) *samples = NULL;

        draw_ascending(n, 1, x);
        draw_ascending(n, 0, t);
        for (int i = 0; i < n; i++) {
            slope[i] = uniform() < 0.2 ? 0 : any_size(e);
        }
        for (int i = 0; i < n; i++) { /* differences near 0 are rounded away */
            t[i] -= t_shift * t[n - 1] / 2;
            x[i] = x_shift > 0 ? (2.0 * i / n - 1) * x[n - 1] : x[i];
        }
        if (x_shift > 0) {
            qsort(x, (size_t)n, sizeof *x, compare);
        }
        const int code = eqp_functional_samples_create(n, x, t, uniform() < 0.5 ? slope : NULL, &samples);
        if (code == EQP_OK) {
            const eqp_functional_time time = eqp_functional_samples_time(samples);
            check_cut(&time);
        }
        assert_true(code == EQP_OK || ((code == EQP_ERR_OVERFLOW || code == EQP_ERR_ARGUMENT) && !samples));
        taken += code == EQP_OK;
        refused += code != EQP_OK;
    }
    assert_true(taken > rounds() && refused > 0);
}

static double straight(const void *user, double x)
{
    return *(const double *)user * x;
}

TEST(domains_and_rises_beyond_a_double_are_refused)
{
    const double one = 1, ten = 10;
    eqp_functional_time time = {.low = -1e308, .high = 1e308, .value = straight, .user = &(double){1e-308}};
    eqp_functional_root root;
    double bound[5];

    assert_refused(eqp_functional_cut(&time, 4, NULL, bound, NULL));
    assert_refused(eqp__functional_solve(&time, 0, 0, &root));
    time.low = -7e307;
    check_cut(&time);
    time.user = &one; /* the rise is 1.7e308 */
    check_cut(&time);
    assert_ok(eqp__functional_solve(&time, 0, 1, &root));
    time.low = -1e307;
    time.high = 1e307;
    time.user = &ten; /* t is finite, the rise is not */
    assert_int_equal(eqp_functional_cut(&time, 4, NULL, bound, NULL), EQP_ERR_DATA);
    assert_int_equal(eqp__functional_solve(&time, 0, 1, &root), EQP_ERR_DATA);
}

static double steep_density(const void *user, const double x[3])
{
    (void)x;
    return *(const double *)user;
}

TEST(densities_beyond_a_double_overflow)
{
    const eqp_functional_domain square = {.dims = 2, .low = {0, 0}, .high = {4, 4}, .direction = 0, .cells = 3};
    FREED(eqp_functional_samples) *samples = NULL;

    assert_int_equal(eqp_functional_reduce(steep_density, &(double){5e307}, &square, NULL, &samples), EQP_ERR_OVERFLOW);
    assert_int_equal(eqp_functional_reduce(steep_density, &(double){2e307}, &square, NULL, &samples), EQP_ERR_OVERFLOW);
    assert_null(samples);
    assert_ok(eqp_functional_reduce(steep_density, &(double){1e306}, &square, NULL, &samples));
    const eqp_functional_time time = eqp_functional_samples_time(samples);
    check_cut(&time);
}
