/* SPDX-License-Identifier: BSD-3-Clause */
/* The area swept by an operation. That of whole runs is the change of the network's area in tests/mpi/test_dd_strain.
 */
#include "dd_networks.h"
#include "unit.h"

#include "failing_malloc.h"

#include "network/operations.h"

/* A bow of two segments that is cut short: half base times height, by the sense of dd_swept_area(). */
static void make_bow(dd_patch *patch)
{
    static const double b[3] = {0, 0, 2};
    FREED_BY(dd_network_free) dd_network network;

    network = dd_test_network(SPOTS({1, 48, 0, 0, DD_FREE}, {2, -49, 1, 0, DD_FREE}, {3, -46, 0, 0, DD_FREE}),
                              LINES({1, 2, b, NULL}, {2, 3, b, NULL}));
    dd_patch_init(patch, corner, cube);
    for (int i = 0; i < 3; i++) {
        assert_ok(dd_patch_add(patch, dd_test_find(&network, (dd_tag[]){2, 1, 3}[i])));
    }
}

static void straighten(dd_patch *patch)
{
    dd_arm *arm = &patch->at[1].node.arm[0], *back = &patch->at[2].node.arm[0];

    patch->at[0].deleted = true;
    arm->tag = 3;
    back->tag = 1;
}

TEST(a_bow_that_is_cut_sweeps_its_triangle)
{
    FREED_BY(dd_patch_free) dd_patch patch;
    FREED_BY(dd_slip_free) dd_slip slip = {0};
    double area[9] = {0.0};
    make_bow(&patch);
    assert_ok(dd_slip_begin(&slip, &patch));
    straighten(&patch);
    assert_ok(dd_slip_end(&slip, &patch, area));
    /* The node goes down by 1 where the line goes right: (right) x (down) is -z; base 6, height 1. */
    for (int k = 0; k < 9; k++) {
        assert_true(fabs(area[k] - (k == 8 ? 2 * -3.0 : 0.0)) < 1e-12);
    }
    /* Nothing changes: nothing at all, not even rounding. */
    memset(area, 0, sizeof area);
    assert_ok(dd_slip_begin(&slip, &patch));
    assert_ok(dd_slip_end(&slip, &patch, area));
    for (int k = 0; k < 9; k++) {
        assert_true(area[k] == 0.0);
    }
}

TEST(lack_of_memory_is_told)
{
    SKIP_IF(!failing_malloc_works);
    for (int64_t k = 0, failures = 1; failures; k++) {
        FREED_BY(dd_patch_free) dd_patch patch;
        FREED_BY(dd_slip_free) dd_slip slip = {0};
        double area[9] = {0.0};
        make_bow(&patch);
        failing_malloc_start(k);
        int code = dd_slip_begin(&slip, &patch);
        if (code == EQP_OK) {
            straighten(&patch);
            code = dd_slip_end(&slip, &patch, area);
        }
        failures = failing_malloc_stop();
        assert_int_equal(code, failures ? EQP_ERR_MEMORY : EQP_OK);
        assert_true((area[8] == 0.0) == (failures > 0));
        assert_true(failures || k > 2);
    }
}
