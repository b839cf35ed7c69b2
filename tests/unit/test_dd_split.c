/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes of many arms split if that dissipates more; Burgers vectors are conserved. */
#include "dd_networks.h"
#include "unit.h"

#include "slow.h"

#include "motion/mobility.h"

static void mobility(const void *user, const dd_node *node, const double (*to_neighbour)[3], const double force[3],
                     double velocity[3])
{
    dd_mobility_velocity(user, node, to_neighbour, force, velocity);
}

/* A medium with weak elastic forces, so that the arms' given forces and the core decide. */
static dd_medium weak(double core)
{
    return (dd_medium){.mu = 1e-9, .nu = 0, .a = 1, .core = core};
}

static dd_serial serial_of(dd_network *network)
{
    return dd_test_serial(network, free_box, (dd_rules){.max_seg = 30, .min_seg = 5, .r_tol = 0.5});
}

static const double b1[3] = {1, 1, 0}, b2[3] = {-1, 0, 1};
static const double apart[4][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, -1}, {0, 0, -1}},
                    attracted[4][3] = {{-1, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {1, 0, 0}};

/* Lines 1 - 2 with b1 and 3 - 4 with b2 cross at node 9, whose arms have this order. */
static void make_crossing(dd_network *network, const double force[4][3])
{
    *network = dd_test_network(SPOTS({9, 0, 0, 0, DD_FREE}, {1, -10, 5, 0, DD_PINNED}, {2, 10, -5, 0, DD_PINNED},
                                     {3, -10, -5, 0, DD_PINNED}, {4, 10, 5, 0, DD_PINNED}),
                               LINES({1, 9, b1, NULL}, {9, 2, b1, NULL}, {3, 9, b2, NULL}, {9, 4, b2, NULL}));
    dd_node *node = dd_test_find(network, 9);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(node->arm[i].tag, i + 1);
        dd_v3_copy(node->arm[i].force, force[i]);
    }
}

static int64_t split_once(dd_network *network, const dd_mover *mover)
{
    FREED_BY(dd_network_free) dd_network before;
    dd_test_copy(&before, network);
    dd_serial serial = serial_of(network);
    const int64_t done = dd_serial_pass(&serial, DD_SPLIT, mover);
    assert_int_equal(network->n, before.n + done);
    dd_test_valid(network, free_box);
    dd_test_conserved(&before, network);
    assert_true(fabs(dd_test_force(network, 0) - dd_test_force(&before, 0)) < 1e-12);
    return done;
}

TEST(lines_that_are_pulled_apart_leave_each_other)
{
    const dd_medium medium = weak(0.0);
    const dd_mover mover = {dd_test_drag, NULL, &medium, 0};
    FREED_BY(dd_network_free) dd_network network;

    make_crossing(&network, apart);
    assert_int_equal(split_once(&network, &mover), 1);
    const dd_node *old = dd_test_find(&network, 9), *new = dd_test_find(&network, DD_TAG(7, 0));
    assert_int_equal(old->narms, 2);
    assert_int_equal(new->narms, 2);
    assert_non_null(dd_node_find_arm(old, 1));
    assert_non_null(dd_node_find_arm(old, 2));
    assert_true(old->v[2] > 0 && new->v[2] < 0);
    assert_true(fabs(old->x[2] - 1.0) < 1e-9 && fabs(new->x[2] + 1.0) < 1e-9); /* rann is 1 */
}

TEST(lines_that_attract_zip_a_junction)
{
    for (int heavy = 0; heavy < 2; heavy++) {
        /* The junction has b1 + b2 = 0 1 1 and pulls with twice the tension. */
        const dd_medium medium = weak(heavy ? 1.1 : 0.5);
        const dd_mover mover = {dd_test_drag, NULL, &medium, 0};
        FREED_BY(dd_network_free) dd_network network;
        make_crossing(&network, attracted);
        assert_int_equal(split_once(&network, &mover), !heavy);
        if (!heavy) {
            const dd_node *old = dd_test_find(&network, 9), *new = dd_test_find(&network, DD_TAG(7, 0));
            const dd_arm *junction = dd_node_find_arm(old, DD_TAG(7, 0));
            assert_non_null(junction);
            assert_int_equal(old->narms, 3);
            assert_non_null(dd_node_find_arm(old, 3));
            assert_non_null(dd_node_find_arm(new, 2));
            for (int k = 0; k < 3; k++) {
                assert_true(fabs(junction->burgers[k] - b1[k] - b2[k]) < 1e-12);
            }
            /* Equal tensions meet at 120 degrees. */
            assert_true(fabs(new->x[0] - (10 - 5 / sqrt(3))) < 1e-6 && fabs(old->x[0] + 10 - 5 / sqrt(3)) < 1e-6);
            assert_true(fabs(new->x[1]) < 1e-9 && fabs(new->x[2]) < 1e-9);
            assert_true(new->v[0] > 0 && old->v[0] < 0);
        }
    }
}

/* The faster node moves, the other stays in place, and no arm exceeds max_seg, 30. */
TEST(one_of_two_nodes_stays)
{
    const double force[4][3] = {{0, 0, 2}, {0, 0, 2}, {0, 0, 0.5}, {0, 0, 0.5}};
    const dd_medium medium = weak(0.0);
    dd_mover mover = {dd_test_drag, NULL, &medium, 0};
    dd_network network;

    make_crossing(&network, force);
    assert_int_equal(split_once(&network, &mover), 1);
    assert_true(fabs(dd_test_find(&network, 9)->x[2] - 2.0) < 1e-9);
    assert_true(dd_test_find(&network, DD_TAG(7, 0))->x[2] == 0.0);
    dd_network_free(&network);
    make_crossing(&network, force);
    mover.noise = 1.0; /* exceeds their speed */
    assert_int_equal(split_once(&network, &mover), 0);
    dd_network_free(&network);
}

/* Two touching lines become a junction between two nodes of three arms. */
TEST(two_crossing_lines_become_a_binary_junction)
{
    const dd_medium medium = weak(0.5);
    const dd_mover mover = {dd_test_drag, NULL, &medium, 0};
    FREED_BY(dd_network_free) dd_network network;
    network = dd_test_network(SPOTS({1, -10, 5, 0.2, DD_PINNED}, {2, 10, -5, 0.2, DD_PINNED},
                                    {3, -10, -5, -0.2, DD_PINNED}, {4, 10, 5, -0.2, DD_PINNED}),
                              LINES({1, 2, b1, NULL}, {3, 4, b2, NULL}));
    dd_serial serial = serial_of(&network);
    assert_int_equal(dd_serial_pass(&serial, DD_COLLIDE, NULL), 1);
    dd_node *joint = dd_test_find(&network, DD_TAG(7, 0));
    assert_int_equal(joint->narms, 4);
    for (int a = 0; a < 4; a++) {
        joint->arm[a].force[0] = joint->arm[a].tag % 2 ? -1 : 1;
    }
    assert_int_equal(dd_serial_pass(&serial, DD_SPLIT, &mover), 1);
    dd_test_valid(&network, free_box);
    const dd_arm *junction = dd_node_find_arm(dd_test_find(&network, DD_TAG(7, 0)), DD_TAG(7, 1));
    assert_non_null(junction);
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(fabs(junction->burgers[k]) - fabs(b1[k] + b2[k])) < 1e-12);
    }
    assert_int_equal(dd_test_find(&network, DD_TAG(7, 0))->narms, 3);
    assert_int_equal(dd_test_find(&network, DD_TAG(7, 1))->narms, 3);
}

TEST(what_gains_nothing_stays)
{
    const double none[4][3] = {{0}}, same[4][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}};
    const dd_medium medium = weak(1.0);
    const dd_mover mover = {dd_test_drag, NULL, &medium, 0};
    for (int i = 0; i < 3; i++) {
        FREED_BY(dd_network_free) dd_network network;
        make_crossing(&network, i == 0 ? none : i == 1 ? same : apart);
        dd_test_find(&network, 9)->constraint = i == 2 ? DD_PINNED : DD_FREE;
        assert_int_equal(split_once(&network, &mover), 0);
    }
}

/* Crossing screws: the force that separates them at contact is weaker than their attraction once apart. */
TEST(lines_that_attract_stay_together)
{
    const double screw[3] = {1, 0, 0}, pull[4][3] = {{0, 0, 0.01}, {0, 0, 0.01}, {0, 0, -0.01}, {0, 0, -0.01}};
    const dd_medium medium = {.mu = 1, .nu = 0.3, .a = 1, .core = 0.01};
    const dd_mover mover = {dd_test_drag, NULL, &medium, 0};
    for (int sense = -1; sense <= 1; sense += 2) {
        FREED_BY(dd_network_free) dd_network network;
        make_crossing(&network, pull);
        for (int64_t i = 0; i < network.n; i++) {
            for (int a = 0; a < network.node[i].narms; a++) {
                dd_arm *arm = &network.node[i].arm[a];
                const dd_tag end = arm->tag == 9 ? network.node[i].tag : arm->tag;
                const double out = (arm->tag == 9 ? -1 : 1) * (end % 2 ? -1 : 1) * (end > 2 ? sense : 1);
                for (int k = 0; k < 3; k++) {
                    arm->burgers[k] = out * screw[k];
                }
            }
        }
        assert_int_equal(split_once(&network, &mover), sense > 0);
    }
}

/* Coarsening would remove the new nodes, and the lines would touch again. */
TEST(lines_that_remeshing_joins_stay_together)
{
    const dd_medium medium = weak(0.0);
    const dd_mover mover = {dd_test_drag, NULL, &medium, 0};
    for (int is_short = 0; is_short < 2; is_short++) {
        FREED_BY(dd_network_free) dd_network network;
        make_crossing(&network, apart);
        for (int64_t i = 0; i < network.n; i++) {
            dd_v3_scale(is_short ? 0.4 : 0.5, network.node[i].x); /* arms of 4.5 and 5.6; min_seg is 5 */
        }
        assert_int_equal(split_once(&network, &mover), !is_short);
    }
}

TEST(order_of_arms_does_not_matter)
{
    const double force[4][3] = {{-1, 0.3, 0.1}, {1.2, 0, -0.2}, {-0.7, 0.1, 0}, {1, -0.2, 0.3}};
    const dd_medium medium = {.mu = 0.2, .nu = 0.3, .a = 1, .core = 0.1};
    const dd_mover mover = {dd_test_drag, NULL, &medium, 0};
    double first[4][3];
    for (int order = 0; order < 24; order++) {
        FREED_BY(dd_network_free) dd_network network;
        make_crossing(&network, force);
        dd_arm *arm = dd_test_find(&network, 9)->arm;
        for (int left = 4, code = order; left > 1; code /= left--) {
            const dd_arm other = arm[code % left];
            arm[code % left] = arm[left - 1];
            arm[left - 1] = other;
        }
        assert_int_equal(split_once(&network, &mover), 1);
        for (int k = 0; k < 4; k++) {
            const dd_node *at = dd_test_find(&network, dd_test_find(&network, (dd_tag)(k + 1))->arm[0].tag);
            for (int d = 0; d < 3; d++) {
                first[k][d] = order == 0 ? at->x[d] : first[k][d];
                assert_true(fabs(at->x[d] - first[k][d]) < 1e-9);
            }
        }
    }
}

TEST(halves_glide)
{
    const double third = 0.57735026918962576, n1[3] = {third, -third, third}, n2[3] = {third, third, third};
    const double force[4][3] = {{1, 3, 0.3}, {2, 1, 1}, {-3, 1, -1}, {-1, -2, -2}};
    const dd_mobility fcc = {.law = DD_FCC_0, .edge = 1, .screw = 1, .climb = 1};
    const dd_medium medium = weak(0.05);
    const dd_mover mover = {mobility, &fcc, &medium, 0};
    FREED_BY(dd_network_free) dd_network network;
    make_crossing(&network, force);
    for (int64_t i = 0; i < network.n; i++) {
        for (int a = 0; a < network.node[i].narms; a++) {
            dd_arm *arm = &network.node[i].arm[a];
            const bool first = network.node[i].tag <= 2 || (network.node[i].tag == 9 && arm->tag <= 2);
            dd_v3_copy(arm->normal, first ? n1 : n2);
        }
    }
    assert_int_equal(split_once(&network, &mover), 1);
    for (int64_t i = 0; i < network.n; i++) {
        const dd_node *node = &network.node[i];
        for (int a = 0; a < node->narms && node->constraint == DD_FREE; a++) {
            const dd_node *other = dd_test_find(&network, node->arm[a].tag);
            if (other->constraint != DD_FREE) {
                assert_true(fabs(dd_v3_dot(node->x, other->tag <= 2 ? n1 : n2)) < 1e-9);
            }
        }
    }
}

TEST(failing_allocations_are_reported)
{
    const dd_medium medium = weak(0.5);
    const dd_mover mover = {dd_test_drag, NULL, &medium, 0};
    FREED_BY(dd_network_free) dd_network network;

    make_crossing(&network, attracted);
    const dd_serial serial = serial_of(&network);
    dd_test_without_memory(&serial, DD_SPLIT, &mover, (dd_tag[4]){9});
}
