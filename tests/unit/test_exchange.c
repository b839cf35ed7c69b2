/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of exchange plans, and their stages. What plans send is counted in test_evaluation.c. */
#include "move/evaluation.h"
#include "move/stages.h"
#include "unit.h"

TEST(plans_keep_their_names)
{
    for (int s = 0; s < 3; s++) {
        for (int k = 0; k < 4; k++) {
            static const int broadcast[] = {0, 4, 16, INT32_MAX}, node[] = {1, 2, 64, INT32_MAX};
            const eqp_exchange_plan plan = {(eqp_stages)s, broadcast[k], node[3 - k]};
            eqp_exchange_plan read = EQP_EXCHANGE_PLAN_DEFAULTS;
            char name[EQP_EXCHANGE_NAME_SIZE];
            eqp_exchange_plan_name(&plan, name);
            assert_ok(eqp_exchange_plan_parse(name, &read));
            assert_memory_equal(&plan, &read, sizeof plan);
        }
    }
    const eqp_exchange_plan two = {EQP_STAGES_TWO, 16, 64};
    char name[EQP_EXCHANGE_NAME_SIZE];
    eqp_exchange_plan_name(&two, name);
    assert_string_equal(name, "two-stage+broadcast/16+node/64");
}

TEST(unknown_plan_names_are_refused)
{
    static const char *const wrong[] = {"",       "direct+",        "direct+broadcast/",  "direct+node/4+broadcast/4",
                                        "two",    "log+node/4x",    "direct+broadcast/0", "direct+broadcast/4294967300",
                                        "Direct", "direct +node/4", "direct+broadcast/-4"};

    for (int i = 0; i < COUNT_OF(wrong); i++) {
        eqp_exchange_plan plan = {EQP_STAGES_LOG, 7, 3};
        assert_int_equal(eqp_exchange_plan_parse(wrong[i], &plan), EQP_ERR_UNKNOWN);
        assert_true(plan.stages == EQP_STAGES_LOG && plan.broadcast == 7 && plan.node == 3);
    }
}

TEST(suggested_plans_differ_and_are_usable)
{
    for (int nparts = 1; nparts <= 70; nparts++) {
        for (int node = 1; node <= 4; node++) {
            const eqp_network shared = {.alpha = 1e-6, .beta = 1e-9, .node = node};
            eqp_exchange_plan plan[EQP_EXCHANGE_PLANS_MAX];
            const int n = eqp__exchange_plans(nparts, &shared, plan);
            assert_in_range(n, 1, EQP_EXCHANGE_PLANS_MAX);
            assert_true(plan[0].stages == EQP_STAGES_DIRECT && plan[0].broadcast == 0 && plan[0].node == 1);
            for (int i = 0; i < n; i++) {
                eqp__stages stages;
                assert_ok(eqp__stages_make(&plan[i], nparts, &stages));
                for (int k = 0; k < i; k++) {
                    assert_memory_not_equal(&plan[i], &plan[k], sizeof *plan);
                }
            }
            assert_true(nparts < 5 || n >= 9); /* from 5 on, all three ways differ */
            assert_int_equal(plan[n - 1].node, nparts % node ? 1 : node);
        }
    }
}

TEST(stages_are_as_many_and_as_narrow_as_said)
{
    for (int nparts = 1; nparts <= 300; nparts++) {
        int width = 0, log = 0;
        eqp__stages s;
        eqp_exchange_plan plan = {EQP_STAGES_TWO, 0, 1};
        assert_ok(eqp__stages_make(&plan, nparts, &s));
        assert_true(s.n <= 2);
        for (int j = 0; j < s.n; j++) {
            width += ((j > 0 ? s.stride[j - 1] : nparts) - 1) / s.stride[j];
        }
        assert_true((width + 2) * (width + 2) / 4 <= nparts + width + 1); /* at most about 2 sqrt(P) */
        plan.stages = EQP_STAGES_LOG;
        assert_ok(eqp__stages_make(&plan, nparts, &s));
        while (1 << log < nparts) {
            log++;
        }
        assert_int_equal(s.n, log);
        plan.stages = EQP_STAGES_DIRECT;
        assert_ok(eqp__stages_make(&plan, nparts, &s));
        assert_int_equal(s.n, nparts > 1);
        plan.node = 2;
        assert_int_equal(eqp__stages_make(&plan, nparts, &s), nparts % 2 ? EQP_ERR_ARGUMENT : EQP_OK);
    }
}
