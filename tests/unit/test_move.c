/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/send.h"

#include "unit.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>

static uint64_t draws;

static int below(int n)
{
    return (int)eqp_random_below(19, 1, draws++, (uint64_t)n);
}

TEST(plan_orders_stably_by_destination)
{
    for (int round = 0; round < 200; round++) {
        int dest[50], nranks = 1 + below(7);
        int64_t n = below(51), at = 0;
        eqp_move_plan *plan = NULL;
        for (int64_t i = 0; i < n; i++) {
            dest[i] = below(nranks);
        }
        assert_ok(eqp_move_plan_create(n, dest, nranks, &plan));
        assert_int_equal(plan->n, n);
        assert_int_equal(plan->offset[0], 0);
        assert_int_equal(plan->offset[nranks], n);
        for (int r = 0; r < nranks; r++) {
            assert_int_equal(plan->count[r], plan->offset[r + 1] - plan->offset[r]);
            for (int64_t i = 0; i < n; i++) {
                if (dest[i] == r) {
                    assert_int_equal(plan->order[at++], i);
                }
            }
            assert_int_equal(at, plan->offset[r + 1]);
        }
        eqp_move_plan_free(plan);
    }
}

TEST(wrong_destinations_make_no_plan)
{
    const int low[2] = {0, -1}, high[2] = {0, 3};
    eqp_move_plan *plan = NULL;

    assert_refused(eqp_move_plan_create(2, low, 3, &plan));
    assert_refused(eqp_move_plan_create(2, high, 3, &plan));
    assert_refused(eqp_move_plan_create(-1, low, 3, &plan));
    assert_refused(eqp_move_plan_create(0, NULL, 0, &plan));
    assert_null(plan);
    assert_ok(eqp_move_plan_create(0, NULL, 3, &plan));
    assert_int_equal(plan->offset[3], 0);
    eqp_move_plan_free(plan);
}
