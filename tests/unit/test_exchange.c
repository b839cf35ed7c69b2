/* SPDX-License-Identifier: BSD-3-Clause */

#include "exchange_world.h"
#include "failing_malloc.h"
#include "move/stages.h"

static const eqp_network network = {.alpha = 2e-6, .beta = 1e-9, .node = 1};

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
    static const char *const wrong[] = {"",
                                        "Direct",
                                        "direct+",
                                        "direct+broadcast/",
                                        "direct+broadcast/0",
                                        "direct+broadcast/-4",
                                        "direct+broadcast/4294967300",
                                        "direct+node/4+broadcast/4",
                                        "direct +node/4",
                                        "log+node/4x",
                                        "two"};

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

static eqp_traffic arrays_of(world_traffic *t)
{
    return (eqp_traffic){t->messages_sent, t->messages_received, t->bytes_sent, t->bytes_received, t->seconds, NULL};
}

static void assert_same_traffic(const world_traffic *a, const world_traffic *b)
{
    assert_memory_equal(a->messages_sent, b->messages_sent, sizeof a->messages_sent);
    assert_memory_equal(a->messages_received, b->messages_received, sizeof a->messages_received);
    assert_memory_equal(a->bytes_sent, b->bytes_sent, sizeof a->bytes_sent);
    assert_memory_equal(a->bytes_received, b->bytes_received, sizeof a->bytes_received);
    for (int p = 0; p < WORLD_PARTS; p++) {
        assert_true(world_is_near(a->seconds[p], b->seconds[p]));
    }
}

/* For every number of parts, plan and direction; the brute force checks that everything arrives. */
TEST(counts_are_those_of_a_simulation_by_messages)
{
    static world w;

    for (int nparts = 1; nparts <= WORLD_PARTS; nparts++) {
        for (int k = 0; k < 36; k++) {
            static const int broadcast[] = {0, 3, 16}, node[] = {1, 2, 4};
            const eqp_exchange_plan plan = {(eqp_stages)(k % 3), broadcast[k / 3 % 3], node[k / 9 % 3]};
            const int back = below(2);
            world_traffic counted = {.seconds = {0}}, simulated = {.seconds = {0}};
            if (nparts % plan.node || k >= 27) {
                continue;
            }
            world_make(nparts, below(nparts % 5 ? 12 : WORLD_BLOCKS + 1), &w);
            const eqp_phase phase = world_phase(&w, back);
            const eqp_traffic traffic = arrays_of(&counted);
            world_count(&w, back, &plan, &network, &simulated);
            assert_ok(eqp__exchange_count(&phase, nparts, &plan, &network, &traffic));
            assert_same_traffic(&counted, &simulated);
        }
    }
}

TEST(counts_add_up_and_arrays_may_be_left_out)
{
    static world w;
    const eqp_exchange_plan plan = {EQP_STAGES_TWO, 4, 1};
    world_traffic twice = {.seconds = {0}}, once = {.seconds = {0}};
    int64_t received[WORLD_PARTS] = {0};
    const eqp_traffic all = arrays_of(&twice), one = arrays_of(&once), some = {.bytes_received = received};

    world_make(13, 20, &w);
    const eqp_phase phase = world_phase(&w, 0);
    assert_ok(eqp__exchange_count(&phase, 13, &plan, &network, &all));
    assert_ok(eqp__exchange_count(&phase, 13, &plan, &network, &all));
    assert_ok(eqp__exchange_count(&phase, 13, &plan, &network, &one));
    assert_ok(eqp__exchange_count(&phase, 13, &plan, NULL, &some));
    for (int p = 0; p < 13; p++) {
        assert_int_equal(twice.messages_sent[p], 2 * once.messages_sent[p]);
        assert_true(world_is_near(twice.seconds[p], 2 * once.seconds[p]));
        assert_int_equal(received[p], once.bytes_received[p]);
    }
}

TEST(an_allgather_of_all_has_the_documented_cost)
{
    for (int nparts = 1; nparts <= WORLD_PARTS; nparts++) {
        int64_t bytes[WORLD_PARTS] = {0};
        world_traffic counted = {.seconds = {0}}, expected = {.seconds = {0}};
        const eqp_traffic traffic = arrays_of(&counted);
        assert_ok(eqp__exchange_count_all(bytes, nparts, &network, &traffic));
        assert_same_traffic(&counted, &expected); /* no part sends anything */
        for (int p = 0; p < nparts; p++) {
            bytes[p] = 1 + below(1000);
        }
        world_count_all(nparts, 0, 1, bytes, &network, &expected);
        assert_ok(eqp__exchange_count_all(bytes, nparts, &network, &traffic));
        assert_same_traffic(&counted, &expected);
    }
}

TEST(invalid_phases_are_refused)
{
    const int64_t bytes[2] = {1, 1}, first[3] = {0, 2, 3}, backwards[3] = {0, 3, 2}, negative[2] = {1, -1};
    const int home[2] = {0, 3}, part[3] = {1, 2, 0}, twice[3] = {1, 1, 0}, beyond[3] = {1, 4, 0}, away[2] = {4, 0};
    const eqp_exchange_plan direct = EQP_EXCHANGE_PLAN_DEFAULTS, nodes = {EQP_STAGES_DIRECT, 0, 3};
    const eqp_phase good = {0, 2, bytes, home, first, part};
    const eqp_phase bad[] = {{0, 2, negative, home, first, part},  {0, 2, bytes, away, first, part},
                             {0, 2, bytes, home, backwards, part}, {0, 2, bytes, home, first, twice},
                             {0, 2, bytes, home, first, beyond},   {0, -1, bytes, home, first, part},
                             {0, 2, NULL, home, first, part}};
    world_traffic counted = {.seconds = {0}};
    const world_traffic nothing = {.seconds = {0}};
    const eqp_traffic traffic = arrays_of(&counted);

    for (int i = 0; i < COUNT_OF(bad); i++) {
        assert_refused(eqp__exchange_count(&bad[i], 4, &direct, &network, &traffic));
    }
    assert_refused(eqp__exchange_count(&good, 4, &nodes, &network, &traffic));
    assert_memory_equal(&counted, &nothing, sizeof nothing);
    assert_ok(eqp__exchange_count(&good, 4, &direct, &network, &traffic));
}

TEST(counting_survives_failing_allocations)
{
    static world w;
    const eqp_exchange_plan plan = {EQP_STAGES_LOG, 4, 2};

    SKIP_IF(!failing_malloc_works);
    world_make(10, 9, &w);
    const eqp_phase phase = world_phase(&w, 1);
    world_traffic counted = {.seconds = {0}};
    const world_traffic nothing = {.seconds = {0}};
    const eqp_traffic traffic = arrays_of(&counted);
    int code;
    for (int64_t k = 0; FAILING_MALLOC(k, code = eqp__exchange_count(&phase, 10, &plan, &network, &traffic)); k++) {
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_memory_equal(&counted, &nothing, sizeof nothing);
    }
    assert_ok(code);
}

TEST(counts_that_do_not_fit_are_errors)
{
    const int64_t much[2] = {INT64_MAX, INT64_MAX}, first[3] = {0, 1, 2}, few[2] = {1, 1};
    const int home[2] = {0, 0}, part[2] = {1, 1};
    const eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;
    int64_t sent[2] = {0, 0};
    const eqp_traffic traffic = {.bytes_sent = sent};
    eqp_phase phase = {0, 2, much, home, first, part};

    assert_int_equal(eqp__exchange_count(&phase, 2, &plan, &network, &traffic), EQP_ERR_OVERFLOW);
    assert_int_equal(eqp__exchange_count_all(much, 2, &network, &traffic), EQP_ERR_OVERFLOW);
    assert_true(sent[0] == 0 && sent[1] == 0);
    phase.bytes = few;
    sent[0] = INT64_MAX;
    assert_int_equal(eqp__exchange_count(&phase, 2, &plan, &network, &traffic), EQP_ERR_OVERFLOW);
    assert_int_equal(eqp__exchange_count_all(few, 2, &network, &traffic), EQP_ERR_OVERFLOW);
    assert_true(sent[0] == INT64_MAX && sent[1] == 0);
}
