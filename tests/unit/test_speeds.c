/* SPDX-License-Identifier: BSD-3-Clause */
/* Speed models: accepted points, divisions, refusals. */
#include "models/speeds.h"
#include "unit.h"

FREES(eqp_speeds, eqp_speeds_free)

static const eqp_speeds_kind kinds[] = {EQP_SPEEDS_CONSTANT, EQP_SPEEDS_PIECEWISE, EQP_SPEEDS_AKIMA};
enum { KINDS = sizeof kinds / sizeof kinds[0], MOST_RANKS = 16 };

static eqp_speeds *create(eqp_speeds_kind kind, int nranks, double n)
{
    eqp_speeds *speeds = NULL;

    assert_ok(eqp_speeds_create(kind, nranks, n, &speeds));
    return speeds;
}

TEST(what_is_no_model_is_refused)
{
    static const double wrong[] = {-1.0, NAN, INFINITY, EQP_SPEEDS_ITEMS * 2.0, 1e-300};
    eqp_speeds *speeds = NULL, *kept;

    assert_refused(eqp_speeds_create((eqp_speeds_kind)3, 2, 10.0, &speeds));
    assert_refused(eqp_speeds_create((eqp_speeds_kind)-1, 2, 10.0, &speeds));
    assert_refused(eqp_speeds_create(EQP_SPEEDS_AKIMA, 0, 10.0, &speeds));
    assert_null(speeds);
    kept = speeds = create(EQP_SPEEDS_AKIMA, 1, 0.0);
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        assert_refused(eqp_speeds_create(EQP_SPEEDS_AKIMA, 2, wrong[i], &speeds));
        assert_refused(eqp__speeds_resize(speeds, wrong[i]));
    }
    assert_ptr_equal(speeds, kept);
    eqp_speeds_free(speeds);
}

TEST(kinds_have_names)
{
    static const char *const wrong[] = {"", "Akima", "akima ", "linear", "constant|piecewise"};
    char all[64] = "";
    eqp_speeds_kind kind = EQP_SPEEDS_AKIMA;

    for (int k = 0; k < KINDS; k++) {
        (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", k ? "|" : "",
                       eqp_speeds_kind_name(kinds[k]));
        assert_ok(eqp_speeds_kind_parse(eqp_speeds_kind_name(kinds[k]), &kind));
        assert_int_equal(kind, kinds[k]);
    }
    assert_string_equal(all, EQP_SPEEDS_KINDS);
    assert_null(eqp_speeds_kind_name((eqp_speeds_kind)KINDS));
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(eqp_speeds_kind_parse(wrong[i], &kind), EQP_ERR_UNKNOWN);
    }
    assert_int_equal(kind, EQP_SPEEDS_AKIMA);
}

TEST(bad_measurements_change_nothing)
{
    static const struct {
        int rank;
        double size, seconds;
        int code;
    } wrong[] = {{0, 10, 0, EQP_ERR_DATA},   {2, 1, 1, EQP_ERR_ARGUMENT},  {0, 1, 4.9e-324, EQP_ERR_DATA},
                 {0, 0, -1, EQP_ERR_DATA},   {0, 10, -0.0, EQP_ERR_DATA},  {0, 10, INFINITY, EQP_ERR_DATA},
                 {0, 10, -1, EQP_ERR_DATA},  {0, 1, 1e-31, EQP_ERR_DATA},  {0, 1e300, 1, EQP_ERR_ARGUMENT},
                 {0, 0, NAN, EQP_ERR_DATA},  {-1, 1, 1, EQP_ERR_ARGUMENT}, {0, INFINITY, 1, EQP_ERR_ARGUMENT},
                 {0, 10, NAN, EQP_ERR_DATA}, {0, -1, 1, EQP_ERR_ARGUMENT}, {0, 1e-300, 1e-300, EQP_ERR_ARGUMENT},
                 {0, 1, 1e31, EQP_ERR_DATA}, {0, NAN, 1, EQP_ERR_ARGUMENT}};
    const int64_t share[] = {10, 10};
    FREED(eqp_speeds) *speeds = create(EQP_SPEEDS_AKIMA, 2, 20);
    double speed = -7.0;

    for (int i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(eqp__speeds_add(speeds, wrong[i].rank, wrong[i].size, wrong[i].seconds), wrong[i].code);
    }
    /* One invalid time: no rank's model changes. */
    assert_int_equal(eqp_speeds_record(speeds, share, (const double[]){1.0, NAN}), EQP_ERR_DATA);
    assert_refused(eqp_speeds_record(speeds, (const int64_t[]){10, -1}, (const double[]){1.0, 1.0}));
    /* No items in no time give no point. */
    assert_ok(eqp__speeds_add(speeds, 0, 0.0, 0.0));
    assert_ok(eqp__speeds_add(speeds, 0, 0.0, 1.0));
    assert_true(speeds->ranks[0].n == 0 && speeds->ranks[1].n == 0);
    assert_int_equal(eqp__speeds_speed(speeds, 0, 1.0, &speed), EQP_ERR_STATE);
    assert_ok(eqp_speeds_record(speeds, share, (const double[]){1.0, 2.0}));
    assert_refused(eqp__speeds_speed(speeds, 2, 1.0, &speed));
    assert_refused(eqp__speeds_speed(speeds, 0, -1.0, &speed));
    assert_refused(eqp__speeds_speed(speeds, 0, NAN, &speed));
    assert_true(speed == -7.0);
}

TEST(without_a_measurement_shares_are_equal)
{
    int64_t share[3];

    for (int k = 0; k < KINDS; k++) {
        FREED(eqp_speeds) *speeds = create(kinds[k], 3, 11);

        assert_ok(eqp_speeds_share(speeds, share));
        assert_true(share[0] == 4 && share[1] == 4 && share[2] == 3);
    }
}

TEST(one_rank_gets_all_and_no_items_are_none)
{
    int64_t share[3] = {-1, -1, -1};

    for (int k = 0; k < KINDS; k++) {
        eqp_speeds *one = create(kinds[k], 1, 1000), *none = create(kinds[k], 3, 0);

        assert_ok(eqp__speeds_add(one, 0, 500, 2));
        assert_ok(eqp_speeds_share(one, share));
        assert_true(share[0] == 1000);
        for (int r = 0; r < 3; r++) {
            assert_ok(eqp__speeds_add(none, r, 1 + r, 2));
        }
        assert_ok(eqp_speeds_share(none, share));
        assert_true(share[0] == 0 && share[1] == 0 && share[2] == 0);
        eqp_speeds_free(none);
        eqp_speeds_free(one);
    }
}

TEST(with_fewer_items_than_ranks_the_fastest_get_them)
{
    int64_t share[5];

    for (int k = 0; k < KINDS; k++) {
        FREED(eqp_speeds) *speeds = create(kinds[k], 5, 2);

        for (int r = 0; r < 5; r++) {
            assert_ok(eqp__speeds_add(speeds, r, 1, r == 1 || r == 3 ? 1 : 4));
        }
        assert_ok(eqp_speeds_share(speeds, share));
        assert_true(share[0] == 0 && share[1] == 1 && share[2] == 0 && share[3] == 1 && share[4] == 0);
        /* Ranks without items give no point and keep their old ones. */
        assert_ok(eqp_speeds_record(speeds, share, (const double[]){0, 1, 0, 1, 0}));
        assert_int_equal(speeds->ranks[0].n, 1);
    }
}

TEST(an_unknown_rank_is_as_fast_as_the_mean)
{
    double speed;
    int64_t share[3];

    for (int k = 0; k < KINDS; k++) {
        FREED(eqp_speeds) *speeds = create(kinds[k], 3, 90);

        assert_ok(eqp__speeds_add(speeds, 0, 45, 45.0 / 10));
        assert_ok(eqp__speeds_add(speeds, 2, 45, 45.0 / 20));
        assert_ok(eqp__speeds_speed(speeds, 1, 7, &speed));
        assert_near(speed, 15.0, 1e-12);
        assert_ok(eqp_speeds_share(speeds, share));
        assert_true(share[0] == 20 && share[1] == 30 && share[2] == 40);
    }
}

TEST(a_model_forgets_the_oldest_point)
{
    FREED(eqp_speeds) *speeds = create(EQP_SPEEDS_PIECEWISE, 1, 1e6);
    double speed;

    for (int i = 1; i <= 2 * EQP_SPEEDS_POINTS; i++) {
        assert_ok(eqp__speeds_add(speeds, 0, 10 * i, i));
        assert_int_equal(speeds->ranks[0].n, i < EQP_SPEEDS_POINTS ? i : EQP_SPEEDS_POINTS);
    }
    /* A repeated size replaces the value and adds no point. */
    assert_ok(eqp__speeds_add(speeds, 0, 20 * EQP_SPEEDS_POINTS, 3 * EQP_SPEEDS_POINTS));
    assert_int_equal(speeds->ranks[0].n, EQP_SPEEDS_POINTS);
    assert_ok(eqp__speeds_speed(speeds, 0, 20 * EQP_SPEEDS_POINTS, &speed));
    assert_near(speed, 20.0 / 3.0, 1e-12);
}

TEST(weighted_items_need_not_be_whole)
{
    FREED(eqp_speeds) *speeds = create(EQP_SPEEDS_AKIMA, 2, 2.5);
    double size[2];
    int64_t share[2];

    assert_ok(eqp__speeds_add(speeds, 0, 1.25, 1));
    assert_ok(eqp__speeds_add(speeds, 1, 1.25, 4));
    assert_ok(eqp__speeds_divide(speeds, size));
    assert_near(size[0], 2.0, 1e-9);
    assert_near(size[1], 0.5, 1e-9);
    assert_int_equal(eqp_speeds_share(speeds, share), EQP_ERR_STATE);
    assert_ok(eqp__speeds_resize(speeds, 5));
    assert_ok(eqp_speeds_share(speeds, share));
    assert_true(share[0] == 4 && share[1] == 1);
}

/* Sizes and speeds at their limits: still all items and equal times. */
TEST(extremes_are_divided)
{
    static const double n[] = {EQP_SPEEDS_SMALLEST, 1.0, EQP_SPEEDS_ITEMS};

    for (int k = 0; k < 3 * KINDS; k++) {
        FREED(eqp_speeds) *speeds = create(kinds[k % KINDS], 3, n[k / KINDS]);
        double size[3];

        for (int i = 1; i <= 4; i++) {
            const double at = fmax(n[k / KINDS] * i / 4.0, EQP_SPEEDS_SMALLEST);
            assert_ok(eqp__speeds_add(speeds, 0, at, at / EQP_SPEEDS_FASTEST));
            assert_ok(eqp__speeds_add(speeds, 1, at, at * EQP_SPEEDS_FASTEST));
            assert_ok(eqp__speeds_add(speeds, 2, at, at / (i % 2 ? EQP_SPEEDS_FASTEST : 1e10)));
        }
        assert_ok(eqp__speeds_divide(speeds, size));
        assert_near(size[0] + size[1] + size[2], n[k / KINDS], 1e-9 * n[k / KINDS]);
        assert_true(size[0] > 0.0 && size[1] > 0.0 && size[2] > 0.0);
    }
}

TEST(rounding_gives_the_largest_remainders_one_more)
{
    int64_t share[4] = {-1, -1, -1, -1};

    assert_ok(eqp__speeds_round(10, 4, (const double[]){1.6, 2.7, 3.3, 2.4}, share));
    assert_true(share[0] == 2 && share[1] == 3 && share[2] == 3 && share[3] == 2);
    /* Equal remainders: the lower ranks. */
    assert_ok(eqp__speeds_round(6, 4, (const double[]){1, 1, 1, 1}, share));
    assert_true(share[0] == 2 && share[1] == 2 && share[2] == 1 && share[3] == 1);
    assert_ok(eqp__speeds_round(0, 2, (const double[]){0, 0}, share));
    assert_true(share[0] == 0 && share[1] == 0);
    assert_ok(eqp__speeds_round(7, 3, (const double[]){0, 1e308, 0}, share));
    assert_true(share[0] == 0 && share[1] == 7 && share[2] == 0);
    /* Refused without a change. */
    share[0] = 77;
    assert_int_equal(eqp__speeds_round(7, 2, (const double[]){0, 0}, share), EQP_ERR_DATA);
    assert_int_equal(eqp__speeds_round(7, 2, (const double[]){1, -1}, share), EQP_ERR_DATA);
    assert_int_equal(eqp__speeds_round(7, 2, (const double[]){1, NAN}, share), EQP_ERR_DATA);
    assert_int_equal(eqp__speeds_round(7, 2, (const double[]){INFINITY, 1}, share), EQP_ERR_DATA);
    assert_refused(eqp__speeds_round(-1, 2, (const double[]){1, 1}, share));
    assert_refused(eqp__speeds_round(INT64_MAX, 2, (const double[]){1, 1}, share));
    assert_refused(eqp__speeds_round(1, 0, (const double[]){1, 1}, share));
    assert_true(share[0] == 77);
}

TEST(rounding_adds_up_and_stays_within_one_item)
{
    uint64_t seed = 5;
    double size[MOST_RANKS];
    int64_t share[MOST_RANKS];

    for (int i = 0; i < 20000; i++) {
        const int nranks = 1 + (int)(noise(&seed) * MOST_RANKS);
        const int64_t n = i % 7 == 0 ? (int64_t)EQP_SPEEDS_ITEMS : (int64_t)(noise(&seed) * 1000.0);
        double sum = 0.0;

        for (int r = 0; r < nranks; r++) {
            size[r] = r > 0 && i % 5 == 0 ? size[0] : exp(noise(&seed) * 40.0 - 20.0);
            sum += size[r];
        }
        assert_ok(eqp__speeds_round(n, nranks, size, share));
        int64_t total = 0;
        for (int r = 0; r < nranks; r++) {
            total += share[r];
            assert_true(share[r] >= 0);
            const double quota = (double)n * (size[r] / sum);
            /* Near 2^53 a quota itself is off by some items. */
            assert_true(fabs((double)share[r] - quota) < 1.0 + 4e-15 * (double)n);
        }
        assert_int_equal(total, n);
    }
}

TEST(spread_is_the_largest_relative_difference)
{
    double spread = -7.0;

    assert_ok(eqp_speeds_spread(3, (const double[]){2, 5, 4}, &spread));
    assert_near(spread, 1.5, 1e-15);
    assert_ok(eqp_speeds_spread(3, (const double[]){0, 5, 4}, &spread));
    assert_near(spread, 0.25, 1e-15);
    assert_ok(eqp_speeds_spread(2, (const double[]){0, 3}, &spread));
    assert_true(spread == 0.0);
    assert_ok(eqp_speeds_spread(2, (const double[]){0, 0}, &spread));
    assert_true(spread == 0.0);
    spread = -7.0;
    assert_int_equal(eqp_speeds_spread(2, (const double[]){1, -1}, &spread), EQP_ERR_DATA);
    assert_int_equal(eqp_speeds_spread(2, (const double[]){1, NAN}, &spread), EQP_ERR_DATA);
    assert_int_equal(eqp_speeds_spread(2, (const double[]){1, INFINITY}, &spread), EQP_ERR_DATA);
    assert_refused(eqp_speeds_spread(0, (const double[]){1}, &spread));
    assert_true(spread == -7.0);
}
