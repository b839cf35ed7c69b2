/* SPDX-License-Identifier: BSD-3-Clause */
/* Every allocation fails in turn: the call returns a code and changes nothing. */

#include "failing_malloc.h"
#include "loops/rules.h"
#include "schedule_world.h"

TEST(creating_survives_no_memory)
{
    SKIP_IF(!failing_malloc_works);
    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        eqp_schedule *schedule = NULL;
        int64_t k = 0;
        int code;
        for (; FAILING_MALLOC(k, code = eqp_schedule_create(eqp_schedule_method_at(m), 100, 5, NULL, &schedule)); k++) {
            assert_int_equal(code, EQP_ERR_MEMORY);
            assert_null(schedule);
        }
        assert_ok(code);
        assert_true(k >= 5);
        eqp_schedule_free(schedule);
    }
}

TEST(simulating_survives_no_memory)
{
    const eqp_schedule_stall stall = {1, 0.5, 2.0};
    eqp_schedule_machine machine = EQP_SCHEDULE_MACHINE_DEFAULTS;
    double *cost = costs_of(100, 1);

    SKIP_IF(!failing_malloc_works);
    machine.nstalls = 1;
    machine.stall = &stall;
    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        eqp_schedule *schedule = schedule_of(eqp_schedule_method_at(m)->name, 100, 5, NULL);
        machine.master = m % 2 == 1;
        eqp_schedule_outcome outcome = {.chunks = -7};
        int code;
        for (int64_t k = 0; FAILING_MALLOC(k, code = eqp_schedule_simulate(schedule, cost, &machine, &outcome)); k++) {
            assert_int_equal(code, EQP_ERR_MEMORY);
            assert_int_equal(outcome.chunks, -7);
            assert_int_equal(eqp__schedule_left(schedule), 100);
        }
        assert_ok(code);
        assert_int_equal(eqp__schedule_left(schedule), 0);
        eqp_schedule_free(schedule);
    }
    free(cost);
}

TEST(ordering_survives_no_memory)
{
    int64_t cell[6] = {9, 9, 9, 9, 9, 9};

    SKIP_IF(!failing_malloc_works);
    failing_malloc_start(0);
    assert_int_equal(eqp__schedule_morton(2, 3, cell), EQP_ERR_MEMORY);
    assert_true(failing_malloc_stop() > 0);
    assert_true(cell[0] == 9 && cell[5] == 9);
}
