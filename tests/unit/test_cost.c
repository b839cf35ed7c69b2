/* SPDX-License-Identifier: BSD-3-Clause */

#include "cost/costs.h"
#include "failing_malloc.h"
#include "unit.h"

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

static eqp_cost_sums sums_of(int nkinds)
{
    eqp_cost_sums sums;

    assert_ok(eqp__cost_sums_init(&sums, nkinds));
    return sums;
}

/* A fit of the samples, without expected costs. */
static eqp_cost_fit fit_of(const eqp_cost_sums *sums)
{
    static const double nothing[EQP_COST_KINDS] = {0.0};
    eqp_cost_fit fit;

    assert_ok(eqp__cost_fit_near(sums, nothing, 0.0, &fit));
    return fit;
}

TEST(exact_costs_come_back)
{
    const double cost[EQP_COST_KINDS] = {1.1e-10, 2.6e-9, 0.0, 4e-8, 3.3e-9, 1e-7, 5e-11, 2e-9};

    for (int n = 1; n <= EQP_COST_KINDS; n++) {
        eqp_cost_sums sums = sums_of(n);
        int64_t count[EQP_COST_KINDS];
        uint64_t seed = 3;

        for (int i = 0; i < 60; i++) {
            random_counts(&seed, n, count);
            assert_ok(eqp__cost_sums_add(&sums, count, dot(n, cost, count)));
        }
        const eqp_cost_fit fit = fit_of(&sums);
        assert_int_equal(fit.nkinds, n);
        assert_true(fit.samples == 60.0);
        assert_near(fit.rmse, 0.0, 1e-6);
        for (int k = 0; k < n; k++) {
            const double typical = pow(10.0, 5 + k % 4) * cost[k];

            assert_true(fit.seen[k] && fit.cost[k] >= 0.0);
            /* A kind with a small share of the time is less accurate. */
            assert_near(fit.cost[k], cost[k], 1e-6 * (typical > 1e-2 ? cost[k] : 1e-7));
        }
        assert_near(eqp_cost_fit_predict(&fit, count) / dot(n, cost, count), 1.0, 1e-6);
    }
}

TEST(two_kinds_by_hand)
{
    /* Normal equations 5 a + 4 b = 14, 4 a + 5 b = 13: a = 2, b = 1, no error. */
    const int64_t one[] = {1, 2}, two[] = {2, 1};
    eqp_cost_sums sums = sums_of(2);

    assert_ok(eqp__cost_sums_add(&sums, one, 4.0));
    assert_ok(eqp__cost_sums_add(&sums, two, 5.0));
    eqp_cost_fit fit = fit_of(&sums);
    assert_near(fit.cost[0], 2.0, 1e-8);
    assert_near(fit.cost[1], 1.0, 1e-8);
}

/* One kind, one interaction each: c = (1/1 + 1/3) / (1/1 + 1/9) = 6/5, errors 1/5 and -3/5. */
TEST(errors_are_relative_to_each_sample)
{
    const int64_t one[] = {1};
    eqp_cost_sums sums = sums_of(1);

    assert_ok(eqp__cost_sums_add(&sums, one, 1.0));
    assert_ok(eqp__cost_sums_add(&sums, one, 3.0));
    const eqp_cost_fit fit = fit_of(&sums);
    assert_near(fit.cost[0], 1.2, 1e-9);
    assert_near(fit.rmse, sqrt((0.04 + 0.36) / 2.0), 1e-9);
}

TEST(an_unseen_kind_costs_nothing_and_is_marked)
{
    const double cost[] = {3e-9, 0.0, 7e-9};
    eqp_cost_sums sums = sums_of(3);
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
    eqp_cost_sums sums = sums_of(3);

    assert_ok(eqp__cost_sums_add(&sums, count, 8.0));
    eqp_cost_fit fit = fit_of(&sums);
    assert_near(eqp_cost_fit_predict(&fit, count), 8.0, 1e-6);
    assert_near(fit.cost[0] * 100.0, 4.0, 1e-3);
    assert_near(fit.cost[1] * 4000.0, 4.0, 1e-3);
    assert_true(fit.cost[2] == 0.0);
}

TEST(a_single_mixture_is_predicted_without_exploding_costs)
{
    eqp_cost_sums sums = sums_of(3);
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
    eqp_cost_sums sums = sums_of(3);
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

TEST(noise_moves_costs_by_a_little)
{
    const double cost[] = {1e-10, 2.4e-10, 3e-9};
    eqp_cost_sums sums = sums_of(3);
    uint64_t seed = 77;

    for (int i = 0; i < 2000; i++) {
        const int64_t count[] = {(int64_t)(1e8 * noise(&seed)), (int64_t)(1e8 * noise(&seed)),
                                 (int64_t)(1e7 * noise(&seed))};

        assert_ok(eqp__cost_sums_add(&sums, count, dot(3, cost, count) * (1.0 + 0.1 * (noise(&seed) - 0.5))));
    }
    const eqp_cost_fit fit = fit_of(&sums);
    for (int k = 0; k < 3; k++) {
        assert_near(fit.cost[k] / cost[k], 1.0, 0.03);
    }
    assert_near(fit.rmse, 0.1 / sqrt(12.0), 0.01); /* the deviation of a uniform factor of +- 5 % */
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
        double g[EQP_COST_KINDS][EQP_COST_KINDS] = {{0.0}}, b[EQP_COST_KINDS] = {0.0};
        eqp_cost_sums sums = sums_of(n);

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
                    g[k][l] += (double)count[k] * (double)count[l] / (seconds * seconds);
                }
                b[k] += (double)count[k] / seconds;
            }
        }
        const eqp_cost_fit fit = fit_of(&sums);
        for (int k = 0; k < n; k++) {
            bounded += fit.cost[k] == 0.0;
        }
        assert_near(12.0 * fit.rmse * fit.rmse, brute_force_error(n, g, b, 12.0), 1e-8 * 12.0);
    }
    assert_in_range(bounded, 20, 300 * 6);
}

TEST(samples_without_information_are_left_out)
{
    const int64_t none[] = {0, 0}, some[] = {5, 6};
    eqp_cost_sums sums = sums_of(2), empty = sums;
    eqp_cost_fit fit;

    assert_ok(eqp__cost_sums_add(&sums, none, 0.5));
    assert_ok(eqp__cost_sums_add(&sums, some, 0.0));
    assert_memory_equal(&sums, &empty, sizeof sums);
    assert_int_equal(eqp__cost_fit_near(&sums, (double[]){1.0, 1.0}, 0.0, &fit), EQP_ERR_STATE);
}

TEST(wrong_samples_are_refused_and_change_nothing)
{
    const int64_t good[] = {1, 2}, bad[] = {1, -2};
    const double wrong[] = {-1.0, NAN, INFINITY}, expected[] = {1.0, 1.0};
    eqp_cost_sums sums = sums_of(2), old = sums;
    eqp_cost_fit fit, old_fit;

    memset(&fit, 0x5A, sizeof fit);
    memcpy(&old_fit, &fit, sizeof fit);
    assert_refused(eqp__cost_sums_init(&sums, 0));
    assert_refused(eqp__cost_sums_init(&sums, EQP_COST_KINDS + 1));
    assert_int_equal(eqp__cost_sums_add(&sums, bad, 1.0), EQP_ERR_DATA);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(eqp__cost_sums_add(&sums, good, wrong[i]), EQP_ERR_DATA);
    }
    assert_memory_equal(&sums, &old, sizeof sums);
    sums.sum[0] = NAN;
    assert_int_equal(eqp__cost_fit_near(&sums, expected, 0.1, &fit), EQP_ERR_DATA);
    assert_memory_equal(&fit, &old_fit, sizeof fit);
    assert_true(eqp_cost_fit_predict(&(eqp_cost_fit){.nkinds = EQP_COST_KINDS + 1}, good) == 0.0);
}

TEST(the_largest_counts_and_shortest_times_fit)
{
    const int64_t count[] = {INT64_MAX, INT64_MAX / 3}, other[] = {INT64_MAX / 5, INT64_MAX};

    for (int i = 0; i < 2; i++) {
        const double seconds = i == 0 ? 1e100 : 1.1e-100;
        eqp_cost_sums sums = sums_of(2);
        assert_ok(eqp__cost_sums_add(&sums, count, seconds));
        assert_ok(eqp__cost_sums_add(&sums, other, seconds));
        const eqp_cost_fit fit = fit_of(&sums);
        assert_near(eqp_cost_fit_predict(&fit, count) / seconds, 1.0, 1e-6);
    }
}

static double rank_correlation(int64_t n, const double *model, const double *measured)
{
    double r = 9.0;

    assert_ok(eqp__load_rank_correlation(n, model, measured, &r));
    return r;
}

/* Ties: ranks of the model 1.5 1.5 3 4, of the measurement 2 1 3.5 3.5: sums of products 4, squares 4.5 and 4.5. */
TEST(correlation_of_ranks_by_hand)
{
    const double model[] = {1, 2, 3, 4, 5}, curved[] = {1, 4, 9, 16, 25}, falling[] = {9, 7, 5, 3, 1};
    const double ties[] = {5, 5, 6, 7}, measured[] = {0.2, 0.1, 0.9, 0.9}, same[] = {0.1, 0.1, 0.1};

    assert_near(rank_correlation(5, model, curved), 1.0, 1e-15);
    assert_near(rank_correlation(5, curved, falling), -1.0, 1e-15);
    assert_near(rank_correlation(4, ties, measured), 4.0 / 4.5, 1e-15);
    assert_true(rank_correlation(3, model, same) == 0.0 && rank_correlation(1, model, model) == 0.0);
}

/* Against ranks counted one by one: rank = 1 + smaller ones + half of the other equal ones. */
TEST(correlation_of_ranks_against_counting)
{
    double a[200], b[200], ra[200], rb[200], aa = 0.0, bb = 0.0, ab = 0.0;
    uint64_t seed = 11;

    for (int i = 0; i < 200; i++) {
        a[i] = floor(20.0 * noise(&seed));
        b[i] = floor(a[i] + 30.0 * noise(&seed));
    }
    for (int i = 0; i < 200; i++) {
        ra[i] = rb[i] = 0.5 - 100.5; /* less the mean rank */
        for (int j = 0; j < 200; j++) {
            ra[i] += a[j] < a[i] ? 1.0 : a[j] == a[i] ? 0.5 : 0.0;
            rb[i] += b[j] < b[i] ? 1.0 : b[j] == b[i] ? 0.5 : 0.0;
        }
        aa += ra[i] * ra[i];
        bb += rb[i] * rb[i];
        ab += ra[i] * rb[i];
    }
    const double r = rank_correlation(200, a, b);
    assert_near(r, ab / sqrt(aa * bb), 1e-14);
    assert_true(r > 0.2 && r < 0.9);
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
