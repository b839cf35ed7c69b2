/* SPDX-License-Identifier: BSD-3-Clause */
#include "failing_malloc.h"
#include "scenario.h"
#include "unit.h"

static lb_scenario *make(const char *text)
{
    app_recipe recipe;
    lb_scenario *made = NULL;
    eqp_message message = {""};

    if (app_recipe_parse(&lb_scenarios, text, &recipe, &message) != EQP_OK) {
        fail_msg("%s: %s", text, message.text);
    }
    assert_ok(lb_scenario_create(&recipe, &made));
    return made;
}

/* In thousandths, of a vertex at x on the diagonal. */
static int64_t weigh(const lb_scenario *s, double x)
{
    const double centre[3] = {x, x, x};

    return lb_scenario_weight(s, 0, 1, centre, 1.0);
}

TEST(without_spread_static_weights_are_even)
{
    lb_scenario *s = make("static:sigma=0"), *uneven = make("static:sigma=1,patches=2,seed=3");
    const double centre[3] = {0.5, 0.5, 0.5};
    const int64_t low = weigh(uneven, 0.2), high = weigh(uneven, 0.8);

    assert_int_equal(weigh(s, 0.3), 1000);
    assert_int_equal(lb_scenario_weight(s, 0, 1, centre, 2.5), 2500);
    assert_true(low > 0 && high > 0 && low != high);
    assert_int_equal(weigh(uneven, 0.4), low);
    lb_scenario_go(uneven, 100);
    assert_int_equal(weigh(uneven, 0.2), low);
    lb_scenario_free(s);
    lb_scenario_free(uneven);
}

TEST(a_front_wanders_and_comes_back)
{
    lb_scenario *s = make("front:peak=4,width=0.05,speed=0.25");

    assert_int_equal(weigh(s, 0.0), 5000);
    assert_int_equal(weigh(s, 0.05), llround(1000 * (1 + 4 * exp(-1.0))));
    assert_int_equal(weigh(s, 0.95), llround(1000 * (1 + 4 * exp(-1.0)))); /* behind the edge it begins again */
    assert_int_equal(weigh(s, 0.5), 1000);
    lb_scenario_go(s, 2);
    assert_int_equal(weigh(s, 0.5), 5000);
    assert_int_equal(weigh(s, 0.0), 1000);
    lb_scenario_go(s, 4);
    assert_int_equal(weigh(s, 0.0), 5000);
    lb_scenario_free(s);
}

TEST(a_walk_does_not_depend_on_how_one_goes)
{
    lb_scenario *s = make("walk:range=0.5,sigma=0.3,seed=9"), *other = make("walk:range=0.5,sigma=0.3,seed=9");
    int64_t low = INT64_MAX, high = 0;

    assert_int_equal(weigh(s, 0.1), 1000);
    for (int64_t step = 1; step <= 200; step++) {
        lb_scenario_go(s, step);
        low = weigh(s, 0.1) < low ? weigh(s, 0.1) : low;
        high = weigh(s, 0.1) > high ? weigh(s, 0.1) : high;
    }
    assert_in_range(low, llround(1000 * exp(-0.5)), 700);
    assert_in_range(high, 1500, llround(1000 * exp(0.5)));
    lb_scenario_go(other, 200);
    assert_int_equal(weigh(s, 0.1), weigh(other, 0.1));
    lb_scenario_free(s);
    lb_scenario_free(other);
}

/* Number of heavy vertices of a lattice; the rest weigh 1. */
static int count_heavy(const lb_scenario *s)
{
    int heavy = 0;

    for (int i = 0; i < 1000; i++) {
        const double centre[3] = {0.05 + 0.1 * (i / 100), 0.05 + 0.1 * (i / 10 % 10), 0.05 + 0.1 * (i % 10)};
        const int64_t weight = lb_scenario_weight(s, i, 1000, centre, 1.0);
        assert_true(weight == 1000 || weight == 6000);
        heavy += weight == 6000;
    }
    return heavy;
}

TEST(weights_jump_every_so_many_steps)
{
    lb_scenario *s = make("jump:factor=6,radius=0.3,every=3");

    assert_int_equal(count_heavy(s), 0);
    lb_scenario_go(s, 2);
    assert_int_equal(count_heavy(s), 0);
    lb_scenario_go(s, 3);
    const int heavy = count_heavy(s);
    assert_in_range(heavy, 10, 130); /* a ball of 0.113, an eighth of it where it is in a corner */
    lb_scenario_go(s, 5);
    assert_int_equal(count_heavy(s), heavy);
    lb_scenario_free(s);
}

TEST(recorded_loads_become_weights)
{
    const double load[3][2] = {{1, 3}, {2, 2}, {0, 4}}, corner[3] = {0, 0, 0}, none[2] = {0, 0}, wrong[2] = {1, -1};
    lb_scenario *s = NULL;

    assert_ok(lb_scenario_replay(2, 3, load[0], &s));
    for (int64_t step = 0; step < 5; step++) {
        lb_scenario_go(s, step);
        for (int64_t id = 0; id < 7; id++) { /* the first four are those of rank 0 */
            const double mean = 2.0, of = load[step < 3 ? step : 2][id >= 4];
            assert_int_equal(lb_scenario_weight(s, id, 7, corner, 1.0), llround(1000 * of / mean));
        }
    }
    lb_scenario_free(s);
    s = NULL;
    assert_refused(lb_scenario_replay(2, 1, none, &s));
    assert_refused(lb_scenario_replay(2, 1, wrong, &s));
    assert_refused(lb_scenario_replay(0, 1, load[0], &s));
    assert_refused(lb_scenario_replay(2, 0, load[0], &s));
    assert_refused(lb_scenario_replay(2, 1, NULL, &s));
    assert_null(s);
}

TEST(work_in_pieces_is_the_same_work)
{
    lb_work work = {.bits = 77};

    assert_refused(lb_work_create(15, &work));
    assert_int_equal(work.bits, 77);
    assert_ok(lb_work_create(16, &work));
    assert_int_equal(work.bits, 1);
    lb_work_free(&work);
    assert_ok(lb_work_create(4097, &work));
    assert_int_equal(work.bits, 9);
    const uint64_t whole = lb_work_do(&work, 1000, 5);
    assert_true(lb_work_do(&work, 600, lb_work_do(&work, 400, 5)) == whole);
    assert_true(lb_work_do(&work, 999, 5) != whole && lb_work_do(&work, 1000, 6) != whole);
    assert_true(lb_work_do(&work, 0, 5) == 5);
    lb_work_free(&work);
}

static int create_all(void *recipe)
{
    const double load[1] = {1};
    lb_scenario *s = NULL, *record = NULL;
    lb_work work = {.array = NULL};
    int code;

    EQP_TRY(lb_scenario_create(recipe, &s));
    EQP_TRY(lb_scenario_replay(1, 1, load, &record));
    EQP_TRY(lb_work_create(64, &work));
done:
    assert_true(code == EQP_OK || work.array == NULL);
    lb_scenario_free(s);
    lb_scenario_free(record);
    lb_work_free(&work);
    return code;
}

TEST(lack_of_memory_leaves_nothing)
{
    app_recipe recipe;

    assert_ok(app_recipe_parse(&lb_scenarios, "walk", &recipe, NULL));
    assert_true(failing_malloc_sweep(create_all, &recipe, EQP_ERR_MEMORY) >= 5);
}
