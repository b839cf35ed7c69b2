/* SPDX-License-Identifier: BSD-3-Clause */
/* Weighing owners from all or some of their interactions, and the statistics of sizes. */

#include "slow.h"
#include "units_world.h"

enum { OWNERS = 3000, PARTS = 50 };

static void weigh(struct world *w, const eqp_units_options *options, const int64_t *first, int64_t *count,
                  double *weight)
{
    assert_ok(eqp_owners_weigh(w->n, w->id, first, world_enumerate, w, options, count, weight));
}

TEST(a_full_weighing_is_exact)
{
    FREED_BY(world_free) struct world w = world_create(100, 20);
    eqp_units_options options = eqp_units_options_defaults();
    int64_t count[100];
    double weight[100];

    w.weighted = true;
    weigh(&w, &options, NULL, count, weight);
    for (int64_t i = 0; i < w.n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < w.total[i]; j++) {
            sum += world_weight(&w, w.id[i], j);
        }
        assert_int_equal(count[i], w.total[i]);
        assert_true(weight[i] == sum);
    }
    assert_int_equal(w.calls, w.n);
}

/* Root of the mean squared relative error of the loads of PARTS ranges of owners, over some seeds. */
static double noise_of(struct world *w, eqp_sample_strategy strategy, double rate, const int64_t *first)
{
    static int64_t count[OWNERS];
    static double weight[OWNERS];
    double sum = 0;
    int terms = 0;

    for (uint64_t seed = 1; seed <= (slow_here() ? 1 : 4); seed++) {
        eqp_units_options options = world_options(strategy, 0);
        options.weigh_rate = rate;
        options.seed = seed;
        weigh(w, &options, first, count, weight);
        for (int p = 0; p < PARTS; p++, terms++) {
            double exact = 0, estimate = 0;
            for (int64_t i = w->n * p / PARTS; i < w->n * (p + 1) / PARTS; i++) {
                exact += (double)w->total[i];
                estimate += weight[i];
                assert_int_equal(count[i], w->total[i]);
            }
            sum += (estimate / exact - 1) * (estimate / exact - 1);
        }
    }
    return sqrt(sum / terms);
}

TEST(a_global_stride_has_far_less_noise_than_random_draws)
{
    FREED_BY(world_free) struct world w = world_create(slow_here() ? OWNERS / 3 : OWNERS, 20);
    HEAP int64_t *first = calloc(OWNERS + 1, sizeof *first);

    for (int64_t i = 0; i < w.n; i++) {
        first[i + 1] = first[i] + w.total[i];
    }
    double random = noise_of(&w, EQP_SAMPLE_RANDOM, 0.02, NULL), phased = noise_of(&w, EQP_SAMPLE_STRIDE, 0.02, NULL);
    double stride = noise_of(&w, EQP_SAMPLE_STRIDE, 0.02, first);
    assert_true(random > 0.05 && random < 0.5);
    assert_true(phased < random);
    assert_true(stride < random / 3);
}

/* One stride over everything: any run of owners has the weight of its samples, to within one stride at each end. */
TEST(a_global_stride_misses_at_most_its_two_ends)
{
    FREED_BY(world_free) struct world w = world_create(500, 20);
    eqp_units_options options = eqp_units_options_defaults();
    int64_t first[501] = {0}, count[500];
    double weight[500];

    options.weigh_rate = 1. / 37;
    for (int64_t i = 0; i < w.n; i++) {
        first[i + 1] = first[i] + w.total[i];
    }
    weigh(&w, &options, first, count, weight);
    for (int64_t from = 0; from < w.n; from += 13) {
        double estimate = 0;
        for (int64_t to = from; to < w.n; to++) {
            estimate += weight[to];
            assert_true(fabs(estimate - (double)(first[to + 1] - first[from])) < 37);
        }
    }
}

TEST(estimates_do_not_depend_on_the_order_of_owners)
{
    FREED_BY(world_free) struct world w = world_create(50, 100), v = world_create(50, 100);
    int64_t count[2][50];
    double weight[2][50];

    for (int64_t i = 0; i < w.n; i++) {
        v.id[i] = w.id[w.n - 1 - i];
        v.total[i] = w.total[w.n - 1 - i];
    }
    v.batch = 50;
    for (int s = EQP_SAMPLE_RANDOM; s <= EQP_SAMPLE_STRIDE; s++) {
        eqp_units_options options = world_options(s, 0);
        options.weigh_rate = 0.1;
        weigh(&w, &options, NULL, count[0], weight[0]);
        weigh(&v, &options, NULL, count[1], weight[1]);
        for (int64_t i = 0; i < w.n; i++) {
            assert_true(weight[0][i] == weight[1][w.n - 1 - i]);
        }
    }
}

TEST(an_estimated_weight_still_gives_units_that_cover)
{
    FREED_BY(world_free) struct world w = world_create(200, 50);
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 500);
    int64_t interactions = 0;

    w.weighted = true;
    options.weigh_rate = 0.05;
    FREED(eqp_units) *units = world_units(&w, &options);
    for (int64_t u = 0; u < eqp_units_count(units); u++) {
        const eqp_unit unit = world_unit(units, u);
        interactions += unit.interactions;
    }
    assert_int_equal(interactions, world_interactions(&w));
}

TEST(the_gamma_fit_recovers_its_parameters)
{
    static const double shape[] = {1, 2, 5, 12};
    static double x[20000];
    const int64_t n = slow_here() ? 4000 : 20000;

    for (int s = 0; s < 4; s++) {
        eqp_sizes sizes = {0};
        double k, theta;
        for (uint64_t i = 0; i < (uint64_t)n; i++) {
            double log_product = 0; /* of `shape` uniform numbers: a gamma deviate of whole shape */
            for (uint64_t j = 0; j < (uint64_t)shape[s]; j++) {
                log_product += log(1 - eqp_random_uniform(5 + (uint64_t)s, i, j));
            }
            x[i] = -37 * log_product;
        }
        assert_ok(eqp_sizes_add(&sizes, n, x));
        assert_ok(eqp_sizes_fit_gamma(&sizes, &k, &theta));
        assert_true(fabs(k / shape[s] - 1) < 0.04);
        assert_true(fabs(theta / 37 - 1) < 0.04);
        assert_true(fabs(k * theta - sizes.sum / (double)n) < 1e-9 * k * theta);
    }
}

/* The likelihood's derivatives vanish at the fit: no other shape near it is more likely. */
TEST(the_gamma_fit_is_the_most_likely)
{
    const double x[] = {0.01, 3, 900, 12, 12.5, 0, 7e-3, 44};
    double k, theta, best = -INFINITY;
    eqp_sizes sizes = {0};

    assert_ok(eqp_sizes_add(&sizes, 8, x));
    assert_int_equal(sizes.zeros, 1);
    assert_ok(eqp_sizes_fit_gamma(&sizes, &k, &theta));
    for (int step = -3; step <= 3; step++) {
        double a = k * exp(step * 0.01), b = sizes.sum / 7 / a;
        double likelihood = (a - 1) * sizes.sum_logs - sizes.sum / b - 7 * (a * log(b) + lgamma(a));
        best = fmax(best, likelihood);
        assert_true(step != 3 || best > likelihood);
    }
    assert_true(fabs(best - ((k - 1) * sizes.sum_logs - sizes.sum / theta - 7 * (k * log(theta) + lgamma(k)))) < 1e-9);
}

TEST(a_fit_needs_two_different_sizes)
{
    const double equal[] = {4, 4, 4, 4, 4};
    const double zeros[] = {0, 0, 3};
    double k = -1, theta = -1;
    eqp_sizes sizes = {0};

    assert_int_equal(eqp_sizes_fit_gamma(&sizes, &k, &theta), EQP_ERR_DATA);
    assert_ok(eqp_sizes_add(&sizes, 5, equal));
    assert_int_equal(eqp_sizes_fit_gamma(&sizes, &k, &theta), EQP_ERR_DATA);
    memset(&sizes, 0, sizeof sizes);
    assert_ok(eqp_sizes_add(&sizes, 3, zeros));
    assert_int_equal(eqp_sizes_fit_gamma(&sizes, &k, &theta), EQP_ERR_DATA);
    assert_true(k == -1 && theta == -1);
}

TEST(sizes_add_up_over_pieces)
{
    static double x[3000];
    eqp_sizes whole = {0}, sum = {0}, none = {0};

    for (uint64_t i = 0; i < 3000; i++) {
        x[i] = floor(exp(20 * eqp_random_uniform(3, i, 0) - 5)); /* many zeros */
    }
    assert_ok(eqp_sizes_add(&whole, 3000, x));
    for (int piece = 0; piece < 3; piece++) {
        eqp_sizes part = {0};
        assert_ok(eqp_sizes_add(&part, 1000, x + piece * 1000));
        eqp_sizes_merge(&sum, &part);
        eqp_sizes_merge(&sum, &none);
    }
    assert_int_equal(sum.n, whole.n);
    assert_int_equal(sum.zeros, whole.zeros);
    assert_true(sum.min == 0 && sum.max == whole.max && sum.zeros > 0);
    assert_true(fabs(sum.sum - whole.sum) <= 1e-12 * whole.sum);
    assert_memory_equal(sum.bin, whole.bin, sizeof sum.bin);
}

TEST(a_size_is_in_the_bin_that_says_so)
{
    for (int b = 0; b < EQP_SIZES_BINS - 1; b++) {
        double start = eqp_sizes_bin_start(b), end = eqp_sizes_bin_start(b + 1);
        double x[] = {start * (1 + 1e-9), end * (1 - 1e-9)};
        eqp_sizes sizes = {0};
        assert_ok(eqp_sizes_add(&sizes, 2, x));
        assert_int_equal(sizes.bin[b], 2);
    }
    const double far[] = {1e-300, 1e300};
    const double bad[] = {1, -1};
    eqp_sizes sizes = {0};
    assert_ok(eqp_sizes_add(&sizes, 2, far));
    assert_int_equal(sizes.bin[0] + sizes.bin[EQP_SIZES_BINS - 1], 2);
    assert_int_equal(eqp_sizes_add(&sizes, 2, bad), EQP_ERR_DATA);
    assert_int_equal(sizes.n, 2);
}
