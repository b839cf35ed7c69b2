/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes, tags, patches, and operations on random networks. tests/mpi/test_dd_strain has a moving tangle, and the area
 * of whole runs. */
#include "dd_networks.h"
#include "slow.h"
#include "unit.h"

#include "motion/mobility.h"
#include "network/rewire.h"

TEST(arms_come_and_go_in_order)
{
    static const dd_tag left[] = {11, 12, 14, 15, 16, 17};
    FREED_BY(dd_node_free) dd_node node = {.tag = 1};
    FREED_BY(dd_node_free) dd_node copy = {0};
    dd_arm *arm;
    double sum[3];

    assert_ok(dd_node_copy(&copy, &node)); /* no arms */
    assert_ok(dd_node_add_arm(&copy, 5, &arm));
    dd_node_free(&copy);
    for (int i = 0; i < 9; i++) {
        assert_ok(dd_node_add_arm(&node, 10 + i, &arm));
        assert_true(arm->burgers[0] == 0 && arm->home == 0);
        arm->burgers[0] = i;
    }
    dd_node_burgers(&node, sum);
    assert_true(sum[0] == 36);
    assert_ok(dd_node_copy(&copy, &node));
    dd_node_remove_arm(&node, dd_node_find_arm(&node, 13));
    dd_node_remove_arm(&node, &node.arm[node.narms - 1]);
    dd_node_remove_arm(&node, &node.arm[0]);
    assert_int_equal(node.narms, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(node.arm[i].tag, left[i]);
    }
    assert_null(dd_node_find_arm(&node, 13));
    assert_int_equal(copy.narms, 9);
    assert_ok(dd_node_add_arm(&copy, 99, &arm));
}

TEST(networks_find_what_was_added_and_not_removed)
{
    enum { TAGS = 300 };
    bool is_in[TAGS] = {false};
    FREED_BY(dd_network_free) dd_network network;
    int64_t n = 0;

    dd_network_init(&network);
    assert_int_equal(dd_network_find(&network, 3), -1);
    for (uint64_t i = 0; i < 4000; i++) {
        const int t = (int)eqp_random_below(11, 0, i, TAGS);
        const dd_tag tag = DD_TAG(t % 3, t / 3);
        const int64_t place = dd_network_find(&network, tag);
        dd_node node = {.tag = tag};
        dd_arm *arm;
        assert_int_equal(place >= 0, is_in[t]);
        if (place < 0) {
            assert_ok(dd_node_add_arm(&node, 7, &arm));
            assert_ok(dd_network_add(&network, &node));
            assert_null(node.arm);
        } else {
            dd_network_remove(&network, place);
        }
        n += is_in[t] ? -1 : 1;
        is_in[t] = !is_in[t];
        assert_int_equal(network.n, n);
        if (i % 500 == 0) {
            dd_network_sort(&network);
            for (int64_t p = 0; p < network.n; p++) {
                assert_true(p == 0 || network.node[p - 1].tag < network.node[p].tag);
                assert_int_equal(dd_network_find(&network, network.node[p].tag), p);
            }
        }
    }
    dd_node twice = {.tag = network.node[0].tag};
    assert_int_equal(dd_network_add(&network, &twice), EQP_ERR_DATA);
    assert_int_equal(network.n, n);
}

TEST(positions_fold_into_the_box)
{
    dd_patch patch;
    uint64_t c = 0;

    dd_patch_init(&patch, corner, (const double[3]){100, 0, 100});
    for (int i = 0; i < 3000; i++) {
        double x[3], step[3], folded[3], back[3];
        for (int k = 0; k < 3; k++) {
            x[k] = 50 * dd_test_real(1, &c);
            step[k] = (i % 2 ? 49 : 1e-14) * dd_test_real(2, &c);
            x[k] = i % 3 ? x[k] : (i % 2 ? 50 : -50) * (1 - 1e-16 * (i % 5));
        }
        dd__fold(&patch, x, step, folded);
        assert_true(folded[1] == x[1] + step[1]);
        for (int k = 0; k < 3; k += 2) {
            assert_true(folded[k] >= -50 && folded[k] < 50);
        }
        dd_patch_offset(&patch, x, folded, back);
        for (int k = 0; k < 3; k++) {
            assert_near(back[k], step[k], 1e-12);
        }
    }
}

TEST(a_patch_finds_its_nodes)
{
    FREED_BY(dd_network_free) dd_network network;
    FREED_BY(dd_patch_free) dd_patch patch;

    dd_test_random(&network, 3, 40, 20, cube);
    const dd_serial serial = {.network = &network, .box = cube};
    const dd_tag tag[4] = {network.node[2].tag, network.node[1].tag, network.node[2].tag, DD_TAG(77, 7)};
    assert_ok(dd_serial_gather(&serial, tag, 4, true, &patch));
    assert_int_equal(patch.at[0].node.tag, tag[0]);
    assert_int_equal(patch.at[1].node.tag, tag[1]);
    assert_null(dd_patch_find(&patch, tag[3]));
    for (int i = 0; i < patch.n; i++) {
        assert_ptr_equal(dd_patch_find(&patch, patch.at[i].node.tag), &patch.at[i]);
    }
    patch.at[1].deleted = true;
    assert_null(dd_patch_find(&patch, tag[1]));
}

TEST(planes_hold_line_and_burgers_vector)
{
    static const double x[3] = {2, 0, 0}, y[3] = {0, 3, 0}, z[3] = {0, 0, 1}, tilted[3] = {0, 0.6, 0.8};
    static const struct {
        const double *line, *burgers, *first, *second, *plane;
    } cases[] = {
        {x, y, origin, origin, origin}, /* networks without planes stay without */
        {x, y, tilted, origin, z},      /* the old plane does not contain both: x cross y */
        {x, x, tilted, z, tilted},      /* a screw glides in either, so the first is used */
        {x, y, tilted, z, z},
    };
    double n[3];

    for (int i = 0; i < COUNT_OF(cases); i++) {
        dd__plane(cases[i].line, cases[i].burgers, cases[i].first, cases[i].second, n);
        assert_near(fabs(dd_v3_dot(n, cases[i].plane)), dd_v3_dot(cases[i].plane, cases[i].plane), 1e-15);
        assert_near(dd_v3_length(n), dd_v3_length(cases[i].plane), 1e-15);
    }
    dd_v3_copy(n, tilted);
    dd__plane(x, x, origin, n, n); /* out aliases in */
    assert_memory_equal(n, tilted, sizeof n);
}

static void glide(const void *user, const dd_node *node, const double (*to_neighbour)[3], const double force[3],
                  double velocity[3])
{
    dd_mobility_velocity(user, node, to_neighbour, force, velocity);
}

TEST(operations_keep_a_networks_burgers_vectors)
{
    static const dd_mobility law[2] = {{.law = DD_BCC_0, .edge = 1, .screw = 0.5, .climb = 0.1},
                                       {.law = DD_FCC_0, .edge = 1, .screw = 0.5, .climb = 1}};
    const dd_medium medium = {.mu = 0.3, .nu = 0.3, .a = 1, .core = 0.1};
    const dd_mover mover[3] = {
        {dd_test_drag, NULL, &medium, 0}, {glide, &law[0], &medium, 0}, {glide, &law[1], &medium, 0}};
    int64_t done[DD_SLIP] = {0};

    for (uint64_t seed = 0; seed < (slow_here() ? 24 : 160); seed++) {
        FREED_BY(dd_network_free) dd_network network;
        const double *box = seed % 3 ? cube : free_box;
        dd_test_random(&network, seed, 30 + 10 * (int)(seed % 3), 40, box);
        dd_test_valid(&network, box);
        dd_serial serial = dd_test_serial(&network, box, (dd_rules){.max_seg = 20, .min_seg = 4, .r_tol = 0.5});
        memset(serial.starved, seed > 0, sizeof serial.starved);
        for (int turn = 0; turn < 3 * DD_SLIP; turn++) {
            const int pass = turn / DD_SLIP;
            const dd_kind kind = (dd_kind)((turn + (int)seed) % DD_SLIP);
            serial.rules.rann = 1.0 + (double)(seed % 6);
            serial.rules.max_seg = pass == 2 ? 30.0 : 20.0;
            serial.rules.area_min = pass > 0 ? 40.0 * (pass - 1) : serial.rules.area_min;
            done[kind] += dd_serial_pass(&serial, kind, &mover[(seed + (uint64_t)pass) % 3]);
        }
    }
    for (int kind = 0; kind < DD_SLIP; kind++) {
        assert_true(done[kind] > (slow_here() ? 50 : 500));
    }
}
