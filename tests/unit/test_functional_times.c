/* SPDX-License-Identifier: BSD-3-Clause */
/* Time functions of families and samples, and their fits. */

#include "failing_malloc.h"
#include "functional_cases.h"
#include "slow.h"

#include <float.h>

FREES(eqp_functional_samples, eqp_functional_samples_free)

TEST(derivatives_are_those_of_the_function)
{
    for (int f = 0; f < NFAMILIES; f++) {
        eqp_functional_time time;
        assert_ok(eqp_functional_family_time(&families[f], 6, 1e6, &time));
        for (double x = 10; x < 1e6; x *= 3.7) {
            const double h = 1e-4 * x;
            const double slope = (time.value(time.user, x + h) - time.value(time.user, x - h)) / (2 * h);
            const double bend = (time.slope(time.user, x + h) - time.slope(time.user, x - h)) / (2 * h);
            assert_true(near(time.slope(time.user, x), slope, 1e-6));
            assert_true(fabs(time.bend(time.user, x) - bend) <= 1e-6 * fabs(bend) + 1e-9 * slope / x);
        }
    }
}

TEST(fits_find_what_made_the_samples)
{
    for (int f = 0; families[f].form != EQP_FUNCTIONAL_POLYNOMIAL; f++) {
        double x[40], t[40], error = -1;
        eqp_functional_time time;
        eqp_functional_family fit;

        assert_ok(eqp_functional_family_time(&families[f], 6, 1e6, &time));
        for (int i = 0; i < 40; i++) {
            x[i] = 6 * pow(1.3, i + 1);
            t[i] = time.value(time.user, x[i]);
        }
        assert_ok(eqp_functional_fit(families[f].form, 40, x, t, &fit, &error));
        assert_true(error < 1e-9);
        assert_ok(eqp_functional_family_time(&fit, 6, 1e6, &time));
        for (int i = 0; i < 40; i++) {
            assert_true(near(time.value(time.user, x[i]), t[i], 1e-8));
            t[i] *= 1 + 0.01 * (uniform() - 0.5);
        }
        assert_ok(eqp_functional_fit(families[f].form, 40, x, t, &fit, &error));
        assert_true(error > 1e-4 && error < 0.01);
    }
}

TEST(fits_refuse_what_is_no_time)
{
    double x[4] = {10, 20, 30, 40}, t[4] = {1, 2, 3, 4}, error = -1;
    eqp_functional_family fit = {EQP_FUNCTIONAL_POWER, {-1}};

    assert_refused(eqp_functional_fit(EQP_FUNCTIONAL_POWER, 1, x, t, &fit, &error));
    assert_refused(eqp_functional_fit(EQP_FUNCTIONAL_POLYNOMIAL, 4, x, t, &fit, &error));
    t[2] = 1.5;
    assert_int_equal(eqp_functional_fit(EQP_FUNCTIONAL_POWER, 4, x, t, &fit, &error), EQP_ERR_DATA);
    t[2] = NAN;
    assert_int_equal(eqp_functional_fit(EQP_FUNCTIONAL_POWER, 4, x, t, &fit, &error), EQP_ERR_DATA);
    t[2] = 3;
    t[0] = -1;
    assert_int_equal(eqp_functional_fit(EQP_FUNCTIONAL_POWER, 4, x, t, &fit, &error), EQP_ERR_DATA);
    t[0] = t[1] = t[2] = t[3] = 1; /* constant: no power above 0 */
    assert_int_equal(eqp_functional_fit(EQP_FUNCTIONAL_POWER, 4, x, t, &fit, &error), EQP_ERR_DATA);
    x[1] = 5;
    assert_refused(eqp_functional_fit(EQP_FUNCTIONAL_POWER, 4, x, t, &fit, &error));
    assert_true(fit.c[0] == -1 && error == -1);
}

TEST(families_refuse_parameters_that_fall)
{
    const eqp_functional_family bad[] = {{EQP_FUNCTIONAL_POWER, {-1, 1}},         {EQP_FUNCTIONAL_POWER, {1, 0}},
                                         {EQP_FUNCTIONAL_POWER, {NAN, 1}},        {EQP_FUNCTIONAL_PRIMES, {1, -1}},
                                         {EQP_FUNCTIONAL_POLYNOMIAL, {1, -1, 1}}, {EQP_FUNCTIONAL_POLYNOMIAL, {0}},
                                         {(enum eqp_functional_form)9, {1}}};
    const eqp_functional_family primes = {EQP_FUNCTIONAL_PRIMES, {1, 1.43}};
    eqp_functional_time time;

    for (int i = 0; i < COUNT_OF(bad); i++) {
        assert_refused(eqp_functional_family_time(&bad[i], 10, 20, &time));
    }
    /* The source's bound: the work on primes increases beyond 5.94744. */
    assert_refused(eqp_functional_family_time(&primes, 5.947, 20, &time));
    assert_ok(eqp_functional_family_time(&primes, 5.948, 20, &time));
    assert_refused(eqp_functional_family_time(&primes, 30, 20, &time));
}

/* Samples with jumps, constant stretches and slopes of any steepness. */
TEST(samples_never_fall_in_between)
{
    for (int round = 0; round < 200; round++) {
        const int n = 2 + (int)(uniform() * 30), given = round % 2;
        double x[32], t[32], slope[32], last, bound[9];
        FREED(eqp_functional_samples) *samples = NULL;

        x[0] = t[0] = 0;
        for (int i = 0; i < n; i++) {
            x[i] = i > 0 ? x[i - 1] + 0.01 + uniform() : 0;
            t[i] = i > 0 ? t[i - 1] + (uniform() < 0.3 ? 0 : pow(uniform(), 6)) : 0;
            slope[i] = 10 * uniform();
        }
        assert_ok(eqp_functional_samples_create(n, x, t, given ? slope : NULL, &samples));
        const eqp_functional_time time = eqp_functional_samples_time(samples);
        for (int i = 0; i < n; i++) {
            assert_true(fabs(time.value(samples, x[i]) - t[i]) <= 1e-14 * t[n - 1]);
        }
        last = 0;
        for (int i = 0; i <= 1000; i++) {
            const double now = time.value(samples, x[n - 1] * i / 1000);
            assert_true(now >= last - 1e-14 * t[n - 1]);
            last = now;
        }
        assert_ok(eqp_functional_cut(&time, 8, NULL, bound, NULL));
        if (t[n - 1] > 0) {
            check_shares(&time, 8, NULL, bound);
        }
    }
}

TEST(samples_refuse_what_falls)
{
    const double x[3] = {0, 1, 2}, t[3] = {0, 2, 1}, rising[3] = {0, 1, 2}, back[3] = {0, 2, 1}, none[3] = {0, NAN, 2};
    const double slope[3] = {0, -1, 0};
    eqp_functional_samples *samples = NULL;

    assert_int_equal(eqp_functional_samples_create(3, x, t, NULL, &samples), EQP_ERR_DATA);
    assert_int_equal(eqp_functional_samples_create(3, x, none, NULL, &samples), EQP_ERR_DATA);
    assert_int_equal(eqp_functional_samples_create(3, x, rising, slope, &samples), EQP_ERR_DATA);
    assert_refused(eqp_functional_samples_create(3, back, rising, NULL, &samples));
    assert_refused(eqp_functional_samples_create(1, x, rising, NULL, &samples));
    assert_null(samples);
}

/* The limits of doubles: accepted input can be cut, the rest is refused with a code. */

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
    int fitted[EQP_FUNCTIONAL_PRIMES + 1] = {0}, refused = 0;

    for (int round = 0; round < rounds(); round++) {
        const int n = 3 + (int)((MAX_SAMPLES - 3) * uniform());
        double x[MAX_SAMPLES], t[MAX_SAMPLES];

        draw_ascending(n, 1, x);
        draw_ascending(n, 0, t);
        for (int form = EQP_FUNCTIONAL_POWER; form <= EQP_FUNCTIONAL_PRIMES; form++) {
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
    assert_true(fitted[0] > rounds() / 2 && fitted[1] > 0 && refused > rounds() / 10);
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
    double bound[5];

    assert_refused(eqp_functional_cut(&time, 4, NULL, bound, NULL));
    time.low = -7e307;
    check_cut(&time);
    time.user = &one; /* the rise is 1.7e308 */
    check_cut(&time);
    time.low = -1e307;
    time.high = 1e307;
    time.user = &ten; /* t is finite, the rise is not */
    assert_int_equal(eqp_functional_cut(&time, 4, NULL, bound, NULL), EQP_ERR_DATA);
}

static int allocate_everything(void *user)
{
    const double x[3] = {0, 1, 2};
    eqp_functional_samples *samples = NULL;
    int code = eqp_functional_samples_create(3, x, x, NULL, &samples);

    (void)user;
    if (!code) {
        const eqp_functional_time time = eqp_functional_samples_time(samples);
        double bound[4] = {-1};
        code = eqp_functional_cut(&time, 3, NULL, bound, NULL);
        assert_true(bound[0] == (code ? -1 : 0));
    }
    eqp_functional_samples_free(samples);
    return code;
}

TEST(failing_allocations_leave_nothing)
{
    SKIP_IF(!failing_malloc_works);
    assert_true(failing_malloc_sweep(allocate_everything, NULL, EQP_ERR_MEMORY) >= 5);
}
