/* SPDX-License-Identifier: BSD-3-Clause */

#include "loops/rules.h"
#include "schedule_world.h"

FREES(eqp_schedule, eqp_schedule_free)

static const double table_weights[] = {1.5, 0.5, 1, 1};

/* Ranks request chunks in turn; the first ones are compared. */
static void assert_sizes(const char *name, const eqp_schedule_options *options, int n, const int *expected)
{
    FREED(eqp_schedule) *schedule = schedule_of(name, 800, 4, options);
    eqp_schedule_chunk chunk;
    int64_t first = 0;

    for (int i = 0; i < n; i++) {
        assert_ok(eqp_schedule_next(schedule, i % 4, &chunk));
        assert_int_equal(chunk.count, expected[i]);
        assert_int_equal(chunk.first, first);
        first += chunk.count;
    }
    assert_int_equal(schedule->left, 800 - first);
}

#define SIZES(name, options, ...)                                                                                      \
    do {                                                                                                               \
        static const int sizes_[] = {__VA_ARGS__};                                                                     \
        assert_sizes(name, options, COUNT_OF(sizes_), sizes_);                                                         \
    } while (0)

/* Table 2.1 of the thesis: 800 iterations, 4 ranks, weights 1.5, 0.5, 1, 1. */
TEST(sizes_of_the_published_table)
{
    eqp_schedule_options o = eqp_schedule_options_defaults();

    o.weight = table_weights;
    SIZES("static", &o, 200, 200, 200, 200);
    SIZES("self", &o, 1, 1, 1, 1, 1, 1);
    o.chunk = 37;
    SIZES("fixed", &o, 37, 37, 37, 37, 37, 37);
    o.chunk = 0;
    SIZES("guided", &o, 200, 150, 113, 85);
    SIZES("factoring", &o, 100, 100, 100, 100, 50, 50, 50, 50);
    SIZES("weighted-factoring", &o, 150, 50, 100, 100, 75, 25, 50, 50);
    SIZES("trapezoid", &o, 100, 94, 88, 82, 76, 70, 64, 58, 52, 46, 40, 30, 0);
}

/* Eq. 2.1 by hand, and its limits. */
TEST(fixed_size_follows_the_formula)
{
    eqp_schedule_options o = eqp_schedule_options_defaults();

    assert_true(fabs(eqp__schedule_fixed_size(800, 4, 1.0, 1.0) - 38.644) < 1e-3);
    assert_true(fabs(eqp__schedule_fixed_size(10000, 16, 2e-3, 0.5) - 1.65199) < 1e-5);
    assert_true(eqp__schedule_fixed_size(800, 4, 1e9, 1.0) == 200.0);
    assert_true(eqp__schedule_fixed_size(800, 4, 0.0, 1.0) == 1.0);
    assert_true(eqp__schedule_fixed_size(800, 4, 1.0, 0.0) == 200.0);
    assert_true(eqp__schedule_fixed_size(800, 1, 1.0, 1.0) == 800.0);
    assert_true(eqp__schedule_fixed_size(0, 4, 1.0, 1.0) == 1.0);
    o.overhead = o.deviation = 1.0;
    SIZES("fixed", &o, 39, 39, 39);
}

TEST(table_knows_its_rows)
{
    static const char *const names[] = {
        "static", "self",  "fixed", "guided", "factoring",          "weighted-factoring", "adaptive-weighted-factoring",
        "awf-b",  "awf-c", "awf-d", "awf-e",  "adaptive-factoring", "fractiling",         "trapezoid"};

    assert_int_equal(eqp_schedule_method_count(), sizeof names / sizeof names[0]);
    for (int i = 0; i < eqp_schedule_method_count(); i++) {
        assert_ptr_equal(eqp_schedule_method_find(names[i]), eqp_schedule_method_at(i));
        assert_true(eqp_schedule_method_at(i)->summary[0] != '\0');
    }
    assert_null(eqp_schedule_method_find("statis"));
    assert_null(eqp_schedule_method_at(-1));
    assert_null(eqp_schedule_method_at(eqp_schedule_method_count()));
}

/* Ranks request chunks in random order, some rarely. Chunks are recorded with random times, some invalid, or not at
 * all, and the end of a chunk is sometimes given away. */
static void hand_out(eqp_schedule *schedule, int64_t n, int nranks, uint64_t seed)
{
    seen s = seen_create(n);
    bool *idle = calloc((size_t)nranks, sizeof *idle);
    eqp_schedule_chunk *held = calloc((size_t)nranks, sizeof *held);
    int nidle = 0;

    assert_true(idle && held);
    for (uint64_t k = 0; nidle < nranks; k++) {
        /* Low ranks request much more often, as if high ranks stalled. */
        const double u = eqp_random_uniform(seed, k, 0);
        const int rank = (int)(u * u * nranks), other = (int)eqp_random_below(seed, k, 2, (uint64_t)nranks);
        const double seconds = eqp_random_uniform(seed, k, 3) - 0.2;
        const eqp_schedule_sample sample = {held[rank].count, seconds > -0.1 && seconds < 0 ? 0.0 : seconds, 0.0, 1e-3};
        eqp_schedule_chunk moved;
        assert_int_equal(eqp__schedule_record(schedule, rank, &sample), seconds <= -0.1 ? EQP_ERR_DATA : EQP_OK);
        seen_add(&s, held[rank]);
        assert_ok(eqp_schedule_next(schedule, rank, &held[rank]));
        if (held[rank].count == 0) {
            nidle += !idle[rank];
            idle[rank] = true;
            if (other != rank && held[other].count > 1) {
                const int64_t first = held[other].first + held[other].count / 2;
                assert_ok(eqp__schedule_yield(schedule, other, rank, first, &moved));
                assert_int_equal(moved.first, first);
                assert_int_equal(moved.first + moved.count, held[other].first + held[other].count);
                held[other].count = first - held[other].first;
                held[rank] = moved;
            }
        }
    }
    for (int r = 0; r < nranks; r++) {
        seen_add(&s, held[r]);
    }
    assert_int_equal(schedule->left, 0);
    free(idle);
    free(held);
    seen_end(&s);
}

TEST(every_iteration_once)
{
    static const int ranks[] = {1, 2, 3, 4, 7, 8, 16, 33, 64};
    uint64_t seed = 0;

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int k = 0; k < COUNT_OF(ranks); k++) {
            const int p = ranks[k];
            const int64_t sizes[] = {0, 1, p - 1, p, p + 1, 10 * p + 3, (int64_t)eqp_random_below(7, ++seed, 0, 3000)};
            for (int i = 0; i < COUNT_OF(sizes); i++) {
                eqp_schedule_options o = eqp_schedule_options_defaults();
                double weight[64];
                FREED(eqp_schedule) *schedule = NULL;
                for (int r = 0; r < p; r++) {
                    weight[r] = 0.01 + 3.0 * eqp_random_uniform(11, seed, (uint64_t)r);
                }
                o.weight = i % 2 ? weight : NULL;
                o.factor = 1.0 + (double)(seed % 5) / 2.0;
                o.dimensions = 1 + (int)(seed % 3);
                schedule = schedule_of(eqp_schedule_method_at(m)->name, sizes[i], p, &o);
                hand_out(schedule, sizes[i], p, ++seed);
                /* The next time step works too, with other iterations. */
                eqp__schedule_restart(schedule, sizes[i] / 2 + 5);
                hand_out(schedule, sizes[i] / 2 + 5, p, ++seed);
            }
        }
    }
}

/* Both hand out the same chunks to the end; the second one is asked by ranks in any order if `shuffled`. */
static void assert_alike(eqp_schedule *a, eqp_schedule *b, int nranks, bool shuffled)
{
    eqp_schedule_chunk x = {0, 1}, y;

    for (int i = 0; x.count > 0; i++) {
        const int other = (int)eqp_random_below(5, (uint64_t)i, 0, (uint64_t)nranks);
        assert_ok(eqp_schedule_next(a, i % nranks, &x));
        assert_ok(eqp_schedule_next(b, shuffled ? other : i % nranks, &y));
        assert_true(x.first == y.first && x.count == y.count);
    }
    eqp_schedule_free(a);
    eqp_schedule_free(b);
}

/* Rules for one pool depend on the remaining iterations, not on the requesting rank. */
TEST(sizes_do_not_depend_on_who_asks)
{
    static const char *const names[] = {"self", "fixed", "guided", "factoring", "trapezoid"};

    for (int m = 0; m < COUNT_OF(names); m++) {
        assert_alike(schedule_of(names[m], 12345, 7, NULL), schedule_of(names[m], 12345, 7, NULL), 7, true);
    }
}

/* Weighted factoring with equal weights, and the adaptive methods before the first measurement, equal factoring. */
TEST(equal_weights_are_factoring)
{
    static const char *const names[] = {"weighted-factoring", "adaptive-weighted-factoring", "awf-b", "awf-d"};
    static const double equal[] = {3, 3, 3, 3, 3, 3};
    eqp_schedule_options o = eqp_schedule_options_defaults();

    o.weight = equal;
    for (int m = 0; m < COUNT_OF(names); m++) {
        assert_alike(schedule_of("factoring", 9999, 6, NULL), schedule_of(names[m], 9999, 6, &o), 6, false);
    }
}

static void record(eqp_schedule *schedule, int rank, int64_t count, double seconds, double squares, double overhead)
{
    const eqp_schedule_sample sample = {count, seconds, squares, overhead};

    assert_ok(eqp__schedule_record(schedule, rank, &sample));
}

static void assert_weights(const eqp_schedule *schedule, double first, double second)
{
    assert_true(fabs(eqp__schedule_weight(schedule, 0) - first) < 1e-12);
    assert_true(fabs(eqp__schedule_weight(schedule, 1) - second) < 1e-12);
}

/* Eq. 2.4 to 2.10 by hand: 0.1 and 0.3 s an iteration, then (10 + 2 40) / (100 + 2 200) = 0.18 for the first. */
TEST(weights_follow_time_steps)
{
    FREED(eqp_schedule) *schedule = schedule_of("adaptive-weighted-factoring", 800, 2, NULL);

    record(schedule, 0, 60, 4.0, 0, 9);
    record(schedule, 0, 40, 6.0, 0, 9);
    record(schedule, 1, 100, 30.0, 0, 9);
    assert_weights(schedule, 1, 1);
    eqp__schedule_restart(schedule, 800);
    assert_weights(schedule, 1.5, 0.5);
    assert_int_equal(next_size(schedule, 0), 300);
    record(schedule, 0, 200, 40.0, 0, 0);
    eqp__schedule_restart(schedule, 800);
    assert_weights(schedule, 2 * (1 / 0.18) / (1 / 0.18 + 1 / 0.3), 2 * (1 / 0.3) / (1 / 0.18 + 1 / 0.3));
}

TEST(weights_follow_chunks)
{
    static const char *const names[] = {"awf-b", "awf-c", "awf-d", "awf-e"};

    for (int m = 0; m < 4; m++) {
        FREED(eqp_schedule) *schedule = schedule_of(names[m], 800, 2, NULL);
        assert_int_equal(next_size(schedule, 0), 200);
        record(schedule, 0, 200, 20, 0, 20);
        /* A rank without measurements counts as fast as the measured ones. */
        assert_weights(schedule, 1, 1);
        record(schedule, 1, 100, 30, 0, 0);
        /* 0.1 s, or 0.2 s with the overhead, against 0.3 s. */
        assert_weights(schedule, m < 2 ? 1.5 : 1.2, m < 2 ? 0.5 : 0.8);
        /* The batch has 200 left. Weights updated by the batch have not changed; other chunks are half of the rank's
         * share of 600. */
        assert_int_equal(next_size(schedule, 0), m == 0 || m == 2 ? 200 : m == 1 ? 225 : 180);
    }
}

static void assert_four_weights(const eqp_schedule *schedule, double a, double b, double c, double d)
{
    const double expected[] = {a, b, c, d};

    for (int r = 0; r < 4; r++) {
        assert_true(fabs(eqp__schedule_weight(schedule, r) - expected[r]) < 1e-12);
    }
}

/* Measured ranks redistribute the sum of their weights; the weights of unmeasured ranks stay. */
TEST(measured_ranks_share_what_they_were_given)
{
    static const char *const names[] = {"awf-b", "awf-c", "awf-d", "awf-e"};
    eqp_schedule_options options = eqp_schedule_options_defaults();

    options.weight = table_weights;
    for (int m = 0; m < 4; m++) {
        eqp_schedule *schedule = schedule_of(names[m], 800, 4, &options);
        assert_four_weights(schedule, 1.5, 0.5, 1, 1);
        /* Ranks as fast as declared keep their weights, in any order of measurement and any unit of time. */
        record(schedule, 0, 150, 1e-3 * 150 / 1.5, 0, 0);
        assert_four_weights(schedule, 1.5, 0.5, 1, 1);
        record(schedule, 3, 100, 1e-3 * 100, 0, 0);
        assert_four_weights(schedule, 1.5, 0.5, 1, 1);
        record(schedule, 1, 50, 1e-3 * 50 / 0.5, 0, 0);
        assert_four_weights(schedule, 1.5, 0.5, 1, 1);
        record(schedule, 2, 100, 1e-3 * 100, 0, 0);
        assert_four_weights(schedule, 1.5, 0.5, 1, 1);
        eqp_schedule_free(schedule);

        /* Very different speeds of two ranks leave the weights of unmeasured ranks unchanged. */
        schedule = schedule_of(names[m], 800, 4, &options);
        record(schedule, 2, 100, 10, 0, 0);
        record(schedule, 0, 100, 1000, 0, 0);
        assert_four_weights(schedule, 2.5 / 101, 0.5, 250.0 / 101, 1);
        record(schedule, 1, 100, 10, 0, 0);
        assert_four_weights(schedule, 3.0 / 201, 300.0 / 201, 300.0 / 201, 1);
        record(schedule, 3, 100, 10, 0, 0);
        assert_four_weights(schedule, 4.0 / 301, 400.0 / 301, 400.0 / 301, 400.0 / 301);
        eqp_schedule_free(schedule);
    }
}

/* Section 4.8: a given size of the first chunks measures weights, which weighted factoring keeps. */
TEST(first_chunks_are_as_the_user_says)
{
    static const char *const names[] = {"weighted-factoring", "awf-b", "awf-d", "awf-c", "awf-e"};
    static const int64_t second[] = {95, 95, 95, 60, 60};

    for (int m = 0; m < 5; m++) {
        const eqp_schedule_options options = {sizeof(eqp_schedule_options), NULL, 2.0, 20, 0.0, 0.0, 2};
        FREED(eqp_schedule) *schedule = schedule_of(names[m], 800, 2, &options);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(next_size(schedule, r), 20);
        }
        record(schedule, 0, 20, 2, 0, 0);
        record(schedule, 1, 20, 6, 0, 0);
        assert_weights(schedule, 1.5, 0.5);
        /* 760 are left. */
        assert_int_equal(next_size(schedule, 0), 285);
        assert_int_equal(next_size(schedule, 1), second[m]);
        record(schedule, 0, 285, 285, 0, 0);
        assert_true((fabs(eqp__schedule_weight(schedule, 0) - 1.5) < 1e-12) == (m == 0));
    }
}

/* Given weights apply to the first chunks; without a size nothing is measured, and factoring ignores the size. */
TEST(first_chunks_follow_given_weights)
{
    static const double weight[] = {3, 1};
    eqp_schedule_options options = {sizeof(eqp_schedule_options), weight, 2.0, 20, 0.0, 0.0, 2};
    eqp_schedule *schedule = schedule_of("weighted-factoring", 800, 2, &options);

    assert_int_equal(next_size(schedule, 0), 30);
    eqp_schedule_free(schedule);
    schedule = schedule_of("factoring", 800, 2, &options);
    assert_int_equal(next_size(schedule, 0), 200);
    eqp_schedule_free(schedule);
    options.chunk = 0;
    schedule = schedule_of("weighted-factoring", 800, 2, &options);
    record(schedule, 0, 20, 2, 0, 0);
    record(schedule, 1, 20, 2, 0, 0);
    assert_weights(schedule, 1.5, 0.5);
    eqp_schedule_free(schedule);
}

/* Reference implementation of eq. 2.11 to 2.16. */
TEST(adaptive_factoring_follows_the_formula)
{
    FREED(eqp_schedule) *schedule = schedule_of("adaptive-factoring", 1600, 2, NULL);
    eqp_schedule_chunk chunk;
    double mean[2], variance[2], d, t, left;

    for (int r = 0; r < 2; r++) {
        double sum = 0, squares = 0;
        assert_int_equal(next_size(schedule, r), 200);
        for (int i = 0; i < 200; i++) {
            const double x = (1 + r) * (0.5 + eqp_random_uniform(3, (uint64_t)r, (uint64_t)i));
            sum += x;
            squares += x * x;
        }
        mean[r] = sum / 200;
        variance[r] = (squares - 200 * mean[r] * mean[r]) / 199;
        record(schedule, r, 200, sum, squares, 0);
    }
    left = 1200;
    d = variance[0] / mean[0] + variance[1] / mean[1];
    t = 1 / (1 / mean[0] + 1 / mean[1]);
    for (int r = 0; r < 2; r++) {
        const double k = (d + 2 * t * left - sqrt(d * d + 4 * d * t * left)) / (2 * mean[r]);
        assert_ok(eqp_schedule_next(schedule, r, &chunk));
        assert_true(fabs((double)chunk.count - k) <= 0.5 + 1e-6);
        assert_true(k > 100 && k < 800);
        left -= (double)chunk.count;
    }
}

/* Without spread the rest is divided at once, in proportion to the speeds. */
TEST(adaptive_factoring_without_spread_is_static)
{
    FREED(eqp_schedule) *schedule = schedule_of("adaptive-factoring", 1600, 2, NULL);
    eqp_schedule_chunk chunk;

    for (int r = 0; r < 2; r++) {
        assert_ok(eqp_schedule_next(schedule, r, &chunk));
        record(schedule, r, chunk.count, (r == 0 ? 1.0 : 3.0) * (double)chunk.count, 0, 0);
    }
    assert_int_equal(next_size(schedule, 0), 900);
    /* The next time step starts with the first chunk. */
    eqp__schedule_restart(schedule, 1600);
    assert_int_equal(next_size(schedule, 0), 200);
}

/* Refused times change nothing; a speed of 0 is refused. */
TEST(bad_times_change_nothing)
{
    const double bad[] = {-1.0, -1e-300, NAN, INFINITY, -INFINITY, 1e308};

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        const eqp_schedule_method *method = eqp_schedule_method_at(m);
        FREED(eqp_schedule) *good = schedule_of(method->name, 4000, 3, NULL),
                            *teased = schedule_of(method->name, 4000, 3, NULL);
        eqp_schedule_chunk a, b;
        for (int i = 0; i < 60; i++) {
            const int r = i % 3;
            for (size_t k = 0; k < 5 + (method->learns >= EQP_SCHEDULE_LEARNS_CHUNKS); k++) {
                const eqp_schedule_sample seconds = {5, bad[k], 0, 0}, squares = {5, 1, bad[k], 0},
                                          overhead = {5, 1, 0, bad[k]};
                assert_int_equal(eqp__schedule_record(teased, r, &seconds), EQP_ERR_DATA);
                if (k < 5) {
                    assert_int_equal(eqp__schedule_record(teased, r, &squares), EQP_ERR_DATA);
                    assert_int_equal(eqp__schedule_record(teased, r, &overhead), EQP_ERR_DATA);
                }
            }
            assert_ok(eqp_schedule_next(good, r, &a));
            assert_ok(eqp_schedule_next(teased, r, &b));
            assert_true(a.first == b.first && a.count == b.count);
            record(good, r, a.count, 0.25 * (r + 1) * (double)a.count, 0, 0.5);
            record(teased, r, b.count, 0.25 * (r + 1) * (double)b.count, 0, 0.5);
        }
    }
}

TEST(no_time_is_no_measurement)
{
    FREED(eqp_schedule) *schedule = schedule_of("awf-c", 800, 2, NULL);

    record(schedule, 0, 100, 0, 0, 0);
    record(schedule, 1, 100, 5, 0, 0);
    assert_weights(schedule, 1, 1);
    record(schedule, 0, 0, 0, 0, 0);
    assert_weights(schedule, 1, 1);
}

TEST(bad_arguments_are_refused)
{
    const eqp_schedule_method *method = eqp_schedule_method_at(0);
    const double bad[] = {0.0, -1.0, NAN, INFINITY};
    eqp_schedule *schedule = NULL;
    eqp_schedule_options wrong[20];
    double weight[4][2];
    int n = 0;

    for (int k = 0; k < 20; k++) {
        wrong[k] = eqp_schedule_options_defaults();
    }
    for (int i = 0; i < 4; i++) {
        weight[i][0] = 1;
        weight[i][1] = bad[i];
        wrong[n++].weight = weight[i];
        wrong[n++].factor = bad[i];
        if (i > 0) {
            wrong[n++].overhead = bad[i];
            wrong[n++].deviation = bad[i];
        }
    }
    wrong[n++].chunk = -1;
    wrong[n++].dimensions = 4;
    for (int k = 0; k < n; k++) {
        assert_refused(eqp_schedule_create(method, 1, 2, &wrong[k], &schedule));
    }
    assert_refused(eqp_schedule_create(method, -1, 1, NULL, &schedule));
    assert_refused(eqp_schedule_create(method, 1, 0, NULL, &schedule));
    assert_int_equal(eqp_schedule_create(method, 1, INT32_MAX, NULL, &schedule), EQP_ERR_OVERFLOW);
    assert_null(schedule);
}

TEST(what_is_not_held_is_not_given)
{
    FREED(eqp_schedule) *schedule = schedule_of("guided", 100, 3, NULL);
    eqp_schedule_chunk chunk, moved = {-7, -7};

    assert_int_equal(eqp__schedule_yield(schedule, 0, 1, 0, &moved), EQP_ERR_STATE);
    assert_ok(eqp_schedule_next(schedule, 0, &chunk));
    assert_int_equal(eqp__schedule_yield(schedule, 0, 1, chunk.count, &moved), EQP_ERR_STATE);
    assert_int_equal(eqp__schedule_yield(schedule, 0, 1, -1, &moved), EQP_ERR_STATE);
    assert_int_equal(moved.first, -7);
    assert_refused(eqp_schedule_next(schedule, 3, &moved));
    assert_refused(eqp_schedule_next(schedule, -1, &moved));
    assert_ok(eqp__schedule_yield(schedule, 0, 1, 30, &moved));
    assert_true(moved.first == 30 && moved.count == chunk.count - 30);
    /* Iterations given away belong to the receiver and can be given on. */
    assert_int_equal(eqp__schedule_yield(schedule, 0, 2, 30, &moved), EQP_ERR_STATE);
    assert_ok(eqp__schedule_yield(schedule, 1, 2, 32, &moved));
    assert_true(moved.first == 32 && moved.count == chunk.count - 32);
}

TEST(as_many_iterations_as_can_be_counted)
{
    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        FREED(eqp_schedule) *schedule = schedule_of(eqp_schedule_method_at(m)->name, INT64_MAX, 3, NULL);
        int64_t left = INT64_MAX;
        for (int i = 0; i < 300; i++) {
            eqp_schedule_chunk chunk;
            assert_ok(eqp_schedule_next(schedule, i % 3, &chunk));
            assert_true(chunk.count >= 0 && chunk.count <= left && chunk.first >= 0);
            left -= chunk.count;
            assert_true(schedule->left == left);
            record(schedule, i % 3, chunk.count, 1e-3 * (double)chunk.count, 0, 0);
        }
    }
}

/* 64 x 64 cells, 16 ranks: every chunk is a square, and each rank starts with its own part. */
TEST(fractiles_are_tiles)
{
    FREED(eqp_schedule) *schedule = schedule_of("fractiling", 4096, 16, NULL);
    eqp_schedule_chunk chunk;

    for (int i = 0; schedule->left > 0; i++) {
        const int rank = i < 16 ? i : (int)eqp_random_below(9, (uint64_t)i, 0, 5);
        assert_ok(eqp_schedule_next(schedule, rank, &chunk));
        assert_true(chunk.count == 1 || chunk.count == 4 || chunk.count == 16 || chunk.count == 64);
        assert_int_equal(chunk.first % chunk.count, 0);
        assert_true(i >= 16 || chunk.first / 256 == rank);
    }
}
