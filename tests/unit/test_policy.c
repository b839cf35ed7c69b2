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

static bool wants(const eqp_policy *policy)
{
    return eqp__policy_advise(policy) != EQP_KEEP;
}

/* Records a step with a mean of 1 s, with a new map unless price < 0; returns true if the next step should have one. */
static bool feed(eqp_policy *policy, double most, double price)
{
    const eqp_policy_sample sample = {
        .seconds_max = most, .seconds_mean = 1.0, .rebalanced = price >= 0.0, .balance_seconds = price};

    assert_ok(eqp__policy_record(policy, &sample));
    return wants(policy);
}

static eqp_policy automatic(void)
{
    const eqp_policy_options options = options_of(EQP_POLICY_AUTO, 1);

    return policy_of(&options);
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

/* An artificial run: a step's mean is 1 s; ages are steps since the last map or repair. */
typedef struct story {
    int n;
    double fresh, mended;        /* imbalance of the seconds right after a map, after a repair */
    double ageing;               /* its growth per step */
    double first, later, rising; /* imbalance of the work with the first map and with later ones; growth per step */
    bool counts;                 /* the seconds include the imbalance of the work */
    double price, repair;        /* of a map; of a repair, if that is possible: > 0 */
} story;

enum { MOST = 1000 };

typedef struct tally {
    int action[3];
    int ready, surprises; /* steps before which a map was announced; maps that were not, except the first */
    bool remedy[MOST];    /* before the step */
    eqp_policy_sample sample[MOST];
} tally;

static tally t;

static void run(const eqp_policy_options *options, const story *is)
{
    eqp_policy policy = policy_of(options);
    bool ready = eqp__policy_may_want(&policy), repaired = false;
    int age = 0;

    memset(&t, 0, sizeof t);
    assert_false(ready); /* nothing announces the first map */
    for (int i = 0; i < is->n; i++) {
        const eqp_policy_action action = eqp__policy_advise(&policy);

        t.action[action]++;
        t.remedy[i] = action != EQP_KEEP;
        t.surprises += t.remedy[i] && i > 0 && !ready;
        age = t.remedy[i] ? 0 : age + 1;
        repaired = t.remedy[i] ? action == EQP_REPAIR : repaired;
        const double work = (t.action[EQP_RENEW] > 1 ? is->later : is->first) + is->rising * age;
        t.sample[i] = (eqp_policy_sample){.seconds_mean = 1.0,
                                          .seconds_max = 1.0 + (repaired ? is->mended : is->fresh) + is->ageing * age +
                                                         (is->counts ? work : 0.0),
                                          .rebalanced = t.remedy[i],
                                          .repaired = action == EQP_REPAIR,
                                          .balance_seconds = action == EQP_REPAIR ? is->repair : is->price,
                                          .work_imbalance = work,
                                          .promised = is->first > 0.0 ? 0.01 : 0.0,
                                          .repairable = is->repair > 0.0};
        ready = eqp__policy_may_want(&policy); /* before the step is known */
        t.ready += ready;
        assert_ok(eqp__policy_record(&policy, &t.sample[i]));
    }
}

#define SECONDS(n, fresh, ageing, price)                                                                               \
    {                                                                                                                  \
        n, fresh, fresh, ageing, 0, 0, 0, false, price, 0                                                              \
    }
#define WORK(n, first, later, price)                                                                                   \
    {                                                                                                                  \
        n, 0.5, 0.5, 0, first, later, 0, false, price, 0                                                               \
    }
#define AGEING(price)                                                                                                  \
    {                                                                                                                  \
        400, 0.5, 0.5, 0, 0.01, 0.01, 0.01, false, 2, price                                                            \
    }

/* Sums of a loss that grows by 0.01 per step reach 0.55 after 10 steps; prices are just below such sums, so that
 * rounding cannot decide. Work that is less even than promised loses 0.3 s in each step, which seconds do not show:
 * they were as bad when the map was new. A promise that no map keeps is due after 3, 6, 12, ... steps, at most 192. A
 * repair is taken to cost a quarter of a map before the first one. */
TEST(remedies_are_due_once_their_price_is_lost)
{
    static const struct {
        const char *shows;
        eqp_policy_mode mode;
        int64_t every;
        double tol, jump; /* 0: the default */
        story is;
        int renew, repair, period; /* period: of the remedies, unless 0 */
    } rows[] = {
        {"never is once", EQP_POLICY_NEVER, 1, 0, 0, SECONDS(20, 0.1, 0.5, 0), 1, 0, 20},
        {"every is regular", EQP_POLICY_EVERY, 3, 0, 0, SECONDS(20, 0, 0, 100), 7, 0, 3},
        {"a loss pays for a map", EQP_POLICY_AUTO, 1, 0, 0, SECONDS(50, 0, 0.01, 0.549), 5, 0, 11},
        {"an incurable imbalance", EQP_POLICY_AUTO, 1, 0, 0, SECONDS(1000, 3, 0, 0.001), 1, 0, 0},
        {"beyond the tolerance twice", EQP_POLICY_AUTO, 1, 0.5, 0, SECONDS(100, 0, 0.0099, 0), 2, 0, 52},
        {"a promise is nearly paid", EQP_POLICY_AUTO, 1, 0, 0, WORK(10, 0.31, 0.01, 2.9), 1, 0, 0},
        {"a broken promise", EQP_POLICY_AUTO, 1, 0, 0, WORK(11, 0.31, 0.01, 2.9), 2, 0, 10},
        {"a kept promise", EQP_POLICY_AUTO, 1, 0, 0, WORK(1000, 0.31, 0.01, 2.9), 2, 0, 0},
        {"good enough", EQP_POLICY_AUTO, 1, 0, 0, WORK(1000, 0.0199, 0.01, 0), 1, 0, 0},
        {"tolerated", EQP_POLICY_AUTO, 1, 0.4, 0, WORK(1000, 0.31, 0.01, 0), 1, 0, 0},
        {"never", EQP_POLICY_NEVER, 1, 0, 0, WORK(1000, 0.31, 0.01, 0), 1, 0, 0},
        {"rarely", EQP_POLICY_EVERY, 100, 0, 0, WORK(100, 0.31, 0.01, 0), 1, 0, 0},
        {"patience", EQP_POLICY_AUTO, 1, 0, 0, WORK(3 * 127 + 1, 0.31, 0.31, 0.899), 8, 0, 0},
        {"most patience", EQP_POLICY_AUTO, 1, 0, 0, WORK(3 * (127 + 128) + 1, 0.31, 0.31, 0.899), 10, 0, 0},
        {"jumps 8 times as large", EQP_POLICY_AUTO, 1, 0, 0.04, WORK(1000, 0.31, 0.31, 1e9), 4, 0, 0},
        {"no jump", EQP_POLICY_AUTO, 1, 0, 0, WORK(2, 0.31, 0.01, 1e9), 1, 0, 0},
        {"a small jump", EQP_POLICY_AUTO, 1, 0, 0.31, WORK(1000, 0.31, 0.01, 1e9), 1, 0, 0},
        {"a jump at any price", EQP_POLICY_AUTO, 1, 0, 0.29, WORK(2, 0.31, 0.01, 1e9), 2, 0, 1},
        {"nothing to repair", EQP_POLICY_AUTO, 1, 0, 0, AGEING(0), 1 + 399 / 21, 0, 21},
        {"10 steps, then 4", EQP_POLICY_AUTO, 1, 0, 0, AGEING(0.099), 1, 1 + (399 - 11) / 5, 0},
        {"an expensive repair", EQP_POLICY_AUTO, 1, 0, 0, AGEING(2.1), 1 + (399 - 11) / 21, 1, 0},
        {"repairs at any price", EQP_POLICY_REPAIR, 1, 0, 0, AGEING(2.1), 1, 399 / 3, 3},
        {"maps instead", EQP_POLICY_REPAIR, 1, 0, 0, AGEING(0), 1 + 399 / 3, 0, 3},
        {"never repairs", EQP_POLICY_NEVER, 1, 0, 0, AGEING(0.001), 1, 0, 0},
    };

    for (int r = 0; r < COUNT_OF(rows); r++) {
        eqp_policy_options o = options_of(rows[r].mode, rows[r].every);
        o.imbalance_tol = rows[r].tol > 0 ? rows[r].tol : o.imbalance_tol;
        o.jump = rows[r].jump > 0 ? rows[r].jump : o.jump;
        run(&o, &rows[r].is);
        if (t.action[EQP_RENEW] != rows[r].renew || t.action[EQP_REPAIR] != rows[r].repair) {
            fail_msg("%s: %d maps, %d repairs", rows[r].shows, t.action[EQP_RENEW], t.action[EQP_REPAIR]);
        }
        assert_true(t.surprises == 0 || o.jump < INFINITY || rows[r].is.first == 0.0 || rows[r].is.rising > 0.0);
        for (int i = 0; i < rows[r].is.n && rows[r].period > 0; i++) {
            assert_int_equal(t.remedy[i], i % rows[r].period == 0);
        }
    }
}

/* If a step is mostly exchange, the first remedy is a new map. If a repair lengthens the exchange, the next step asks
 * for a map, and there is no second repair. */
TEST(repairs_that_lengthen_the_exchange_are_not_made)
{
    static const double exchange[][2] = {{0, 0}, {0, 1.5}, {6, 8}}; /* after a map, after a repair */
    const eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);

    for (int i = 0; i < 3; i++) {
        const story is = {200, exchange[i][0], exchange[i][1], 0, 0.01, 0.01, 0.02, true, 2.0, 0.1};
        run(&o, &is);
        assert_true(i == 0 ? t.action[EQP_REPAIR] > 20 : t.action[EQP_REPAIR] == (i == 1));
        assert_true(i == 0 ? t.action[EQP_RENEW] == 1 : t.action[EQP_RENEW] > 5);
    }
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

/* A caller that prepares when told is ready in time if the loss grows slowly, and idle most of the time. */
TEST(a_new_map_is_announced)
{
    const eqp_policy_options options[] = {options_of(EQP_POLICY_AUTO, 1), options_of(EQP_POLICY_EVERY, 4),
                                          options_of(EQP_POLICY_NEVER, 1)};
    const story is = SECONDS(400, 0.03, 0.005, 2.0);

    for (int o = 0; o < 3; o++) {
        run(&options[o], &is);
        assert_int_equal(t.surprises, 0);
        assert_true(o == 2 ? t.action[EQP_RENEW] == 1 && t.ready == 0 : t.action[EQP_RENEW] > 5);
        assert_true(t.ready < 200 + (o == 1) * 100);
    }
}

TEST(a_policy_can_be_stored_and_goes_on)
{
    const eqp_policy_options o = options_of(EQP_POLICY_AUTO, 1);
    const story is = SECONDS(60, 0.02, 0.02, 0.9);
    eqp_policy policy = policy_of(&o), copy;

    run(&o, &is);
    assert_true(t.action[EQP_RENEW] > 2);
    for (int i = 0; i < 60; i++) {
        memcpy(&copy, &policy, sizeof copy);
        assert_int_equal(wants(&copy), t.remedy[i]);
        assert_ok(eqp__policy_record(&copy, &t.sample[i]));
        policy = copy;
    }
}

TEST(a_hiccup_is_no_reason_and_hides_nothing)
{
    eqp_policy policy = automatic();

    (void)feed(&policy, 1.01, 2.0);
    assert_true(feed(&policy, 9.0, -1.0));
    assert_false(feed(&policy, 1.01, -1.0)); /* it is over */
    policy = automatic();
    (void)feed(&policy, 5.0, 1.0); /* in the first step of a map */
    (void)feed(&policy, 1.0, -1.0);
    assert_true(policy.reached == 0.0);
    assert_false(feed(&policy, 1.5, -1.0)); /* a single slow step is not a loss of the map */
    for (int i = 0; i < 4; i++) {
        (void)feed(&policy, 1.5, -1.0);
    }
    assert_true(feed(&policy, 1.5, -1.0));
}

TEST(later_luck_does_not_move_the_mark)
{
    eqp_policy policy = automatic();

    for (int i = 0; i < policy.options.settle; i++) {
        (void)feed(&policy, 1.2, i == 0 ? 1.0 : -1.0);
    }
    (void)feed(&policy, 1.0, -1.0);
    assert_near(policy.reached, 0.2, 1e-15);
}

TEST(without_work_there_is_no_imbalance)
{
    eqp_policy_sample s = {.rebalanced = true};
    eqp_policy policy = automatic();

    for (int i = 0; i < 10; i++) {
        assert_ok(eqp__policy_record(&policy, &s));
        assert_false(wants(&policy));
        s.rebalanced = false;
    }
}

TEST(maps_without_a_promise_are_judged_by_their_first_step)
{
    eqp_policy_sample s = {1.5, 1.0, true, 0.5, 0.5, -1.0, false, false, 0.0};
    eqp_policy policy = automatic();

    for (int i = 0; i < 100; i++) {
        assert_ok(eqp__policy_record(&policy, &s));
        assert_false(wants(&policy));
        s.rebalanced = false;
    }
    s.work_imbalance = 1.01;
    assert_ok(eqp__policy_record(&policy, &s));
    assert_true(wants(&policy));
}

TEST(invalid_options_and_samples_are_refused)
{
    const eqp_policy_options good = eqp_policy_options_defaults();
    const eqp_policy_sample ok = {1.0, 1.0, true, 1.0, 0.0, 0.0, false, false, 0.0};
    eqp_policy_options wrong[] = {good, good, good, options_of(EQP_POLICY_EVERY, 0), good, good, good};
    eqp_policy_sample bad[] = {ok, ok, ok, ok, ok, ok};
    eqp_policy policy = policy_of(&good), old;

    assert_ok(eqp__policy_record(&policy, &ok));
    memcpy(&old, &policy, sizeof old);
    wrong[0].imbalance_tol = NAN;
    wrong[1].settle = 0;
    wrong[2].jump = NAN;
    wrong[4].false_alarms = 0.0;
    wrong[5].false_alarms = 1.5;
    wrong[6].false_alarms = NAN;
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
    bad[3].rebalanced = false; /* the cost of a map is ignored in a step without one */
    assert_ok(eqp__policy_record(&policy, &bad[3]));
}
