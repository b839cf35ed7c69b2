/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/plan.h"

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
        eqp_move_view v = eqp__move_plan_arrays(plan);
        assert_int_equal(v.n, n);
        assert_int_equal(v.offset[0], 0);
        assert_int_equal(v.offset[nranks], n);
        for (int r = 0; r < nranks; r++) {
            assert_int_equal(v.count[r], v.offset[r + 1] - v.offset[r]);
            for (int64_t i = 0; i < n; i++) {
                if (dest[i] == r) {
                    assert_int_equal(v.order[at++], i);
                }
            }
            assert_int_equal(at, v.offset[r + 1]);
        }
        eqp_move_plan_free(plan);
    }
}

TEST(unpack_undoes_pack_for_any_element_size)
{
    int dest[40];
    eqp_move_plan *plan = NULL;

    for (int i = 0; i < 40; i++) {
        dest[i] = below(5);
    }
    assert_ok(eqp_move_plan_create(40, dest, 5, &plan));
    for (size_t size = 1; size <= 24; size++) {
        unsigned char in[40 * 24], packed[40 * 24], out[40 * 24];
        for (size_t k = 0; k < 40 * size; k++) {
            in[k] = (unsigned char)below(256);
        }
        eqp__move_pack(plan, size, in, packed);
        eqp__move_unpack(plan, size, packed, out);
        assert_memory_equal(in, out, 40 * size);
        int64_t first = eqp__move_plan_arrays(plan).order[0];
        assert_memory_equal(packed, in + (size_t)first * size, size);
    }
    eqp_move_plan_free(plan);
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
    assert_int_equal(eqp__move_plan_arrays(plan).offset[3], 0);
    eqp_move_plan_free(plan);
}
