/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/policy.h"

#include "unit.h"

static eqp_policy_options options_of(eqp_policy_mode mode, int64_t every)
{
    eqp_policy_options o = eqp_policy_options_defaults();

    o.mode = mode;
    o.every = every;
    return o;
}

static eqp_policy policy_of(const eqp_policy_options *options)
{
    eqp_policy policy;

    assert_ok(eqp__policy_init(&policy, options));
    return policy;
}

static eqp_policy automatic(void)
{
    const eqp_policy_options options = options_of(EQP_POLICY_AUTO, 1);

    return policy_of(&options);
}

enum { MOST = 1000 };

static eqp_policy_sample trace[MOST];
static bool renewed[MOST];

/* An artificial run: the imbalance starts at `fresh` with each map and grows by `ageing` per step; a step's mean is 1
 * s, a map costs `price` seconds. Returns the number of maps and keeps the samples. */
static int run(const eqp_policy_options *options, int n, double fresh, double ageing, double price)
{
    eqp_policy policy = policy_of(options);
    int maps = 0, age = 0;

    for (int i = 0; i < n; i++) {
        renewed[i] = eqp__policy_wants(&policy);
        age = renewed[i] ? 0 : age + 1;
        maps += renewed[i];
        trace[i] = (eqp_policy_sample){.seconds_mean = 1.0,
                                       .seconds_max = 1.0 + fresh + ageing * age,
                                       .rebalanced = renewed[i],
                                       .balance_seconds = price};
        assert_ok(eqp__policy_record(&policy, &trace[i]));
    }
    return maps;
}

/* Checks that every k-th of the n steps has a map. */
static void assert_maps_every(int k, int n)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(renewed[i], i % k == 0);
    }
}

TEST(text_names_the_mode)
{
    static const char *const wrong[] = {
        "", "Auto", "autos", "0", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "99999999999999999999", "never,"};
    static const struct {
        const char *text;
        eqp_policy_mode mode;
        int64_t every;
    } good[] = {{"auto", EQP_POLICY_AUTO, 77},     {"never", EQP_POLICY_NEVER, 77},
                {"repair", EQP_POLICY_REPAIR, 77}, {"gain", EQP_POLICY_GAIN, 77},
                {"12", EQP_POLICY_EVERY, 12},      {"9223372036854775807", EQP_POLICY_EVERY, INT64_MAX}};
    eqp_policy_options o = options_of(EQP_POLICY_EVERY, 77);

    for (int i = 0; i < COUNT_OF(good); i++) {
        assert_ok(eqp_policy_options_parse(good[i].text, &o));
        assert_true(o.mode == good[i].mode && o.every == good[i].every);
    }
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(eqp_policy_options_parse(wrong[i], &o), EQP_ERR_UNKNOWN);
        assert_true(o.mode == EQP_POLICY_EVERY && o.every == INT64_MAX);
    }
}

TEST(never_is_once_and_every_is_regular)
{
    const eqp_policy_options never = options_of(EQP_POLICY_NEVER, 1), three = options_of(EQP_POLICY_EVERY, 3);

    assert_int_equal(run(&never, 20, 0.1, 0.5, 0.0), 1);
    assert_maps_every(20, 20);
    assert_int_equal(run(&three, 20, 0.0, 0.0, 100.0), 7);
    assert_maps_every(3, 20);
}

/* The loss after k steps is 0.01 (1 + ... + k); it reaches the price 0.55 at k = 10, so the period is 11. The price is
 * just below, so that rounding cannot decide. */
TEST(auto_renews_when_the_loss_has_paid_for_it)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);

    o.settle = 1;
    assert_int_equal(run(&o, 50, 0.25, 0.01, 0.549), 5);
    assert_maps_every(11, 50);
}

TEST(an_imbalance_that_is_incurable_or_tolerated_is_left_alone)
{
    eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);

    assert_int_equal(run(&o, 1000, 3.0, 0.0, 0.001), 1);
    o.imbalance_tol = 0.5;
    /* Over the tolerance from age 51 on, long after the loss has paid for a map that costs nothing. */
    assert_int_equal(run(&o, 100, 0.0, 0.0099, 0.0), 2);
    assert_true(renewed[0] && renewed[52]);
}

TEST(a_hiccup_that_is_over_is_no_reason)
{
    eqp_policy_sample s = {.seconds_max = 1.01, .seconds_mean = 1.0, .rebalanced = true, .balance_seconds = 2.0};
    const eqp_policy_sample hiccup = {.seconds_max = 9.0, .seconds_mean = 1.0};
    eqp_policy policy = automatic();

    assert_ok(eqp__policy_record(&policy, &s));
    assert_ok(eqp__policy_record(&policy, &hiccup));
    assert_true(eqp__policy_wants(&policy));
    s.rebalanced = false;
    assert_ok(eqp__policy_record(&policy, &s));
    assert_false(eqp__policy_wants(&policy));
}

TEST(a_hiccup_right_after_balancing_hides_nothing)
{
    const eqp_policy_sample hiccup = {
        .seconds_max = 5.0, .seconds_mean = 1.0, .rebalanced = true, .balance_seconds = 1.0};
    const eqp_policy_sample good = {.seconds_max = 1.0, .seconds_mean = 1.0};
    const eqp_policy_sample bad = {.seconds_max = 1.5, .seconds_mean = 1.0};
    eqp_policy policy = automatic();

    assert_ok(eqp__policy_record(&policy, &hiccup));
    assert_ok(eqp__policy_record(&policy, &good));
    assert_true(policy.reached == 0.0);
    for (int i = 0; i < 6; i++) {
        assert_ok(eqp__policy_record(&policy, &bad));
        /* A single slow step is not a loss of the map. */
        assert_true(i > 0 || !eqp__policy_wants(&policy));
    }
    assert_true(eqp__policy_wants(&policy));
}

TEST(later_luck_does_not_move_the_mark)
{
    const eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy_sample s = {.seconds_max = 1.2, .seconds_mean = 1.0, .rebalanced = true, .balance_seconds = 1.0};
    eqp_policy policy = automatic();

    for (int i = 0; i < o.settle; i++) {
        assert_ok(eqp__policy_record(&policy, &s));
        s.rebalanced = false;
    }
    s.seconds_max = 1.0;
    assert_ok(eqp__policy_record(&policy, &s));
    assert_near(policy.reached, 0.2, 1e-15);
}

TEST(without_work_there_is_no_imbalance)
{
    eqp_policy_sample s = {.rebalanced = true};
    eqp_policy policy = automatic();

    for (int i = 0; i < 10; i++) {
        assert_ok(eqp__policy_record(&policy, &s));
        assert_false(eqp__policy_wants(&policy));
        s.rebalanced = false;
    }
}

TEST(a_policy_can_be_stored_and_goes_on)
{
    const eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy policy = policy_of(&o), copy;

    (void)run(&o, 60, 0.02, 0.02, 0.9);
    for (int i = 0; i < 60; i++) {
        memcpy(&copy, &policy, sizeof copy);
        assert_int_equal(eqp__policy_wants(&copy), renewed[i]);
        assert_ok(eqp__policy_record(&copy, &trace[i]));
        policy = copy;
    }
}

/* A caller that prepares when told is ready in time if the loss grows slowly, and idle most of the time. */
TEST(a_new_map_is_announced)
{
    const eqp_policy_options options[] = {options_of(EQP_POLICY_AUTO, 1), options_of(EQP_POLICY_EVERY, 4),
                                          options_of(EQP_POLICY_NEVER, 1)};

    for (int o = 0; o < 3; o++) {
        eqp_policy policy = policy_of(&options[o]);
        int age = 0, maps = 0, announced = 0;
        bool ready = false;
        assert_false(eqp__policy_may_want(&policy)); /* nothing announces the first map */
        for (int i = 0; i < 400; i++) {
            const bool wants = eqp__policy_wants(&policy);
            assert_true(!wants || ready || i == 0);
            age = wants ? 0 : age + 1;
            maps += wants;
            ready = eqp__policy_may_want(&policy); /* before the step is known */
            announced += ready;
            const eqp_policy_sample sample = {1.03 + 0.005 * age, 1.0, wants, 2.0, 0.0, 0.0, false, false, 0.0};
            assert_ok(eqp__policy_record(&policy, &sample));
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

/* As run(), but the seconds are the same in all steps. The work's imbalance is `first` with the first map, made for
 * other work, and `later` with all following maps. All promise 1 %. */
static int run_work(const eqp_policy_options *options, int n, double first, double later, double price)
{
    eqp_policy policy = policy_of(options);
    eqp_policy_sample sample = {1.5, 1.0, true, price, first, 0.01, false, false, 0.0};
    int maps = 0;

    for (int i = 0; i < n; i++) {
        const bool ready = eqp__policy_may_want(&policy);

        sample.rebalanced = eqp__policy_wants(&policy);
        assert_true(!sample.rebalanced || ready || i == 0 || options->jump < INFINITY);
        maps += sample.rebalanced;
        sample.work_imbalance = maps > 1 ? later : first;
        assert_ok(eqp__policy_record(&policy, &sample));
    }
    return maps;
}

/* It loses 0.3 s in each step, which seconds do not show: they were as bad when the map was new. */
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

/* A map costs the loss of 3 steps. The next ones are due after 3, 6, 12, ... steps, at most 192. */
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

/* Work ages by 1 % per step, and every remedy restores 1 %; a map costs 2 s, a repair `price`. */
static void count_actions(const eqp_policy_options *options, bool repairable, double price, int actions[3])
{
    eqp_policy policy;
    eqp_policy_sample sample = {
        .seconds_max = 1.5, .seconds_mean = 1.0, .promised = 0.01, .repairable = repairable, .work_imbalance = 0.01};

    actions[EQP_KEEP] = actions[EQP_REPAIR] = actions[EQP_RENEW] = 0;
    assert_ok(eqp__policy_init(&policy, options));
    for (int i = 0; i < 400; i++) {
        const eqp_policy_action action = eqp__policy_advise(&policy);

        assert_int_equal(eqp__policy_wants(&policy), action != EQP_KEEP);
        actions[action]++;
        sample.rebalanced = action != EQP_KEEP;
        sample.repaired = action == EQP_REPAIR;
        sample.balance_seconds = sample.repaired ? price : 2.0;
        sample.work_imbalance = action == EQP_KEEP ? sample.work_imbalance + 0.01 : 0.01;
        assert_ok(eqp__policy_record(&policy, &sample));
    }
}

/* A remedy is due when 1 %, 2 %, ... sum to its price: after k steps if k (k + 1) / 2 is 100 times the price. */
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
    assert_int_equal(eqp__policy_advise(NULL), EQP_KEEP);
}

/* Losses cured by repairs require no new map; remaining losses do. */
TEST(seconds_that_repairs_do_not_cure_ask_for_a_map)
{
    for (int cures = 0; cures < 2; cures++) {
        eqp_policy policy = automatic();
        eqp_policy_sample s = {1.0, 1.0, true, 4.0, 0.0, 0.01, false, true, 0.0};
        int maps = 0;

        assert_ok(eqp__policy_record(&policy, &s));
        for (int i = 0; i < 100; i++) {
            const eqp_policy_action action = eqp__policy_advise(&policy);
            maps += action == EQP_RENEW;
            s.rebalanced = action != EQP_KEEP;
            s.repaired = action == EQP_REPAIR;
            s.balance_seconds = s.repaired ? 0.1 : 4.0;
            s.work_imbalance = s.repaired ? 0.01 : 0.21;
            s.seconds_max = 1.0 + s.work_imbalance - 0.01 + (cures ? 0.0 : 0.1);
            assert_ok(eqp__policy_record(&policy, &s));
        }
        assert_int_equal(maps, cures ? 0 : 1); /* the second map loses as much from its first step on */
    }
}

/* Steps with 1 s of work, the rest exchange: unevenness grows by 2 % per step, a new map makes a step of `fresh`
 * seconds, a repair one of `repaired`. A map costs 2 s and a repair 0.1 s. */
static void count_actions_exchanging(double fresh, double repaired, int actions[3])
{
    const eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    eqp_policy policy;
    eqp_policy_sample s = {.seconds_mean = 1.0, .promised = 0.01, .repairable = true};
    double beside = 0.0;

    actions[EQP_KEEP] = actions[EQP_REPAIR] = actions[EQP_RENEW] = 0;
    assert_ok(eqp__policy_init(&policy, &o));
    for (int i = 0; i < 200; i++) {
        const eqp_policy_action action = eqp__policy_advise(&policy);
        actions[action]++;
        s.rebalanced = action != EQP_KEEP;
        s.repaired = action == EQP_REPAIR;
        s.balance_seconds = s.repaired ? 0.1 : 2.0;
        s.work_imbalance = s.rebalanced ? 0.01 : s.work_imbalance + 0.02;
        beside = s.repaired ? repaired - 1.0 : s.rebalanced ? fresh - 1.0 : beside;
        s.seconds_max = 1.0 + beside + s.work_imbalance;
        assert_ok(eqp__policy_record(&policy, &s));
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
    eqp_policy_sample s = {1.5, 1.0, true, 0.5, 0.5, -1.0, false, false, 0.0};
    eqp_policy policy = automatic();

    for (int i = 0; i < 100; i++) {
        assert_ok(eqp__policy_record(&policy, &s));
        assert_false(eqp__policy_wants(&policy));
        s.rebalanced = false;
    }
    s.work_imbalance = 1.01;
    assert_ok(eqp__policy_record(&policy, &s));
    assert_true(eqp__policy_wants(&policy));
}

TEST(invalid_options_and_samples_are_refused)
{
    const eqp_policy_options good = eqp_policy_options_defaults();
    const eqp_policy_sample ok = {1.0, 1.0, true, 1.0, 0.0, 0.0, false, false, 0.0};
    eqp_policy_options wrong[] = {good, good, good, options_of(EQP_POLICY_EVERY, 0)};
    eqp_policy_sample bad[] = {ok, ok, ok, ok, ok, ok};
    eqp_policy policy = policy_of(&good), old;

    assert_ok(eqp__policy_record(&policy, &ok));
    memcpy(&old, &policy, sizeof old);
    wrong[0].imbalance_tol = NAN;
    wrong[1].settle = 0;
    wrong[2].jump = NAN;
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        assert_refused(eqp__policy_init(&policy, &wrong[i]));
    }
    bad[0].seconds_max = NAN;
    bad[1].seconds_mean = -1.0;
    bad[2].balance_seconds = INFINITY;
    bad[3].balance_seconds = -1.0;
    bad[4].work_imbalance = -0.1;
    bad[5].promised = INFINITY;
    for (int i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(eqp__policy_record(&policy, &bad[i]), EQP_ERR_DATA);
    }
    assert_memory_equal(&policy, &old, sizeof old);
    /* The cost of a map is ignored in a step without one. */
    bad[3].rebalanced = false;
    assert_ok(eqp__policy_record(&policy, &bad[3]));
}
