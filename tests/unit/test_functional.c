/* SPDX-License-Identifier: BSD-3-Clause */

#include "functional_cases.h"

/* Section 5: a density of C (x + y) over 20 x 20, which sums to t(y) = C (10 y^2 + 200 y), four nodes. */
TEST(rows_of_section_5_come_out)
{
    static const double published[5] = {0, 7.32, 12.36, 16.46, 20};
    const eqp_functional_family rows = {EQP_FUNCTIONAL_POLYNOMIAL, {0.37 * 200, 0.37 * 10, 0}};
    eqp_functional_time time;
    double bound[5];

    assert_ok(eqp_functional_family_time(&rows, 0, 20, &time));
    assert_ok(eqp_functional_cut(&time, 4, NULL, bound, NULL));
    for (int i = 0; i <= 4; i++) {
        assert_true(fabs(bound[i] - published[i]) <= 0.005);
        assert_true(fabs(bound[i] - (-10 + 10 * sqrt(1 + 2 * i))) <= 1e-12 * 20);
    }
}

/* Section 4: 7 nodes and 4 that are three times as fast do 100 seconds of work in 5.26. */
TEST(times_of_section_4_come_out)
{
    const eqp_functional_family line = {EQP_FUNCTIONAL_POLYNOMIAL, {2, 0, 0}};
    const double speed[11] = {1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3};
    eqp_functional_time time;
    double bound[12];

    assert_ok(eqp_functional_family_time(&line, 0, 50, &time));
    assert_ok(eqp_functional_cut(&time, 11, speed, bound, NULL));
    for (int i = 0; i < 11; i++) {
        assert_true(near(2 * (bound[i + 1] - bound[i]) / speed[i], 100.0 / 19, 1e-12));
    }
}

/* Section 3, figure 2: 32 nodes take 2055.52 s, the slowest 89.92 s. */
TEST(efficiency_of_section_3_comes_out)
{
    double time[32], inefficiency, efficiency;

    for (int i = 0; i < 32; i++) {
        time[i] = i == 31 ? 89.92 : (2055.52 - 89.92) / 31;
    }
    assert_ok(eqp_functional_efficiency(32, time, &inefficiency, &efficiency));
    assert_true(fabs(inefficiency - 28.56) < 0.01);
    assert_true(fabs(efficiency - 71.44) < 0.01);
}

/* By Newton's method with derivatives, by Brent's without. */
TEST(all_nodes_take_the_same_time)
{
    for (int f = 0; f < NFAMILIES; f++) {
        for (int round = 0; round < 20; round++) {
            const int nnodes = 1 + (int)(uniform() * (MAX_NODES - 1));
            double speed[MAX_NODES], bound[MAX_NODES + 1], again[MAX_NODES + 1];
            eqp_functional_time time;
            eqp_functional_search search;
            const double *speeds = round % 2 ? speed : NULL;

            for (int i = 0; i < nnodes; i++) {
                speed[i] = 0.1 + 5 * uniform();
            }
            assert_ok(eqp_functional_family_time(&families[f], 6, 10 + 1e5 * uniform(), &time));
            assert_ok(eqp_functional_cut(&time, nnodes, speeds, bound, &search));
            check_shares(&time, nnodes, speeds, bound);
            assert_int_equal(search.newton, nnodes - 1);
            assert_true(near(search.total, time.value(time.user, time.high) - time.value(time.user, 6), 1e-12));

            time.slope = time.bend = NULL;
            assert_ok(eqp_functional_cut(&time, nnodes, speeds, again, &search));
            check_shares(&time, nnodes, speeds, again);
            assert_int_equal(search.brent, nnodes - 1);
            for (int i = 0; i <= nnodes; i++) {
                assert_true(near(bound[i], again[i], 1e-10));
            }
        }
    }
}

/* The slope of a power of x at 0 is not finite or not defined. */
TEST(domains_may_begin_at_zero)
{
    for (int f = 0; f < NFAMILIES; f++) {
        eqp_functional_time time;
        double bound[33];
        if (families[f].form != EQP_FUNCTIONAL_PRIMES) {
            assert_ok(eqp_functional_family_time(&families[f], 0, 1e4, &time));
            assert_ok(eqp_functional_cut(&time, 32, NULL, bound, NULL));
            check_shares(&time, 32, NULL, bound);
        }
    }
}

static double wavy_value(const void *user, double x)
{
    return x + *(const double *)user * sin(x);
}

static double wavy_slope(const void *user, double x)
{
    return 1 + *(const double *)user * cos(x);
}

static double wavy_bend(const void *user, double x)
{
    return -*(const double *)user * sin(x);
}

static double wrong_slope(const void *user, double x)
{
    return 50 * wavy_slope(user, x);
}

static double wrong_bend(const void *user, double x)
{
    (void)user;
    (void)x;
    return 1;
}

TEST(brent_takes_over_where_newton_need_not_converge)
{
    const double size = 0.95;
    eqp_functional_time time = {0, 30, wavy_value, wavy_slope, wavy_bend, &size};
    eqp_functional_search search;
    double bound[33];

    assert_ok(eqp_functional_cut(&time, 32, NULL, bound, &search));
    check_shares(&time, 32, NULL, bound);
    assert_int_equal(search.brent, 31);
    /* Derivatives that do not match the function. */
    time.slope = wrong_slope;
    time.bend = wrong_bend;
    assert_ok(eqp_functional_cut(&time, 32, NULL, bound, &search));
    check_shares(&time, 32, NULL, bound);
    assert_int_equal(search.brent, 31);
}

static double falling_value(const void *user, double x)
{
    (void)user;
    return x < 10 ? x : 20 - x;
}

static double hidden_fall(const void *user, double x)
{
    (void)user;
    return x + (fabs(x - 50.3) < 0.8 ? 40 * sin(5 * (x - 50.3)) : 0);
}

static double broken_value(const void *user, double x)
{
    (void)user;
    return x > 11 && x < 12 ? NAN : x;
}

static double no_value(const void *user, double x)
{
    (void)user;
    (void)x;
    return 0;
}

static double late_value(const void *user, double x)
{
    (void)user;
    return x < 5 ? 0 : x < 6 ? x - 5 : 1;
}

TEST(times_that_fall_or_are_none_are_refused)
{
    eqp_functional_time time = {0, 15, falling_value, NULL, NULL, NULL};
    double bound[5];

    bound[0] = -1;
    assert_int_equal(eqp_functional_cut(&time, 4, NULL, bound, NULL), EQP_ERR_DATA);
    assert_true(bound[0] == -1);
    time.value = hidden_fall;
    time.high = 51; /* a checked point shows the fall */
    assert_int_equal(eqp_functional_cut(&time, 4, NULL, bound, NULL), EQP_ERR_DATA);
    time.value = broken_value;
    time.high = 30;
    assert_int_equal(eqp_functional_cut(&time, 4, NULL, bound, NULL), EQP_ERR_DATA);
    time.high = NAN;
    assert_refused(eqp_functional_cut(&time, 4, NULL, bound, NULL));
}

TEST(no_time_at_all_means_equal_lengths)
{
    const double speed[4] = {1, 1, 2, 4};
    eqp_functional_time time = {0, 16, no_value, NULL, NULL, NULL};
    eqp_functional_search search;
    double bound[5];
    int64_t first[5];

    assert_ok(eqp_functional_cut(&time, 4, speed, bound, &search));
    assert_true(search.total == 0);
    assert_ok(eqp_functional_items(4, bound, first));
    assert_int_equal(first[0], 0);
    assert_int_equal(first[1], 2);
    assert_int_equal(first[2], 4);
    assert_int_equal(first[3], 8);
    assert_int_equal(first[4], 16);
    time.value = late_value; /* all time in one of sixteen intervals */
    assert_ok(eqp_functional_cut(&time, 4, NULL, bound, &search));
    assert_true(near(bound[1], 5.25, 1e-12) && near(bound[2], 5.5, 1e-12) && near(bound[3], 5.75, 1e-12));
    time.high = 0;
    assert_ok(eqp_functional_cut(&time, 4, NULL, bound, &search));
    assert_true(bound[0] == 0 && bound[4] == 0);
}

TEST(one_node_and_more_nodes_than_items)
{
    const eqp_functional_family square = {EQP_FUNCTIONAL_POLYNOMIAL, {0, 1, 0}};
    eqp_functional_time time;
    double bound[MAX_NODES + 1];
    int64_t first[MAX_NODES + 1];

    assert_ok(eqp_functional_family_time(&square, 0, 3, &time));
    for (int nnodes = 1; nnodes <= MAX_NODES; nnodes++) {
        assert_ok(eqp_functional_cut(&time, nnodes, NULL, bound, NULL));
        assert_ok(eqp_functional_items(nnodes, bound, first));
        assert_int_equal(first[0], 0);
        assert_int_equal(first[nnodes], 3);
        for (int i = 0; i < nnodes; i++) {
            assert_true(first[i] <= first[i + 1]);
        }
    }
    bound[1] = NAN;
    assert_refused(eqp_functional_items(2, bound, first));
    bound[1] = 1e16;
    bound[2] = 2e16;
    assert_refused(eqp_functional_items(2, bound, first));
}

TEST(nodes_that_are_none_are_refused)
{
    const double negative[2] = {1, -1}, none[2] = {1, NAN}, idle[2] = {0, 0}, speed[2] = {1, 0};
    const eqp_functional_family line = {EQP_FUNCTIONAL_POLYNOMIAL, {1}};
    eqp_functional_time time;
    double a = -1, b = -1, bound[3];

    assert_int_equal(eqp_functional_efficiency(2, negative, &a, &b), EQP_ERR_DATA);
    assert_int_equal(eqp_functional_efficiency(2, none, &a, &b), EQP_ERR_DATA);
    assert_refused(eqp_functional_efficiency(0, idle, &a, &b));
    assert_true(a == -1 && b == -1);
    assert_ok(eqp_functional_efficiency(2, idle, &a, &b));
    assert_true(a == 0 && b == 100);
    assert_ok(eqp_functional_family_time(&line, 0, 1, &time));
    assert_refused(eqp_functional_cut(&time, 2, speed, bound, NULL));
    assert_refused(eqp_functional_cut(&time, 0, NULL, bound, NULL));
}
