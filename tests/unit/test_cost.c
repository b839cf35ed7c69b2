/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include "cost/costs.h"
static double dot(int n, const double *cost, const int64_t *count)
{
    double s = 0.0;

    for (int k = 0; k < n; k++) {
        s += cost[k] * (double)count[k];
    }
    return s;
}

/* Samples of random counts; each count of kind k up to 10^(5 + k % 4). */
static void random_counts(uint64_t *seed, int n, int64_t *count)
{
    for (int k = 0; k < n; k++) {
        count[k] = (int64_t)(noise(seed) * pow(10.0, 5 + k % 4));
    }
}

static eqp_cost_sums sums_of(int nkinds, int weighting)
{
    eqp_cost_sums sums;

    assert_ok(eqp__cost_sums_init(&sums, nkinds, (eqp_cost_weighting)weighting));
    return sums;
}

static eqp_cost_fit fit_of(const eqp_cost_sums *sums)
{
    eqp_cost_fit fit;

    assert_ok(eqp__cost_fit_compute(sums, &fit));
    return fit;
}

TEST(exact_costs_come_back)
{
    const double cost[EQP_COST_KINDS] = {1.1e-10, 2.6e-9, 0.0, 4e-8, 3.3e-9, 1e-7, 5e-11, 2e-9};

    for (int weighting = EQP_COST_ABSOLUTE; weighting <= EQP_COST_RELATIVE; weighting++) {
        for (int n = 1; n <= EQP_COST_KINDS; n++) {
            eqp_cost_sums sums = sums_of(n, weighting);
            int64_t count[EQP_COST_KINDS];
            uint64_t seed = 3;

            for (int i = 0; i < 60; i++) {
                random_counts(&seed, n, count);
                assert_ok(eqp__cost_sums_add(&sums, count, dot(n, cost, count)));
            }
            eqp_cost_fit fit = fit_of(&sums);
            assert_int_equal(fit.nkinds, n);
            assert_true(fit.samples == 60.0);
            assert_near(fit.rmse, 0.0, 1e-6);
            for (int k = 0; k < n; k++) {
                double typical = pow(10.0, 5 + k % 4) * cost[k];

                assert_true(fit.seen[k] && fit.cost[k] >= 0.0);
                /* A kind with a small share of the time is less accurate. */
                assert_near(fit.cost[k], cost[k], 1e-6 * (typical > 1e-2 ? cost[k] : 1e-7));
            }
            assert_near(eqp_cost_fit_predict(&fit, count) / dot(n, cost, count), 1.0, 1e-6);
        }
    }
}

TEST(two_kinds_by_hand)
{
    /* Normal equations 5 a + 4 b = 14, 4 a + 5 b = 13: a = 2, b = 1, no error. */
    const int64_t one[] = {1, 2}, two[] = {2, 1};
    eqp_cost_sums sums = sums_of(2, EQP_COST_ABSOLUTE);

    assert_ok(eqp__cost_sums_add(&sums, one, 4.0));
    assert_ok(eqp__cost_sums_add(&sums, two, 5.0));
    eqp_cost_fit fit = fit_of(&sums);
    assert_near(fit.cost[0], 2.0, 1e-8);
    assert_near(fit.cost[1], 1.0, 1e-8);
}

TEST(errors_are_relative_to_the_mean_or_to_each_sample)
{
    /* One kind, one interaction each: absolute fit = mean 2, rmse 1 of 2. Relative: c = (1/1 + 1/3) / (1/1 + 1/9) =
     * 6/5, errors 1/5 and -3/5. */
    const int64_t one[] = {1};
    eqp_cost_sums sums = sums_of(1, EQP_COST_ABSOLUTE);

    assert_ok(eqp__cost_sums_add(&sums, one, 1.0));
    assert_ok(eqp__cost_sums_add(&sums, one, 3.0));
    eqp_cost_fit fit = fit_of(&sums);
    assert_near(fit.cost[0], 2.0, 1e-9);
    assert_near(fit.rmse, 0.5, 1e-9);
    sums = sums_of(1, EQP_COST_RELATIVE);
    assert_ok(eqp__cost_sums_add(&sums, one, 1.0));
    assert_ok(eqp__cost_sums_add(&sums, one, 3.0));
    fit = fit_of(&sums);
    assert_near(fit.cost[0], 1.2, 1e-9);
    assert_near(fit.rmse, sqrt((0.04 + 0.36) / 2.0), 1e-9);
}

TEST(an_unseen_kind_costs_nothing_and_is_marked)
{
    const double cost[] = {3e-9, 0.0, 7e-9};
    eqp_cost_sums sums = sums_of(3, EQP_COST_RELATIVE);
    uint64_t seed = 8;

    for (int i = 0; i < 20; i++) {
        int64_t count[] = {(int64_t)(1e8 * noise(&seed)), 0, (int64_t)(1e8 * noise(&seed))};

        assert_ok(eqp__cost_sums_add(&sums, count, dot(3, cost, count)));
    }
    eqp_cost_fit fit = fit_of(&sums);
    assert_true(fit.seen[0] && !fit.seen[1] && fit.seen[2]);
    assert_true(fit.cost[1] == 0.0);
    assert_near(fit.cost[0] / cost[0], 1.0, 1e-7);
    assert_near(fit.cost[2] / cost[2], 1.0, 1e-7);
}

TEST(one_sample_is_met_and_split_evenly)
{
    const int64_t count[] = {100, 4000, 0};
    eqp_cost_sums sums = sums_of(3, EQP_COST_ABSOLUTE);

    assert_ok(eqp__cost_sums_add(&sums, count, 8.0));
    eqp_cost_fit fit = fit_of(&sums);
    assert_near(eqp_cost_fit_predict(&fit, count), 8.0, 1e-6);
    assert_near(fit.cost[0] * 100.0, 4.0, 1e-3);
    assert_near(fit.cost[1] * 4000.0, 4.0, 1e-3);
    assert_true(fit.cost[2] == 0.0);
}

TEST(a_single_mixture_is_predicted_without_exploding_costs)
{
    eqp_cost_sums sums = sums_of(3, EQP_COST_ABSOLUTE);
    uint64_t seed = 21;

    for (int i = 0; i < 200; i++) {
        int64_t n = (int64_t)(1e6 * noise(&seed)) + 1, count[] = {n, 3 * n, 7 * n};

        /* A total of 10 ns per n, with one percent of noise. */
        assert_ok(eqp__cost_sums_add(&sums, count, 1e-8 * (double)n * (1.0 + 0.02 * (noise(&seed) - 0.5))));
    }
    eqp_cost_fit fit = fit_of(&sums);
    const int64_t mixture[] = {1000000, 3000000, 7000000};
    assert_near(eqp_cost_fit_predict(&fit, mixture), 1e-2, 1e-5);
    for (int k = 0; k < 3; k++) {
        assert_true(fit.cost[k] >= 0.0 && fit.cost[k] * (double)mixture[k] <= 1.01e-2);
    }
    assert_near(fit.rmse, 0.0, 0.02);
}

TEST(expectations_separate_kinds_that_samples_cannot)
{
    const double cost[] = {1e-8, 4e-7, 3e-9}, expected[] = {2e-8, 8e-7, 2e-9};
    eqp_cost_sums sums = sums_of(3, EQP_COST_RELATIVE);
    uint64_t seed = 5;

    for (int i = 0; i < 300; i++) {
        /* The ratio of the first two counts is nearly always 40 to 1. */
        const int64_t n = 1 + (int64_t)(1e4 * noise(&seed));
        const int64_t count[] = {40 * n + (int64_t)(noise(&seed) * (double)n / 10.0), n, (int64_t)(4e5 * noise(&seed))};

        assert_ok(eqp__cost_sums_add(&sums, count, dot(3, cost, count) * (1.0 + 0.2 * (noise(&seed) - 0.5))));
    }
    eqp_cost_fit fit = fit_of(&sums);
    assert_true(fabs(fit.cost[0] / cost[0] - 1.0) > 0.3); /* due to noise */
    assert_ok(eqp__cost_fit_near(&sums, expected, 0.01, &fit));
    for (int k = 0; k < 3; k++) {
        assert_near(fit.cost[k] / cost[k], 1.0, 0.06);
    }
}

TEST(invalid_expectations_are_refused)
{
    const double good[] = {1.0, 1.0}, negative[] = {1.0, -1e-9}, undefined[] = {NAN, 1.0};
    const int64_t count[] = {3, 5};
    eqp_cost_sums sums = sums_of(2, EQP_COST_RELATIVE);
    eqp_cost_fit fit = {.nkinds = 77};

    assert_ok(eqp__cost_sums_add(&sums, count, 1.0));
    assert_refused(eqp__cost_fit_near(&sums, negative, 0.1, &fit));
    assert_refused(eqp__cost_fit_near(&sums, undefined, 0.1, &fit));
    assert_refused(eqp__cost_fit_near(&sums, good, -0.1, &fit));
    assert_refused(eqp__cost_fit_near(&sums, good, NAN, &fit));
    assert_int_equal(fit.nkinds, 77);
    assert_ok(eqp__cost_fit_near(&sums, good, 0.1, &fit));
    assert_near(eqp_cost_fit_predict(&fit, count), 1.0, 1e-6);
}

TEST(noise_moves_costs_by_a_little)
{
    const double cost[] = {1e-10, 2.4e-10, 3e-9};
    eqp_cost_sums sums;
    eqp_cost_fit fit;
    uint64_t seed = 77;

    for (int weighting = EQP_COST_ABSOLUTE; weighting <= EQP_COST_RELATIVE; weighting++) {
        sums = sums_of(3, weighting);
        for (int i = 0; i < 2000; i++) {
            int64_t count[] = {(int64_t)(1e8 * noise(&seed)), (int64_t)(1e8 * noise(&seed)),
                               (int64_t)(1e7 * noise(&seed))};

            assert_ok(eqp__cost_sums_add(&sums, count, dot(3, cost, count) * (1.0 + 0.1 * (noise(&seed) - 0.5))));
        }
        fit = fit_of(&sums);
        for (int k = 0; k < 3; k++) {
            assert_near(fit.cost[k] / cost[k], 1.0, 0.03);
        }
        /* A uniform factor of +- 5 % has a deviation of 0.1 / sqrt(12); sizes vary, so the absolute error is near
         * it. */
        assert_near(fit.rmse, 0.1 / sqrt(12.0), 0.01);
    }
}

/* Brute force: the minimum over all sets of kinds with positive costs, each solved by Gaussian elimination of the
 * normal equations of the samples. */
static double brute_force_error(int n, double g[][EQP_COST_KINDS], const double *b, double ss)
{
    double best = ss;

    for (int set = 1; set < 1 << n; set++) {
        double m[EQP_COST_KINDS][EQP_COST_KINDS + 1], x[EQP_COST_KINDS] = {0.0};
        int row[EQP_COST_KINDS], size = 0;
        bool usable = true;

        for (int k = 0; k < n; k++) {
            if (set >> k & 1) {
                row[size++] = k;
            }
        }
        for (int i = 0; i < size; i++) {
            for (int j = 0; j < size; j++) {
                m[i][j] = g[row[i]][row[j]];
            }
            m[i][size] = b[row[i]];
        }
        for (int i = 0; i < size; i++) {
            for (int r = i + 1; r < size; r++) {
                double f = m[r][i] / m[i][i];

                for (int c = i; c <= size; c++) {
                    m[r][c] -= f * m[i][c];
                }
            }
        }
        for (int i = size - 1; i >= 0; i--) {
            x[i] = m[i][size];
            for (int c = i + 1; c < size; c++) {
                x[i] -= m[i][c] * x[c];
            }
            x[i] /= m[i][i];
            usable = usable && x[i] >= 0.0;
        }
        if (usable) {
            double error = ss;

            for (int i = 0; i < size; i++) {
                error -= x[i] * b[row[i]];
            }
            best = fmin(best, error);
        }
    }
    return best;
}

TEST(the_active_set_finds_what_brute_force_finds)
{
    uint64_t seed = 123;
    int bounded = 0;

    for (int trial = 0; trial < 300; trial++) {
        int n = 1 + trial % 6;
        double g[EQP_COST_KINDS][EQP_COST_KINDS] = {{0.0}}, b[EQP_COST_KINDS] = {0.0}, ss = 0.0, total = 0.0;
        eqp_cost_sums sums = sums_of(n, EQP_COST_ABSOLUTE);

        for (int i = 0; i < 12; i++) {
            int64_t count[EQP_COST_KINDS];
            /* Time unrelated to some kinds drives their costs to zero. */
            double seconds = 0.5 + noise(&seed);

            for (int k = 0; k < n; k++) {
                count[k] = 1 + (int64_t)(1000.0 * noise(&seed));
            }
            seconds += 1e-3 * (double)count[0];
            assert_ok(eqp__cost_sums_add(&sums, count, seconds));
            for (int k = 0; k < n; k++) {
                for (int l = 0; l < n; l++) {
                    g[k][l] += (double)count[k] * (double)count[l];
                }
                b[k] += (double)count[k] * seconds;
            }
            ss += seconds * seconds;
            total += seconds;
        }
        eqp_cost_fit fit = fit_of(&sums);
        for (int k = 0; k < n; k++) {
            bounded += fit.cost[k] == 0.0;
        }
        double error = fit.rmse * total / 12.0;
        assert_near(12.0 * error * error, brute_force_error(n, g, b, ss), 1e-8 * ss);
    }
    assert_in_range(bounded, 20, 300 * 6);
}

TEST(merged_sums_fit_like_all_samples)
{
    const double cost[] = {1e-9, 5e-9};
    eqp_cost_sums all, part[3], other;
    eqp_cost_fit whole, merged;
    uint64_t seed = 4;

    assert_ok(eqp__cost_sums_init(&all, 2, EQP_COST_RELATIVE));
    for (int p = 0; p < 3; p++) {
        assert_ok(eqp__cost_sums_init(&part[p], 2, EQP_COST_RELATIVE));
    }
    for (int i = 0; i < 30; i++) {
        int64_t count[2];

        random_counts(&seed, 2, count);
        double seconds = dot(2, cost, count) * (0.9 + 0.2 * noise(&seed));
        assert_ok(eqp__cost_sums_add(&all, count, seconds));
        /* The third part stays empty. */
        assert_ok(eqp__cost_sums_add(&part[i % 2], count, seconds));
    }
    assert_ok(eqp__cost_sums_merge(&part[2], &part[0]));
    assert_ok(eqp__cost_sums_merge(&part[2], &part[1]));
    whole = fit_of(&all);
    assert_ok(eqp__cost_fit_compute(&part[2], &merged));
    assert_true(merged.samples == 30.0);
    for (int k = 0; k < 2; k++) {
        assert_near(merged.cost[k] / whole.cost[k], 1.0, 1e-10);
    }
    assert_near(merged.rmse, whole.rmse, 1e-8);
    assert_ok(eqp__cost_sums_init(&other, 3, EQP_COST_RELATIVE));
    assert_refused(eqp__cost_sums_merge(&all, &other));
    assert_ok(eqp__cost_sums_init(&other, 2, EQP_COST_ABSOLUTE));
    assert_refused(eqp__cost_sums_merge(&all, &other));
}

TEST(samples_without_information_are_left_out)
{
    const int64_t none[] = {0, 0}, some[] = {5, 6};
    eqp_cost_sums sums, empty;
    eqp_cost_fit fit;

    sums = sums_of(2, EQP_COST_RELATIVE);
    empty = sums;
    assert_ok(eqp__cost_sums_add(&sums, none, 0.5));
    assert_ok(eqp__cost_sums_add(&sums, some, 0.0));
    assert_memory_equal(&sums, &empty, sizeof sums);
    assert_int_equal(eqp__cost_fit_compute(&sums, &fit), EQP_ERR_STATE);
    sums = sums_of(2, EQP_COST_ABSOLUTE);
    assert_ok(eqp__cost_sums_add(&sums, some, 0.0));
    fit = fit_of(&sums);
    assert_true(fit.cost[0] == 0.0 && fit.cost[1] == 0.0 && fit.rmse == 0.0);
}

TEST(wrong_samples_are_refused_and_change_nothing)
{
    const int64_t good[] = {1, 2}, bad[] = {1, -2};
    eqp_cost_sums sums, old;
    eqp_cost_fit fit, old_fit;

    memset(&sums, 0, sizeof sums);
    memset(&fit, 0x5A, sizeof fit);
    old_fit = fit;
    assert_refused(eqp__cost_sums_init(&sums, 0, EQP_COST_ABSOLUTE));
    assert_refused(eqp__cost_sums_init(&sums, EQP_COST_KINDS + 1, EQP_COST_ABSOLUTE));
    assert_refused(eqp__cost_fit_compute(&sums, &fit));
    sums = sums_of(2, EQP_COST_ABSOLUTE);
    old = sums;
    assert_int_equal(eqp__cost_sums_add(&sums, bad, 1.0), EQP_ERR_DATA);
    assert_int_equal(eqp__cost_sums_add(&sums, good, -1.0), EQP_ERR_DATA);
    assert_int_equal(eqp__cost_sums_add(&sums, good, NAN), EQP_ERR_DATA);
    assert_int_equal(eqp__cost_sums_add(&sums, good, INFINITY), EQP_ERR_DATA);
    assert_memory_equal(&sums, &old, sizeof sums);
    assert_int_equal(eqp__cost_fit_compute(&sums, &fit), EQP_ERR_STATE);
    sums.sum[0] = NAN;
    assert_int_equal(eqp__cost_fit_compute(&sums, &fit), EQP_ERR_DATA);
    assert_memory_equal(&fit, &old_fit, sizeof fit);
}

TEST(the_largest_counts_and_times_fit)
{
    const int64_t count[] = {INT64_MAX, INT64_MAX / 3}, other[] = {INT64_MAX / 5, INT64_MAX};
    eqp_cost_sums sums = sums_of(2, EQP_COST_ABSOLUTE);

    assert_ok(eqp__cost_sums_add(&sums, count, 1e100));
    assert_ok(eqp__cost_sums_add(&sums, other, 1e100));
    eqp_cost_fit fit = fit_of(&sums);
    assert_near(eqp_cost_fit_predict(&fit, count) / 1e100, 1.0, 1e-6);
    sums = sums_of(2, EQP_COST_RELATIVE);
    assert_ok(eqp__cost_sums_add(&sums, count, 1.1e-100));
    fit = fit_of(&sums);
    assert_near(eqp_cost_fit_predict(&fit, count) / 1.1e-100, 1.0, 1e-6);
}

TEST(sums_of_too_many_kinds_are_refused)
{
    eqp_cost_sums sums = {.nkinds = 16}, other = {.nkinds = 16};
    const int64_t count[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

    assert_refused(eqp__cost_sums_add(&sums, count, 1.0));
    assert_refused(eqp__cost_sums_merge(&sums, &other));
    assert_true(eqp_cost_fit_predict(&(eqp_cost_fit){.nkinds = 16}, count) == 0.0);
    sums.nkinds = 0;
    assert_refused(eqp__cost_sums_add(&sums, count, 1.0));
}
