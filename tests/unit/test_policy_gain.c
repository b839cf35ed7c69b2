/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/policy.h"
#include "unit.h"

static eqp_policy policy_of(eqp_policy_mode mode)
{
    eqp_policy_options o = eqp_policy_options_defaults();
    eqp_policy policy;

    o.mode = mode;
    assert_ok(eqp__policy_init(&policy, &o));
    return policy;
}

/* A step whose mean is a second; work and seconds are equally uneven. */
static eqp_policy_sample step_of(double imbalance, eqp_policy_action action, double cost, double promised)
{
    return (eqp_policy_sample){.seconds_max = 1.0 + imbalance,
                               .seconds_mean = 1.0,
                               .rebalanced = action != EQP_KEEP,
                               .balance_seconds = cost,
                               .work_imbalance = imbalance,
                               .promised = promised,
                               .repaired = action == EQP_REPAIR};
}

static void record(eqp_policy *policy, eqp_policy_sample sample)
{
    assert_ok(eqp__policy_record(policy, &sample));
}

static bool wants(const eqp_policy *policy)
{
    return eqp__policy_advise(policy) != EQP_KEEP;
}

/* A lasting imbalance is worth a map if the run is long enough. */
TEST(the_remaining_steps_decide)
{
    static const eqp_policy_mode modes[] = {EQP_POLICY_AUTO, EQP_POLICY_GAIN};

    for (int m = 0; m < 2; m++) {
        eqp_policy policy = policy_of(modes[m]);
        record(&policy, step_of(0.01, EQP_RENEW, 2.0, 0.01));
        for (int t = 1; t < 40; t++) {
            record(&policy, step_of(t < 20 ? 0.01 : 0.21, EQP_KEEP, 0.0, 0.0));
        }
        assert_true(policy.left == INT64_MAX && wants(&policy));
        assert_ok(eqp__policy_expect(&policy, 9)); /* 9 x 0.2 < 2 */
        assert_false(wants(&policy));
        assert_ok(eqp__policy_expect(&policy, 11));
        assert_int_equal(eqp__policy_advise(&policy), EQP_RENEW);
        record(&policy, step_of(0.21, EQP_KEEP, 0.0, 0.0));
        record(&policy, step_of(0.21, EQP_KEEP, 0.0, 0.0));
        assert_true(policy.left == 9 && !wants(&policy));
        assert_refused(eqp__policy_expect(&policy, -1));
        assert_true(policy.left == 9);
        assert_ok(eqp__policy_expect(&policy, 0));
        record(&policy, step_of(0.21, EQP_KEEP, 0.0, 0.0));
        assert_true(policy.left == 0);
    }
}

/* After a map that cost a second and ten uneven steps. */
static eqp_policy uneven(double repair_cost, double repair_reached)
{
    eqp_policy policy = policy_of(EQP_POLICY_GAIN);
    eqp_policy_sample sample = step_of(0.01, EQP_RENEW, 1.0, 0.01);

    sample.repairable = true;
    record(&policy, sample);
    if (repair_cost > 0.0) {
        sample = step_of(repair_reached, EQP_REPAIR, repair_cost, repair_reached);
        sample.repairable = true;
        record(&policy, sample);
    }
    for (int t = 0; t < 20; t++) {
        sample = step_of(repair_cost > 0.0 && t < 10 ? repair_reached : 0.3, EQP_KEEP, 0.0, 0.0);
        sample.repairable = true;
        record(&policy, sample);
    }
    return policy;
}

TEST(gain_takes_the_best_remedy_so_far)
{
    eqp_policy policy = uneven(0.1, 0.02);

    assert_int_equal(eqp__policy_advise(&policy), EQP_REPAIR); /* a tenth of a map, nearly as good */
    policy = uneven(0.1, 0.25);
    assert_int_equal(eqp__policy_advise(&policy), EQP_RENEW); /* it has cured nothing */
    policy = uneven(1.5, 0.01);
    assert_int_equal(eqp__policy_advise(&policy), EQP_RENEW); /* it costs more than a map */
    policy = uneven(0.1, 0.02);
    policy.repairable = false;
    assert_int_equal(eqp__policy_advise(&policy), EQP_RENEW);
    /* Before the first repair: a quarter of a map. A constant loss since the first step is not ageing. */
    policy = policy_of(EQP_POLICY_GAIN);
    record(&policy, step_of(0.3, EQP_RENEW, 1.0, 0.3));
    for (int t = 0; t < 100; t++) {
        record(&policy, step_of(0.3, EQP_KEEP, 0.0, 0.0));
        policy.repairable = true;
        assert_int_equal(eqp__policy_advise(&policy), EQP_KEEP);
    }
    for (int t = 0; t < 2; t++) {
        record(&policy, step_of(0.6, EQP_KEEP, 0.0, 0.0));
    }
    policy.repairable = true;
    assert_int_equal(eqp__policy_advise(&policy), EQP_REPAIR);
}

TEST(a_hiccup_is_no_gain)
{
    eqp_policy policy = policy_of(EQP_POLICY_GAIN);
    eqp_policy_sample sample = step_of(0.03, EQP_RENEW, 0.1, 0.0);

    sample.work_imbalance = 0.0; /* work is not counted */
    record(&policy, sample);
    sample.rebalanced = false;
    for (int t = 0; t < 50; t++) {
        sample.seconds_max = t % 10 == 9 ? 1.5 : 1.03;
        record(&policy, sample);
        assert_int_equal(eqp__policy_advise(&policy), EQP_KEEP);
    }
    sample.seconds_max = 1.5;
    record(&policy, sample);
    assert_int_equal(eqp__policy_advise(&policy), EQP_RENEW); /* the second in turn */
    record(&policy, step_of(0.0, EQP_RENEW, 0.1, 0.0));
    for (int t = 0; t < 50; t++) {
        record(&policy, step_of(0.019, EQP_KEEP, 0.0, 0.0)); /* within the tolerance */
        assert_int_equal(eqp__policy_advise(&policy), EQP_KEEP);
    }
}

/* A caller that prepares maps during its computation is told in advance. */
TEST(gain_announces_a_map)
{
    eqp_policy policy = policy_of(EQP_POLICY_GAIN);
    int maps = 0, announced = 0, all = 0, age = 0;

    for (int t = 0; t < 200; t++) {
        const bool said = eqp__policy_may_want(&policy);
        record(&policy, step_of(0.01 + 0.01 * age, t == 0 || age == 0 ? EQP_RENEW : EQP_KEEP, 1.0, 0.01));
        const bool due = wants(&policy);
        maps += due;
        announced += due && said;
        all += said;
        age = due ? 0 : age + 1;
    }
    assert_true(maps >= 8 && announced == maps && all < 100);
}
