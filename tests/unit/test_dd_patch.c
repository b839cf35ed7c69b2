/* SPDX-License-Identifier: BSD-3-Clause */
/* Patches: what they hold, and how they are written back; and operations on random networks.
 * Those on a moving tangle are in tests/mpi/test_dd_topology. */
#include "dd_networks.h"
#include "slow.h"
#include "unit.h"

#include "motion/mobility.h"
#include "network/operations.h"
#include "network/rewire.h"

static dd_rules rules_of(double max_seg, double rann)
{
    dd_rules rules = {.max_seg = max_seg, .min_seg = max_seg / 5, .r_tol = rann / 2};

    assert_ok(dd_rules_complete(&rules));
    return rules;
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
            assert_true(fabs(back[k] - step[k]) < 1e-12);
        }
    }
}

TEST(a_patch_holds_its_nodes_once_and_not_too_many)
{
    FREED_BY(dd_network_free) dd_network network;
    dd_patch patch;
    dd_test_random(&network, 3, 40, 20, cube);
    const dd_rules rules = rules_of(30, 1);
    dd_serial serial;
    dd_serial_init(&serial, &network, corner, cube, &rules, 0);
    assert_true(serial.next > 0 && dd_network_find(&network, DD_TAG(0, serial.next)) < 0);
    const dd_tag tag[4] = {network.node[2].tag, network.node[1].tag, network.node[2].tag, DD_TAG(77, 7)};
    dd_patch_init(&patch, corner, cube);
    assert_ok(dd_serial_gather(&serial, tag, 4, true, &patch));
    assert_int_equal(patch.at[0].node.tag, tag[0]);
    assert_int_equal(patch.at[1].node.tag, tag[1]);
    assert_null(dd_patch_find(&patch, tag[3]));
    for (int i = 0; i < patch.n; i++) {
        assert_ptr_equal(dd_patch_find(&patch, patch.at[i].node.tag), &patch.at[i]);
    }
    for (int i = 0; i < 2; i++) {
        for (int a = 0; a < patch.at[i].node.narms; a++) {
            assert_non_null(dd_patch_find(&patch, patch.at[i].node.arm[a].tag));
        }
    }
    patch.at[1].deleted = true;
    assert_null(dd_patch_find(&patch, tag[1]));
    while (patch.n < DD_PATCH_NODES) {
        assert_ok(dd_patch_add(&patch, &network.node[0]));
    }
    assert_int_equal(dd_patch_add(&patch, &network.node[0]), EQP_ERR_OVERFLOW);
    dd_patch_free(&patch);
    dd_patch_free(&patch); /* twice does no harm */
}

TEST(planes_hold_line_and_burgers_vector)
{
    const double x[3] = {2, 0, 0}, y[3] = {0, 3, 0}, z[3] = {0, 0, 1}, none[3] = {0, 0, 0}, tilted[3] = {0, 0.6, 0.8};
    double n[3];
    dd__plane(x, y, none, none, n); /* a network without planes has none */
    assert_memory_equal(n, none, sizeof n);
    dd__plane(x, y, tilted, none, n); /* the old one will not do: x cross y */
    assert_true(fabs(n[2]) == 1.0);
    dd__plane(x, x, tilted, z, n); /* a screw glides in either: the first */
    assert_memory_equal(n, tilted, sizeof n);
    dd__plane(x, y, tilted, z, n);
    assert_memory_equal(n, z, sizeof n);
    dd_v3_copy(n, tilted);
    dd__plane(x, x, none, n, n); /* out may be in */
    assert_memory_equal(n, tilted, sizeof n);
}

enum { REFINE, COARSEN, COLLIDE, SPLIT, KINDS };

static int operate(dd_serial *serial, int kind, const dd_mover *mover, int64_t *done)
{
    return kind == REFINE    ? dd_serial_refine(serial, done)
           : kind == COARSEN ? dd_serial_coarsen(serial, done)
           : kind == COLLIDE ? dd_serial_collide(serial, done)
                             : dd_serial_split(serial, mover, done);
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
    int64_t done[KINDS] = {0};

    for (uint64_t seed = 0; seed < (slow_here() ? 24 : 160); seed++) {
        FREED_BY(dd_network_free) dd_network network, before;
        const double *box = seed % 3 ? cube : free_box;
        dd_test_random(&network, seed, 30 + 10 * (int)(seed % 3), 40, box);
        dd_test_valid(&network, box);
        dd_test_copy(&before, &network);
        dd_serial serial = dd_test_serial(&network, box, (dd_rules){.max_seg = 20, .min_seg = 4, .r_tol = 0.5});
        for (int pass = 0; pass < 3; pass++) {
            serial.rules.rann = 1.0 + (double)(seed % 6);
            for (int turn = 0; turn < KINDS; turn++) {
                const int kind = (turn + (int)seed) % KINDS;
                const double force = dd_test_force(&network, pass);
                assert_ok(operate(&serial, kind, &mover[(seed + (uint64_t)pass) % 3], &done[kind]));
                assert_true(kind != REFINE || fabs(dd_test_force(&network, pass) - force) < 1e-9);
                dd_test_valid(&network, box);
                dd_test_conserved(&before, &network);
            }
            serial.rules.max_seg = 10.0 * (pass + 2);
            serial.rules.area_min = 40.0 * pass;
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        assert_true(done[kind] > (slow_here() ? 50 : 500));
    }
}
