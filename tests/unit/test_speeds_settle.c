/* SPDX-License-Identifier: BSD-3-Clause */
/* Models that learn from what they decide: where speed is flat, and at the cliff where memory ends. */
#include "speeds_world.h"

/* Four ranks that share 11,000 rows like cluster 2 of Clarke 2011, table 1: two of little memory, whose speed falls to
 * a thirtieth over a tenth of their memory; equal shares do not fit into it. */
static const char cliff[] = "0 2400 900\n0 2640 30\n"
                            "1 2300 750\n1 2530 25\n"
                            "2 5200 850\n2 5720 28\n"
                            "3 9000 840\n";
enum { ROWS = 11000 };

static void the_constant_model_swings_for_ever_at_the_cliff(void **state)
{
    eqp_speeds_functions *functions = declare(cliff);
    int64_t share[4], first[4], second[4], third[4];

    (void)state;
    assert_int_equal(iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER, share), 0);
    /* It knows nothing but the last shares: once they come back, they come back always. */
    (void)iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER - 2, first);
    (void)iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER - 1, second);
    (void)iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER, third);
    assert_memory_equal(first, third, sizeof first);
    assert_true(second[0] > 4 * first[0] || first[0] > 4 * second[0]);
    eqp_speeds_functions_free(functions);
}

static void both_partial_models_settle_at_the_cliff(void **state)
{
    eqp_speeds_functions *functions = declare(cliff);
    int64_t share[4];

    (void)state;
    for (eqp_speeds_kind kind = EQP_SPEEDS_PIECEWISE; kind <= EQP_SPEEDS_AKIMA; kind++) {
        const int iterations = iterations_until(functions, kind, ROWS, 0.05, FOREVER, share);

        print_message("%s: %d iterations\n", eqp_speeds_kind_name(kind), iterations);
        assert_in_range(iterations, 2, 10);
    }
    eqp_speeds_functions_free(functions);
}

static void without_the_cliff_all_models_settle_at_once(void **state)
{
    eqp_speeds_functions *functions = declare(cliff);
    int64_t share[3][4];

    (void)state;
    /* 8,000 rows fit everywhere: what is measured first is right already. */
    for (int kind = 0; kind < 3; kind++) {
        assert_int_equal(iterations_until(functions, (eqp_speeds_kind)kind, 8000, 0.05, FOREVER, share[kind]), 2);
        assert_memory_equal(share[kind], share[0], sizeof share[0]);
    }
    eqp_speeds_functions_free(functions);
}

/* Random flat functions: the three models give the same shares in every iteration. */
static void models_agree_where_speed_is_flat(void **state)
{
    uint64_t seed = 21;
    int64_t share[3][MOST_RANKS];

    (void)state;
    for (int i = 0; i < 200; i++) {
        const int nranks = 1 + (int)(noise(&seed) * MOST_RANKS);
        const int64_t n = (int64_t)(noise(&seed) * 1e5);
        char text[MOST_RANKS * 40];
        size_t length = 0;

        for (int r = 0; r < nranks; r++) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%d 0 %.6g\n", r, exp(4.0 * noise(&seed)));
        }
        eqp_speeds_functions *functions = declare(text);
        for (int iterations = 1; iterations <= 4; iterations++) {
            for (int kind = 0; kind < 3; kind++) {
                (void)iterations_until(functions, (eqp_speeds_kind)kind, n, 0.0, iterations, share[kind]);
                for (int r = 0; r < nranks; r++) {
                    /* Two remainders may differ by less than a solver's last digits. */
                    assert_in_range(share[kind][r] - share[0][r] + 1, 0, 2);
                }
            }
        }
        eqp_speeds_functions_free(functions);
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

/* Of 300 random cliffs: where each model settles within ten iterations, and where it does within fifty. */
static void count_settled(double narrow, int *within_ten, int *at_all)
{
    uint64_t seed = 22;
    int64_t share[MOST_RANKS];

    for (int i = 0; i < CLIFFS; i++) {
        const int nranks = 2 + (int)(noise(&seed) * 7.0);
        const int64_t n = nranks * (int64_t)(1000.0 + 9000.0 * noise(&seed));
        eqp_speeds_functions *functions = make_cliff(&seed, nranks, (double)n, narrow);

        for (int kind = 0; kind < 3; kind++) {
            const int iterations = iterations_until(functions, (eqp_speeds_kind)kind, n, 0.05, LIMIT, share);
            within_ten[kind] += iterations > 0 && iterations <= 10;
            at_all[kind] += iterations > 0;
        }
        eqp_speeds_functions_free(functions);
    }
    print_message(
        "of %d cliffs that are %g to %g of the memory wide, within ten iterations: constant %d, piecewise %d, "
        "akima %d; within %d: %d, %d, %d\n",
        CLIFFS, narrow, narrow + 0.1, within_ten[0], within_ten[1], within_ten[2], LIMIT, at_all[0], at_all[1],
        at_all[2]);
}

static void partial_models_settle_at_random_cliffs(void **state)
{
    int within_ten[3] = {0}, at_all[3] = {0};

    (void)state;
    count_settled(0.1, within_ten, at_all);
    assert_int_equal(at_all[EQP_SPEEDS_PIECEWISE], CLIFFS);
    assert_int_equal(at_all[EQP_SPEEDS_AKIMA], CLIFFS);
    assert_true(within_ten[EQP_SPEEDS_PIECEWISE] >= CLIFFS * 95 / 100);
    assert_true(within_ten[EQP_SPEEDS_AKIMA] >= CLIFFS * 95 / 100);
    assert_true(at_all[EQP_SPEEDS_CONSTANT] < CLIFFS / 2);
}

/* The steeper the fall, the closer a size has to be to it: a bracket narrows by about half in an iteration. */
static void most_partial_models_settle_at_steep_cliffs(void **state)
{
    int within_ten[3] = {0}, at_all[3] = {0};

    (void)state;
    count_settled(0.01, within_ten, at_all);
    assert_int_equal(at_all[EQP_SPEEDS_PIECEWISE], CLIFFS);
    assert_int_equal(at_all[EQP_SPEEDS_AKIMA], CLIFFS);
    assert_true(within_ten[EQP_SPEEDS_PIECEWISE] >= CLIFFS * 85 / 100);
    assert_true(within_ten[EQP_SPEEDS_AKIMA] >= CLIFFS * 85 / 100);
}

/* A fall within one item: no shares take equal times. Both models try the item that does not fit, and leave it. */
static void an_item_that_does_not_fit_is_left_to_others(void **state)
{
    eqp_speeds_functions *functions = declare("0 1000 100\n0 1001 5\n1 1 100\n");
    int64_t share[2];

    (void)state;
    for (eqp_speeds_kind kind = EQP_SPEEDS_PIECEWISE; kind <= EQP_SPEEDS_AKIMA; kind++) {
        assert_in_range(iterations_until(functions, kind, 3000, 0.05, LIMIT, share), 2, 20);
        assert_true(share[0] == 1000 && share[1] == 2000);
    }
    eqp_speeds_functions_free(functions);
}

/* Another job comes to a rank that was measured often: the model follows at once. */
static void a_rank_that_becomes_slow_is_believed(void **state)
{
    (void)state;
    for (eqp_speeds_kind kind = EQP_SPEEDS_CONSTANT; kind <= EQP_SPEEDS_AKIMA; kind++) {
        eqp_speeds *speeds = NULL;
        double speed;

        assert_int_equal(eqp_speeds_create(kind, 2, 1000, &speeds), EQP_OK);
        for (int i = 1; i <= 9; i++) {
            assert_int_equal(eqp_speeds_add(speeds, 0, 100 * i, i), EQP_OK);
        }
        assert_int_equal(eqp_speeds_add(speeds, 0, 450, 45), EQP_OK);
        assert_int_equal(eqp_speeds_speed(speeds, 0, 450, &speed), EQP_OK);
        assert_near(speed, 10.0, 1e-12);
        eqp_speeds_free(speeds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_constant_model_swings_for_ever_at_the_cliff),
        cmocka_unit_test(both_partial_models_settle_at_the_cliff),
        cmocka_unit_test(without_the_cliff_all_models_settle_at_once),
        cmocka_unit_test(models_agree_where_speed_is_flat),
        cmocka_unit_test(partial_models_settle_at_random_cliffs),
        cmocka_unit_test(most_partial_models_settle_at_steep_cliffs),
        cmocka_unit_test(an_item_that_does_not_fit_is_left_to_others),
        cmocka_unit_test(a_rank_that_becomes_slow_is_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
