/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <equipoise/more/decide.h>

static eqp_policy_options options_of(eqp_policy_mode mode, int64_t every)
{
    eqp_policy_options o = eqp_policy_options_defaults();

    o.mode = mode;
    o.every = every;
    return o;
}

/* Compares fields, not bytes, since padding is undefined. */
static void assert_same_options(const eqp_policy_options *a, const eqp_policy_options *b)
{
    assert_int_equal(a->mode, b->mode);
    assert_true(a->every == b->every && a->imbalance_tol == b->imbalance_tol);
    assert_int_equal(a->settle, b->settle);
    assert_true(a->jump == b->jump && a->false_alarms == b->false_alarms);
}

static void assert_same_policy(const eqp_policy *a, const eqp_policy *b)
{
    assert_same_options(&a->options, &b->options);
    assert_int_equal(a->has_map, b->has_map);
    assert_true(a->steps == b->steps && a->balance_seconds == b->balance_seconds && a->reached == b->reached);
    assert_true(a->imbalance == b->imbalance && a->sum_mean == b->sum_mean);
    assert_true(a->work_imbalance == b->work_imbalance && a->promised == b->promised);
    assert_true(a->broken == b->broken && a->patience == b->patience && a->cured == b->cured);
    assert_true(a->repairable == b->repairable && a->repair_seconds == b->repair_seconds);
    assert_true(a->left == b->left && a->since == b->since && a->before == b->before && a->lost == b->lost);
    assert_true(a->map_promised == b->map_promised && a->repair_promised == b->repair_promised);
    assert_true(a->repair_reached == b->repair_reached);
    assert_memory_equal(&a->noise, &b->noise, sizeof a->noise); /* no padding */
}

/* A made-up application: the imbalance starts at `fresh` with each map and grows by `ageing` per step; a step's mean
 * is 1 second, a map costs `price` seconds. Returns the steps with a new map and records the samples. */
static int run_until(const eqp_policy_options *options, int n, double fresh, double ageing, double price,
                     eqp_policy_sample *trace, bool *renewed, bool end_is_known)
{
    eqp_policy policy;
    int maps = 0, age = 0;

    assert_int_equal(eqp_policy_init(&policy, options), EQP_OK);
    for (int i = 0; i < n; i++) {
        assert_int_equal(end_is_known ? eqp_policy_expect(&policy, n - i) : EQP_OK, EQP_OK);
        renewed[i] = eqp_policy_wants(&policy);
        age = renewed[i] ? 0 : age + 1;
        maps += renewed[i];
        trace[i].seconds_mean = 1.0;
        trace[i].seconds_max = 1.0 + fresh + ageing * age;
        trace[i].rebalanced = renewed[i];
        trace[i].balance_seconds = price;
        trace[i].work_imbalance = trace[i].promised = 0.0;
        trace[i].repaired = trace[i].repairable = false;
        trace[i].hidden = 0.0;
        assert_int_equal(eqp_policy_record(&policy, &trace[i]), EQP_OK);
    }
    return maps;
}

static int run(const eqp_policy_options *options, int n, double fresh, double ageing, double price,
               eqp_policy_sample *trace, bool *renewed)
{
    return run_until(options, n, fresh, ageing, price, trace, renewed, false);
}

TEST(text_names_the_mode)
{
    static const char *const wrong[] = {
        "", "Auto", "autos", "0", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "99999999999999999999", "never,"};
    eqp_policy_options o = options_of(EQP_POLICY_EVERY, 77), old;

    assert_int_equal(eqp_policy_options_parse("auto", &o), EQP_OK);
    assert_int_equal(o.mode, EQP_POLICY_AUTO);
    assert_int_equal(eqp_policy_options_parse("never", &o), EQP_OK);
    assert_int_equal(o.mode, EQP_POLICY_NEVER);
    assert_int_equal(eqp_policy_options_parse("repair", &o), EQP_OK);
    assert_int_equal(o.mode, EQP_POLICY_REPAIR);
    assert_int_equal(eqp_policy_options_parse("gain", &o), EQP_OK);
    assert_int_equal(o.mode, EQP_POLICY_GAIN);
    assert_int_equal(eqp_policy_options_parse("12", &o), EQP_OK);
    assert_int_equal(o.mode, EQP_POLICY_EVERY);
    assert_true(o.every == 12);
    assert_int_equal(eqp_policy_options_parse("9223372036854775807", &o), EQP_OK);
    assert_true(o.every == INT64_MAX);
    old = o;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(eqp_policy_options_parse(wrong[i], &o), EQP_ERR_UNKNOWN);
    }
    assert_same_options(&o, &old);
}

TEST(never_is_once_and_every_is_regular)
{
    eqp_policy_options never = options_of(EQP_POLICY_NEVER, 1), three = options_of(EQP_POLICY_EVERY, 3);
    eqp_policy_sample trace[20];
    bool renewed[20];

    assert_int_equal(run(&never, 20, 0.1, 0.5, 0.0, trace, renewed), 1);
    assert_true(renewed[0]);
    assert_int_equal(run(&three, 20, 0.0, 0.0, 100.0, trace, renewed), 7);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(renewed[i], i % 3 == 0);
    }
}

/* The loss after k steps is 0.01 (1 + ... + k); it reaches the price 0.55 at k = 10, so the period is 11. */
TEST(auto_renews_when_the_loss_has_paid_for_it)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample trace[50];
    bool renewed[50];

    o.settle = 1;
    /* 0.549: just below, so that rounding cannot decide. */
    assert_int_equal(run(&o, 50, 0.25, 0.01, 0.549, trace, renewed), 5);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(renewed[i], i % 11 == 0);
    }
}

TEST(an_expensive_map_is_renewed_less_often)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample trace[300];
    bool renewed[300];
    int last = 301;

    for (double price = 0.1; price < 100.0; price *= 4.0) {
        int maps = run(&o, 300, 0.01, 0.01, price, trace, renewed);

        assert_true(maps < last);
        last = maps;
    }
    assert_in_range(last, 1, 10);
}

TEST(an_imbalance_that_balancing_cannot_cure_is_left_alone)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample trace[1000];
    bool renewed[1000];

    assert_int_equal(run(&o, 1000, 3.0, 0.0, 0.001, trace, renewed), 1);
}

TEST(an_imbalance_within_the_tolerance_is_left_alone)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample trace[100];
    bool renewed[100];

    o.imbalance_tol = 0.5;
    /* Over the tolerance from age 51 on, long after the loss has paid for a map that costs nothing. */
    assert_int_equal(run(&o, 100, 0.0, 0.0099, 0.0, trace, renewed), 2);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(renewed[i], i == 0 || i == 52);
    }
}

TEST(a_hiccup_that_is_over_is_no_reason)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample s = {1.01, 1.0, true, 2.0, 0.0, 0.0, false, false, 0.0},
                      hiccup = {9.0, 1.0, false, 0.0, 0.0, 0.0, false, false, 0.0};
    eqp_policy policy;

    assert_int_equal(eqp_policy_init(&policy, &o), EQP_OK);
    assert_int_equal(eqp_policy_record(&policy, &s), EQP_OK);
    assert_int_equal(eqp_policy_record(&policy, &hiccup), EQP_OK);
    assert_true(eqp_policy_wants(&policy));
    s.rebalanced = false;
    assert_int_equal(eqp_policy_record(&policy, &s), EQP_OK);
    assert_false(eqp_policy_wants(&policy));
}

TEST(a_hiccup_right_after_balancing_hides_nothing)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample hiccup = {5.0, 1.0, true, 1.0, 0.0, 0.0, false, false, 0.0},
                      good = {1.0, 1.0, false, 0.0, 0.0, 0.0, false, false, 0.0},
                      bad = {1.5, 1.0, false, 0.0, 0.0, 0.0, false, false, 0.0};
    eqp_policy policy;

    assert_int_equal(eqp_policy_init(&policy, &o), EQP_OK);
    assert_int_equal(eqp_policy_record(&policy, &hiccup), EQP_OK);
    assert_int_equal(eqp_policy_record(&policy, &good), EQP_OK);
    assert_true(policy.reached == 0.0);
    assert_int_equal(eqp_policy_record(&policy, &bad), EQP_OK);
    assert_false(eqp_policy_wants(&policy)); /* what the hiccup took is no loss of the map's */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(eqp_policy_record(&policy, &bad), EQP_OK);
    }
    assert_true(eqp_policy_wants(&policy));
}

TEST(later_luck_does_not_move_the_mark)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample s = {1.2, 1.0, true, 1.0, 0.0, 0.0, false, false, 0.0},
                      lucky = {1.0, 1.0, false, 0.0, 0.0, 0.0, false, false, 0.0};
    eqp_policy policy;

    assert_int_equal(eqp_policy_init(&policy, &o), EQP_OK);
    for (int i = 0; i < o.settle; i++) {
        assert_int_equal(eqp_policy_record(&policy, &s), EQP_OK);
        s.rebalanced = false;
    }
    assert_int_equal(eqp_policy_record(&policy, &lucky), EQP_OK);
    assert_true(fabs(policy.reached - 0.2) < 1e-15);
}

TEST(without_work_there_is_no_imbalance)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample s = {0.0, 0.0, true, 0.0, 0.0, 0.0, false, false, 0.0};
    eqp_policy policy;

    assert_int_equal(eqp_policy_init(&policy, &o), EQP_OK);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(eqp_policy_record(&policy, &s), EQP_OK);
        assert_false(eqp_policy_wants(&policy));
        s.rebalanced = false;
    }
}

TEST(a_policy_can_be_stored_and_goes_on)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample trace[60];
    bool renewed[60];
    eqp_policy policy, copy;

    (void)run(&o, 60, 0.02, 0.02, 0.9, trace, renewed);
    assert_int_equal(eqp_policy_init(&policy, &o), EQP_OK);
    for (int i = 0; i < 60; i++) {
        memcpy(&copy, &policy, sizeof copy);
        assert_int_equal(eqp_policy_wants(&copy), renewed[i]);
        assert_int_equal(eqp_policy_record(&copy, &trace[i]), EQP_OK);
        policy = copy;
    }
}

/* A caller that prepares when told to is ready in time if the loss grows slowly, and idle most of the time. */
TEST(a_new_map_is_announced)
{
    const eqp_policy_options automatic = options_of(EQP_POLICY_AUTO, 1), fourth = options_of(EQP_POLICY_EVERY, 4);
    const eqp_policy_options never = options_of(EQP_POLICY_NEVER, 1);
    const eqp_policy_options *const options[] = {&automatic, &fourth, &never};

    for (int o = 0; o < 3; o++) {
        eqp_policy policy;
        int age = 0, maps = 0, announced = 0;
        bool ready = false;
        assert_int_equal(eqp_policy_init(&policy, options[o]), EQP_OK);
        assert_false(eqp_policy_may_want(&policy)); /* the first map is made without */
        for (int i = 0; i < 400; i++) {
            const bool renewed = eqp_policy_wants(&policy);
            assert_true(!renewed || ready || i == 0);
            age = renewed ? 0 : age + 1;
            maps += renewed;
            ready = eqp_policy_may_want(&policy); /* before the step is known */
            announced += ready;
            const eqp_policy_sample sample = {1.03 + 0.005 * age, 1.0, renewed, 2.0, 0.0, 0.0, false, false, 0.0};
            assert_int_equal(eqp_policy_record(&policy, &sample), EQP_OK);
        }
        if (o == 2) {
            assert_int_equal(maps, 1);
            assert_int_equal(announced, 0);
        } else {
            assert_true(maps > 5);
            assert_true(announced < 200 + (o == 1) * 100);
        }
    }
}

/* As run(), but seconds are the same in all steps and say nothing; the work's imbalance is `first` with the first map,
 * which was made for other work, and `later` with all that follow. All promise 1 %. */
static int run_work(const eqp_policy_options *options, int n, double first, double later, double price)
{
    eqp_policy policy;
    eqp_policy_sample sample = {1.5, 1.0, true, price, first, 0.01, false, false, 0.0};
    int maps = 0;

    assert_int_equal(eqp_policy_init(&policy, options), EQP_OK);
    for (int i = 0; i < n; i++) {
        const bool ready = eqp_policy_may_want(&policy);

        sample.rebalanced = eqp_policy_wants(&policy);
        assert_true(!sample.rebalanced || ready || i == 0 || options->jump < INFINITY);
        maps += sample.rebalanced;
        sample.work_imbalance = maps > 1 ? later : first;
        assert_int_equal(eqp_policy_record(&policy, &sample), EQP_OK);
    }
    return maps;
}

/* It loses 0.3 seconds in each step, which seconds do not show: they were as bad when the map was fresh. */
TEST(a_map_that_breaks_its_promise_is_renewed_once_it_has_cost_a_map)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    const eqp_policy_options never = options_of(EQP_POLICY_NEVER, 1), rarely = options_of(EQP_POLICY_EVERY, 100);

    assert_int_equal(run_work(&o, 10, 0.31, 0.01, 2.9), 1);
    assert_int_equal(run_work(&o, 11, 0.31, 0.01, 2.9), 2);
    assert_int_equal(run_work(&o, 1000, 0.31, 0.01, 2.9), 2);
    assert_int_equal(run_work(&o, 1000, 0.0199, 0.01, 0.0), 1); /* good enough */
    o.imbalance_tol = 0.4;
    assert_int_equal(run_work(&o, 1000, 0.31, 0.01, 0.0), 1);
    assert_int_equal(run_work(&never, 1000, 0.31, 0.01, 0.0), 1);
    assert_int_equal(run_work(&rarely, 100, 0.31, 0.01, 0.0), 1);
}

/* A map costs what is lost in 3 steps. The next ones are asked for after 3, 6, 12, ... steps, at most 192. */
TEST(a_promise_that_nothing_keeps_is_asked_for_less_and_less)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);

    assert_int_equal(run_work(&o, 3 * (1 + 2 + 4 + 8 + 16 + 32 + 64) + 1, 0.31, 0.31, 0.899), 8);
    assert_int_equal(run_work(&o, 3 * (1 + 2 + 4 + 8 + 16 + 32 + 64 + 64 + 64) + 1, 0.31, 0.31, 0.899), 10);
    o.jump = 0.04; /* times 8 it is more than what is beyond the promise */
    assert_int_equal(run_work(&o, 1000, 0.31, 0.31, 1e9), 4);
}

TEST(a_jump_of_the_work_asks_at_any_price)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);

    assert_int_equal(run_work(&o, 2, 0.31, 0.01, 1e9), 1);
    o.jump = 0.31;
    assert_int_equal(run_work(&o, 1000, 0.31, 0.01, 1e9), 1);
    o.jump = 0.29;
    assert_int_equal(run_work(&o, 2, 0.31, 0.01, 1e9), 2);
}

/* Work ages by 1 % in a step, and every remedy brings it back to 1 %; a map costs 2 seconds, a repair `price`. */
static void count_actions(const eqp_policy_options *options, bool repairable, double price, int actions[3])
{
    eqp_policy policy;
    eqp_policy_sample sample = {
        .seconds_max = 1.5, .seconds_mean = 1.0, .promised = 0.01, .repairable = repairable, .work_imbalance = 0.01};

    actions[EQP_KEEP] = actions[EQP_REPAIR] = actions[EQP_RENEW] = 0;
    assert_int_equal(eqp_policy_init(&policy, options), EQP_OK);
    for (int i = 0; i < 400; i++) {
        const eqp_policy_action action = eqp_policy_advise(&policy);

        assert_int_equal(eqp_policy_wants(&policy), action != EQP_KEEP);
        actions[action]++;
        sample.rebalanced = action != EQP_KEEP;
        sample.repaired = action == EQP_REPAIR;
        sample.balance_seconds = sample.repaired ? price : 2.0;
        sample.work_imbalance = action == EQP_KEEP ? sample.work_imbalance + 0.01 : 0.01;
        assert_int_equal(eqp_policy_record(&policy, &sample), EQP_OK);
    }
}

/* A remedy is due once the sum of 1 %, 2 %, ... is its price: after k steps where k (k + 1) / 2 is 100 times that. */
TEST(uneven_work_is_repaired_where_that_costs_less)
{
    const eqp_policy_options often = options_of(EQP_POLICY_AUTO, 1), repair = options_of(EQP_POLICY_REPAIR, 1),
                             never = options_of(EQP_POLICY_NEVER, 1);
    int actions[3];

    count_actions(&often, false, 0.0, actions);
    assert_int_equal(actions[EQP_REPAIR], 0);
    assert_int_equal(actions[EQP_RENEW], 1 + 399 / 21);
    count_actions(&often, true, 0.099, actions); /* at first it is taken to cost 0.5: 10 steps, then 4 */
    assert_int_equal(actions[EQP_RENEW], 1);
    assert_int_equal(actions[EQP_REPAIR], 1 + (399 - 11) / 5);
    count_actions(&often, true, 2.1, actions); /* once is enough to know */
    assert_int_equal(actions[EQP_REPAIR], 1);
    assert_int_equal(actions[EQP_RENEW], 1 + (399 - 11) / 21);
    count_actions(&repair, true, 2.1, actions); /* whatever it costs: over 2 % after 2 steps */
    assert_int_equal(actions[EQP_REPAIR], 399 / 3);
    assert_int_equal(actions[EQP_RENEW], 1);
    count_actions(&repair, false, 0.0, actions);
    assert_int_equal(actions[EQP_REPAIR], 0);
    assert_int_equal(actions[EQP_RENEW], 1 + 399 / 3);
    count_actions(&never, true, 0.0, actions);
    assert_int_equal(actions[EQP_KEEP], 399);
    assert_int_equal(eqp_policy_advise(NULL), EQP_KEEP);
}

/* Losses that repairs have cured do not ask for a new map; losses that remain do. */
TEST(seconds_that_repairs_do_not_cure_ask_for_a_map)
{
    const eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);

    for (int cures = 0; cures < 2; cures++) {
        eqp_policy policy;
        eqp_policy_sample s = {1.0, 1.0, true, 4.0, 0.0, 0.01, false, true, 0.0};
        int maps = 0;

        assert_int_equal(eqp_policy_init(&policy, &o), EQP_OK);
        assert_int_equal(eqp_policy_record(&policy, &s), EQP_OK);
        for (int i = 0; i < 100; i++) {
            const eqp_policy_action action = eqp_policy_advise(&policy);
            maps += action == EQP_RENEW;
            s.rebalanced = action != EQP_KEEP;
            s.repaired = action == EQP_REPAIR;
            s.balance_seconds = s.repaired ? 0.1 : 4.0;
            s.work_imbalance = s.repaired ? 0.01 : 0.21;
            s.seconds_max = 1.0 + s.work_imbalance - 0.01 + (cures ? 0.0 : 0.1);
            assert_int_equal(eqp_policy_record(&policy, &s), EQP_OK);
        }
        assert_int_equal(maps, cures ? 0 : 1); /* the second map loses as much from its first step on */
    }
}

/* Steps of which all but 1 second is exchange: work becomes uneven by 2 % more with each, a new map makes a step of
 * `fresh` seconds, a repair one of `repaired`. A map costs 2 seconds and a repair 0.1. */
static void count_actions_exchanging(double fresh, double repaired, int actions[3])
{
    const eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy policy;
    eqp_policy_sample s = {.seconds_mean = 1.0, .promised = 0.01, .repairable = true};
    double beside = 0.0;

    actions[EQP_KEEP] = actions[EQP_REPAIR] = actions[EQP_RENEW] = 0;
    assert_int_equal(eqp_policy_init(&policy, &o), EQP_OK);
    for (int i = 0; i < 200; i++) {
        const eqp_policy_action action = eqp_policy_advise(&policy);
        actions[action]++;
        s.rebalanced = action != EQP_KEEP;
        s.repaired = action == EQP_REPAIR;
        s.balance_seconds = s.repaired ? 0.1 : 2.0;
        s.work_imbalance = s.rebalanced ? 0.01 : s.work_imbalance + 0.02;
        beside = s.repaired ? repaired - 1.0 : s.rebalanced ? fresh - 1.0 : beside;
        s.seconds_max = 1.0 + beside + s.work_imbalance;
        assert_int_equal(eqp_policy_record(&policy, &s), EQP_OK);
    }
}

/* If a step is mostly exchange, the first remedy is a new map. If a repair lengthens the exchange, the next step asks
 * for a map, and there is no second repair. */
TEST(repairs_that_lengthen_the_exchange_are_not_made)
{
    int actions[3];

    count_actions_exchanging(1.0, 1.0, actions);
    assert_int_equal(actions[EQP_RENEW], 1);
    assert_true(actions[EQP_REPAIR] > 20);
    count_actions_exchanging(1.0, 2.5, actions);
    assert_int_equal(actions[EQP_REPAIR], 1);
    assert_true(actions[EQP_RENEW] > 5);
    count_actions_exchanging(7.0, 9.0, actions);
    assert_int_equal(actions[EQP_REPAIR], 0);
    assert_true(actions[EQP_RENEW] > 5);
}

TEST(maps_without_a_promise_are_judged_by_their_first_step)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample s = {1.5, 1.0, true, 0.5, 0.5, -1.0, false, false, 0.0};
    eqp_policy policy;

    assert_int_equal(eqp_policy_init(&policy, &o), EQP_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(eqp_policy_record(&policy, &s), EQP_OK);
        assert_false(eqp_policy_wants(&policy));
        s.rebalanced = false;
    }
    s.work_imbalance = 1.01;
    assert_int_equal(eqp_policy_record(&policy, &s), EQP_OK);
    assert_true(eqp_policy_wants(&policy));
}

TEST(invalid_options_and_samples_are_refused)
{
    eqp_policy_options good = eqp_policy_options_defaults(), o = good;
    eqp_policy_sample ok = {1.0, 1.0, true, 1.0, 0.0, 0.0, false, false, 0.0}, bad[] = {ok, ok, ok, ok, ok, ok};
    eqp_policy policy, old;

    assert_int_equal(eqp_policy_init(&policy, &good), EQP_OK);
    assert_int_equal(eqp_policy_record(&policy, &ok), EQP_OK);
    old = policy;
    o.imbalance_tol = NAN;
    assert_int_equal(eqp_policy_init(&policy, &o), EQP_ERR_ARGUMENT);
    o = good;
    o.settle = 0;
    assert_int_equal(eqp_policy_init(&policy, &o), EQP_ERR_ARGUMENT);
    o = good;
    o.jump = NAN;
    assert_int_equal(eqp_policy_init(&policy, &o), EQP_ERR_ARGUMENT);
    o = options_of(EQP_POLICY_EVERY, 0);
    assert_int_equal(eqp_policy_init(&policy, &o), EQP_ERR_ARGUMENT);
    bad[0].seconds_max = NAN;
    bad[1].seconds_mean = -1.0;
    bad[2].balance_seconds = INFINITY;
    bad[3].balance_seconds = -1.0;
    bad[4].work_imbalance = -0.1;
    bad[5].promised = INFINITY;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(eqp_policy_record(&policy, &bad[i]), EQP_ERR_DATA);
    }
    assert_same_policy(&policy, &old);
    /* the cost of a map is ignored in a step without one */
    bad[3].rebalanced = false;
    assert_int_equal(eqp_policy_record(&policy, &bad[3]), EQP_OK);
}
