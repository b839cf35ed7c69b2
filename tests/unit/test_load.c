/* SPDX-License-Identifier: BSD-3-Clause */

#include "cost/costs.h"
#include "failing_malloc.h"
#include "unit.h"

static eqp_load_statistics statistics_of(int64_t n, const double *load)
{
    eqp_load_statistics s;

    assert_ok(eqp__load_statistics_compute(n, load, &s));
    return s;
}

/* Pearce 2014, Table 2.1. The thesis shows the loads as bars only; mean 2, lambda 50 %, sigma and g2 leave one choice
 * for eight processes: (b) half of them 1 and half 3; (c) and (d) 2 everywhere but 1 and 3 once each. Its column g1 (1,
 * 2 and 2) cannot come from equation 2.7, since g2 >= g1^2 - 2 for every distribution, and these are symmetric: g1 = 0.
 */
TEST(table_2_1_of_the_thesis)
{
    static const struct {
        double load[8], imbalance, sigma, g2;
    } row[] = {
        {{2, 2, 2, 2, 2, 2, 2, 2}, 0.0, 0.0, 0.0},
        {{1, 3, 1, 3, 1, 3, 1, 3}, 0.5, 1.0, -2.0},
        {{1, 3, 2, 2, 2, 2, 2, 2}, 0.5, 0.5, 1.0},
        {{1, 2, 2, 2, 2, 2, 2, 3}, 0.5, 0.5, 1.0},
    };

    for (int i = 0; i < 4; i++) {
        const eqp_load_statistics s = statistics_of(8, row[i].load);

        assert_true(s.count == 8);
        assert_near(s.mean, 2.0, 0.0);
        assert_near(s.sum, 16.0, 0.0);
        assert_near(s.imbalance, row[i].imbalance, 1e-15);
        assert_near(s.standard_deviation, row[i].sigma, 1e-15);
        assert_near(s.skewness, 0.0, 1e-15);
        assert_near(s.kurtosis, row[i].g2, 1e-14);
        assert_true(s.kurtosis >= s.skewness * s.skewness - 2.0 || row[i].sigma == 0.0);
    }
}

/* One process in four has load 5, the remaining three have load 1. By hand: mean 2, m2 = 3, m3 = 6, m4 = 21. */
TEST(one_outlier_by_hand)
{
    const eqp_load_statistics s = statistics_of(4, (const double[]){1, 1, 5, 1});

    assert_near(s.imbalance, 1.5, 1e-15);
    assert_near(s.max, 5.0, 0.0);
    assert_near(s.min, 1.0, 0.0);
    assert_near(s.standard_deviation, sqrt(3.0), 1e-15);
    assert_near(s.skewness, 6.0 / (3.0 * sqrt(3.0)), 1e-15);
    assert_near(s.kurtosis, 21.0 / 9.0 - 3.0, 1e-15);
}

TEST(loads_without_work_alone_or_equal_are_balanced)
{
    double load[1000];
    eqp_load_statistics s = statistics_of(3, (const double[]){0, 0, 0});

    assert_true(s.imbalance == 0.0 && s.mean == 0.0 && s.standard_deviation == 0.0);
    s = statistics_of(1, (const double[]){7.25});
    assert_true(s.imbalance == 0.0 && s.max == 7.25 && s.skewness == 0.0 && s.kurtosis == 0.0);
    for (int i = 0; i < 1000; i++) {
        load[i] = 0.1; /* rounded sums are no spread */
    }
    s = statistics_of(1000, load);
    assert_near(s.imbalance, 0.0, 1e-12);
    assert_true(s.imbalance >= 0.0);
    assert_true(s.standard_deviation == 0.0 && s.skewness == 0.0 && s.kurtosis == 0.0);
}

TEST(wrong_loads_are_refused_and_change_nothing)
{
    const double bad[][2] = {{1.0, -1e-9}, {1.0, NAN}, {INFINITY, 1.0}};
    const double good[] = {1.0, 2.0}, huge[] = {1e300, 1.0}, larger[] = {1.7e308, 1.7e308};
    eqp_load_statistics s, old;
    eqp_load_sums sums;

    memset(&s, 0x5A, sizeof s);
    old = s;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(eqp__load_statistics_compute(2, bad[i], &s), EQP_ERR_DATA);
    }
    assert_refused(eqp__load_statistics_compute(0, good, &s));
    assert_int_equal(eqp__load_statistics_compute(2, huge, &s), EQP_ERR_OVERFLOW);
    assert_int_equal(eqp__load_statistics_compute(2, larger, &s), EQP_ERR_OVERFLOW);
    assert_refused(eqp__load_sums_compute(2, good, NAN, &sums));
    assert_refused(eqp__load_sums_compute(-1, good, 0.0, &sums));
    assert_memory_equal(&s, &old, sizeof s);
}

/* As ranks do it: two rounds, sums merged in any grouping, ranks without loads included. */
TEST(merged_sums_equal_those_of_one_rank)
{
    double load[97];
    uint64_t seed = 5;
    eqp_load_statistics parts;

    for (int i = 0; i < 97; i++) {
        load[i] = 1000.0 + noise(&seed);
    }
    const eqp_load_statistics whole = statistics_of(97, load);
    for (int chunk = 1; chunk <= 97; chunk += 32) {
        double centre = 0.0;

        for (int round = 0; round < 2; round++) {
            eqp_load_sums all, some;

            assert_ok(eqp__load_sums_compute(0, load, centre, &all));
            for (int i = 0; i < 97; i += chunk) {
                int n = 97 - i < chunk ? 97 - i : chunk;

                assert_ok(eqp__load_sums_compute(n, load + i, centre, &some));
                assert_ok(eqp__load_sums_merge(&all, &some));
            }
            centre = all.centre + all.power[1] / all.power[0];
            assert_ok(eqp__load_statistics_from_sums(&all, &parts));
        }
        assert_true(parts.count == 97 && parts.max == whole.max && parts.min == whole.min);
        assert_near(parts.imbalance, whole.imbalance, 1e-14);
        assert_near(parts.standard_deviation, whole.standard_deviation, 1e-12);
        assert_near(parts.skewness, whole.skewness, 1e-10);
        assert_near(parts.kurtosis, whole.kurtosis, 1e-10);
    }
}

TEST(sums_about_different_centres_do_not_mix)
{
    const double load[] = {1.0, 2.0};
    eqp_load_sums a, b;
    eqp_load_statistics s;

    assert_ok(eqp__load_sums_compute(2, load, 0.0, &a));
    assert_ok(eqp__load_sums_compute(2, load, 1.0, &b));
    assert_refused(eqp__load_sums_merge(&a, &b));
    assert_true(a.power[0] == 2.0);
    assert_ok(eqp__load_sums_compute(0, load, 0.0, &a));
    assert_refused(eqp__load_statistics_from_sums(&a, &s));
}

TEST(correlation_of_values_and_of_ranks)
{
    const double model[] = {1, 2, 3, 4, 5}, curved[] = {1, 4, 9, 16, 25}, falling[] = {9, 7, 5, 3, 1};
    double r = 9.0;

    assert_ok(eqp__load_correlation(5, model, falling, &r));
    assert_near(r, -1.0, 1e-15);
    /* cov 60/5, variances 10/5 and 374/5: deviations -2..2 and -10, -7, -2, 5, 14. */
    assert_ok(eqp__load_correlation(5, model, curved, &r));
    assert_near(r, 60.0 / sqrt(10.0 * 374.0), 1e-15);
    assert_ok(eqp__load_rank_correlation(5, model, curved, &r));
    assert_near(r, 1.0, 1e-15);
    assert_ok(eqp__load_rank_correlation(5, curved, falling, &r));
    assert_near(r, -1.0, 1e-15);
}

/* Ranks of the model 1.5 1.5 3 4, of the measurement 2 1 3.5 3.5: sums of products 4, squares 4.5 and 4.5. */
TEST(equal_values_share_their_ranks)
{
    const double model[] = {5, 5, 6, 7}, measured[] = {0.2, 0.1, 0.9, 0.9};
    double r;

    assert_ok(eqp__load_rank_correlation(4, model, measured, &r));
    assert_near(r, 4.0 / 4.5, 1e-15);
}

/* Against ranks counted one by one: rank = 1 + smaller ones + half of the other equal ones. */
TEST(ranks_against_counting)
{
    double a[200], b[200], ra[200], rb[200], by_sort, by_counting;
    uint64_t seed = 11;

    for (int i = 0; i < 200; i++) {
        a[i] = floor(20.0 * noise(&seed));
        b[i] = floor(a[i] + 30.0 * noise(&seed));
    }
    for (int i = 0; i < 200; i++) {
        ra[i] = rb[i] = 0.5;
        for (int j = 0; j < 200; j++) {
            ra[i] += a[j] < a[i] ? 1.0 : a[j] == a[i] ? 0.5 : 0.0;
            rb[i] += b[j] < b[i] ? 1.0 : b[j] == b[i] ? 0.5 : 0.0;
        }
    }
    assert_ok(eqp__load_rank_correlation(200, a, b, &by_sort));
    assert_ok(eqp__load_correlation(200, ra, rb, &by_counting));
    assert_near(by_sort, by_counting, 1e-14);
    assert_true(by_sort > 0.2 && by_sort < 0.9);
}

TEST(nothing_to_compare_gives_zero)
{
    const double same[] = {0.1, 0.1, 0.1}, other[] = {1, 2, 3};
    double r[3] = {9, 9, 9};

    assert_ok(eqp__load_correlation(3, same, other, &r[0]));
    assert_ok(eqp__load_rank_correlation(3, other, same, &r[1]));
    assert_ok(eqp__load_rank_correlation(1, other, other, &r[2]));
    assert_true(r[0] == 0 && r[1] == 0 && r[2] == 0);
}

TEST(extreme_values_correlate)
{
    const double large[] = {1e308, -1e308, 1.7e308}, small[] = {3e-320, 1e-320, 4e-320}, plain[] = {2, 0, 2.7};
    double r;

    assert_ok(eqp__load_correlation(3, large, plain, &r));
    assert_near(r, 1.0, 1e-12);
    assert_ok(eqp__load_correlation(3, small, plain, &r));
    assert_true(r > 0.9 && r <= 1.0);
}

TEST(wrong_comparisons_are_refused)
{
    const double good[] = {1, 2}, bad[] = {1, NAN};
    double r = 9.0;

    assert_refused(eqp__load_correlation(0, good, good, &r));
    assert_int_equal(eqp__load_rank_correlation(2, good, bad, &r), EQP_ERR_DATA);
    assert_true(r == 9.0);
}

TEST(a_rank_correlation_survives_failing_allocations)
{
    const double a[] = {1, 2}, b[] = {1, 3};
    double r = 9.0;
    int64_t k = 0;
    int code;

    SKIP_IF(!failing_malloc_works);
    for (; FAILING_MALLOC(k, code = eqp__load_rank_correlation(2, a, b, &r)); k++) {
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_true(r == 9.0);
    }
    assert_ok(code);
    assert_true(k >= 1);
    assert_near(r, 1.0, 1e-15);
}

TEST(sums_out_of_range_are_errors)
{
    eqp_load_sums sums = {1e300, 1e300, 0, {1.7e308, 0, 0, 0, 0}};
    const double largest[3] = {1.7e308, 1.7e308, 0.0};
    eqp_load_statistics s = {.count = -7};

    assert_int_equal(eqp__load_statistics_from_sums(&sums, &s), EQP_ERR_OVERFLOW);
    sums.centre = 0.0; /* a count that no int64_t holds */
    assert_int_equal(eqp__load_statistics_from_sums(&sums, &s), EQP_ERR_OVERFLOW);
    sums.power[0] = 4.0;
    sums.centre = 1.7e308; /* a sum that is infinite */
    assert_int_equal(eqp__load_statistics_from_sums(&sums, &s), EQP_ERR_OVERFLOW);
    sums.power[2] = INFINITY;
    assert_int_equal(eqp__load_statistics_from_sums(&sums, &s), EQP_ERR_OVERFLOW);
    assert_int_equal(eqp__load_statistics_compute(3, largest, &s), EQP_ERR_OVERFLOW);
    assert_int_equal(s.count, -7);
}
