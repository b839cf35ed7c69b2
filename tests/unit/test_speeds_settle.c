/* SPDX-License-Identifier: BSD-3-Clause */
/* Models that learn from their own divisions: constant speeds, and cliffs where memory runs out. */
#include "models/speeds.h"
#include "slow.h"
#include "speeds_world.h"

FREES(eqp_speeds_functions, eqp_speeds_functions_free)
FREES(eqp_speeds, eqp_speeds_free)

/* Four ranks that share 11,000 rows like cluster 2 of Clarke 2011, table 1: two of little memory, whose speed falls to
 * a thirtieth over a tenth of their memory; equal shares do not fit into it. */
static const char cliff[] = "0 2400 900\n0 2640 30\n"
                            "1 2300 750\n1 2530 25\n"
                            "2 5200 850\n2 5720 28\n"
                            "3 9000 840\n";
enum { ROWS = 11000 };

static int some(int n)
{
    return slow_here() ? n / 10 : n;
}

/* In small samples one or two unlucky cases weigh more. */
static int most_of(int n)
{
    return slow_here() ? n / 10 - n / 100 : n;
}

TEST(the_constant_model_swings_for_ever_at_the_cliff)
{
    FREED(eqp_speeds_functions) *functions = declare(cliff);
    int64_t share[4], first[4], second[4], third[4];

    assert_int_equal(iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER, share), 0);
    /* The model depends on the last shares only: once they repeat, they always do. */
    (void)iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER - 2, first);
    (void)iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER - 1, second);
    (void)iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER, third);
    assert_memory_equal(first, third, sizeof first);
    assert_true(second[0] > 4 * first[0] || first[0] > 4 * second[0]);
}

TEST(both_partial_models_settle_at_the_cliff)
{
    FREED(eqp_speeds_functions) *functions = declare(cliff);
    int64_t share[4];

    for (eqp_speeds_kind kind = EQP_SPEEDS_PIECEWISE; kind <= EQP_SPEEDS_AKIMA; kind++) {
        const int iterations = iterations_until(functions, kind, ROWS, 0.05, FOREVER, share);

        print_message("%s: %d iterations\n", eqp_speeds_kind_name(kind), iterations);
        assert_in_range(iterations, 2, 10);
    }
}

TEST(without_the_cliff_all_models_settle_at_once)
{
    FREED(eqp_speeds_functions) *functions = declare(cliff);
    int64_t share[3][4];

    /* 8,000 rows fit into every memory, so the first measurement suffices. */
    for (int kind = 0; kind < 3; kind++) {
        assert_int_equal(iterations_until(functions, (eqp_speeds_kind)kind, 8000, 0.05, FOREVER, share[kind]), 2);
        assert_memory_equal(share[kind], share[0], sizeof share[0]);
    }
}

/* Random flat functions: the three models give the same shares in every iteration. */
TEST(models_agree_where_speed_is_flat)
{
    uint64_t seed = 21;
    int64_t share[3][MOST_RANKS];

    for (int i = 0; i < some(200); i++) {
        const int nranks = 1 + (int)(noise(&seed) * MOST_RANKS);
        const int64_t n = (int64_t)(noise(&seed) * 1e5);
        char text[MOST_RANKS * 40];
        size_t length = 0;

        for (int r = 0; r < nranks; r++) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%d 0 %.6g\n", r, exp(4.0 * noise(&seed)));
        }
        FREED(eqp_speeds_functions) *functions = declare(text);
        for (int iterations = 1; iterations <= 4; iterations++) {
            for (int kind = 0; kind < 3; kind++) {
                (void)iterations_until(functions, (eqp_speeds_kind)kind, n, 0.0, iterations, share[kind]);
                for (int r = 0; r < nranks; r++) {
                    /* Two remainders may differ by less than a solver's last digits. */
                    assert_in_range(share[kind][r] - share[0][r] + 1, 0, 2);
                }
            }
        }
    }
}

/* Random cliffs: speed falls to between a fifth and a twentieth over a part of the memory, from `narrow` to
 * narrow + 0.1. */
static eqp_speeds_functions *make_cliff(uint64_t *seed, int nranks, double n, double narrow)
{
    char text[MOST_RANKS * 120];
    size_t length = 0;

    for (int r = 0; r < nranks; r++) {
        const double speed = 100.0 * exp(1.4 * noise(seed)), limit = n / nranks * (0.6 + 0.5 * noise(seed));
        const double width = limit * (narrow + 0.1 * noise(seed)), drop = 5.0 * exp(1.4 * noise(seed));
        const bool small = r == 0 || (r + 1 < nranks && noise(seed) < 0.4);

        if (small) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%d %.9g %.9g\n%d %.9g %.9g\n", r, limit,
                                       speed, r, limit + width, speed / drop);
        } else {
            length += (size_t)snprintf(text + length, sizeof text - length, "%d 0 %.9g\n", r, speed);
        }
    }
    return declare(text);
}

enum { CLIFFS = 300, LIMIT = 50 };

/* Numbers of random cliffs at which a model settles within ten iterations, and within LIMIT. */
typedef struct tally {
    int within_ten[3], at_all[3];
} tally;

static void add_cliffs(double narrow, uint64_t seed, tally *sum)
{
    int64_t share[MOST_RANKS];

    for (int i = 0; i < some(CLIFFS); i++) {
        const int nranks = 2 + (int)(noise(&seed) * 7.0);
        const int64_t n = nranks * (int64_t)(1000.0 + 9000.0 * noise(&seed));
        FREED(eqp_speeds_functions) *functions = make_cliff(&seed, nranks, (double)n, narrow);
        for (int kind = 0; kind < 3; kind++) {
            const int iterations = iterations_until(functions, (eqp_speeds_kind)kind, n, 0.05, LIMIT, share);
            sum->within_ten[kind] += iterations > 0 && iterations <= 10;
            sum->at_all[kind] += iterations > 0;
        }
    }
    print_message(
        "cliffs that are %g to %g of the memory wide; within ten iterations: %d, %d, %d; within %d: %d, %d, %d\n",
        narrow, narrow + 0.1, sum->within_ten[0], sum->within_ten[1], sum->within_ten[2], LIMIT, sum->at_all[0],
        sum->at_all[1], sum->at_all[2]);
}

TEST(partial_models_settle_at_random_cliffs)
{
    tally sum = {0};

    add_cliffs(0.1, 22, &sum);
    assert_int_equal(sum.at_all[EQP_SPEEDS_PIECEWISE], some(CLIFFS));
    assert_int_equal(sum.at_all[EQP_SPEEDS_AKIMA], some(CLIFFS));
    assert_true(sum.within_ten[EQP_SPEEDS_PIECEWISE] >= most_of(299));
    assert_true(sum.within_ten[EQP_SPEEDS_AKIMA] >= most_of(300));
    assert_true(sum.at_all[EQP_SPEEDS_CONSTANT] < some(CLIFFS) / 2);
}

/* Steeper falls need more iterations, as each one halves the unknown range. Several seeds are used, since a rule may
 * suit one by chance. */
TEST(most_partial_models_settle_at_steep_cliffs)
{
    tally sum = {0};

    add_cliffs(0.01, 22, &sum);
    assert_true(sum.within_ten[EQP_SPEEDS_PIECEWISE] >= most_of(284));
    assert_true(sum.within_ten[EQP_SPEEDS_AKIMA] >= most_of(293));
    add_cliffs(0.01, 23, &sum);
    add_cliffs(0.01, 24, &sum);
    assert_int_equal(sum.at_all[EQP_SPEEDS_PIECEWISE], 3 * some(CLIFFS));
    assert_int_equal(sum.at_all[EQP_SPEEDS_AKIMA], 3 * some(CLIFFS));
    assert_true(sum.within_ten[EQP_SPEEDS_PIECEWISE] >= most_of(860));
    assert_true(sum.within_ten[EQP_SPEEDS_AKIMA] >= most_of(881));
}

/* A fall within one item: no shares take equal times. Both models try the item that does not fit, and then avoid it. */
TEST(an_item_that_does_not_fit_is_left_to_others)
{
    FREED(eqp_speeds_functions) *functions = declare("0 1000 100\n0 1001 5\n1 1 100\n");
    int64_t share[2];

    for (eqp_speeds_kind kind = EQP_SPEEDS_PIECEWISE; kind <= EQP_SPEEDS_AKIMA; kind++) {
        assert_in_range(iterations_until(functions, kind, 3000, 0.05, LIMIT, share), 2, 20);
        assert_true(share[0] == 1000 && share[1] == 2000);
    }
}

/* Another job slows a rank with many points: the model follows at once. */
TEST(a_rank_that_becomes_slow_is_believed)
{
    for (eqp_speeds_kind kind = EQP_SPEEDS_CONSTANT; kind <= EQP_SPEEDS_AKIMA; kind++) {
        FREED(eqp_speeds) *speeds = NULL;
        double speed;

        assert_ok(eqp_speeds_create(kind, 2, 1000, &speeds));
        for (int i = 1; i <= 9; i++) {
            assert_ok(eqp__speeds_add(speeds, 0, 100 * i, i));
        }
        assert_ok(eqp__speeds_add(speeds, 0, 450, 45));
        assert_ok(eqp__speeds_speed(speeds, 0, 450, &speed));
        assert_near(speed, 10.0, 1e-12);
    }
}
