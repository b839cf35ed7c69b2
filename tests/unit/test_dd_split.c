/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes of many arms split if that dissipates more. */
#include "dd_networks.h"
#include "unit.h"

#include "motion/mobility.h"

static const double b1[3] = {1, 1, 0}, b2[3] = {-1, 0, 1};

/* Lines 1 - 2 with b1 and 3 - 4 with b2 cross at node 9, whose arms have this order. */
static dd_network make_crossing(const double force[4][3])
{
    dd_network network =
        dd_test_network(SPOTS({9, {0, 0, 0}, DD_FREE}, {1, {-10, 5, 0}, DD_PINNED}, {2, {10, -5, 0}, DD_PINNED},
                              {3, {-10, -5, 0}, DD_PINNED}, {4, {10, 5, 0}, DD_PINNED}),
                        LINES({1, 9, b1, NULL}, {9, 2, b1, NULL}, {3, 9, b2, NULL}, {9, 4, b2, NULL}));
    dd_node *node = dd_test_find(&network, 9);

    for (int i = 0; i < 4; i++) {
        assert_int_equal(node->arm[i].tag, i + 1);
        dd_v3_copy(node->arm[i].force, force[i]);
    }
    return network;
}

static bool splits_by(dd_network *network, const dd_mover *mover)
{
    const int64_t n = network->n,
                  done = dd_test_pass(network, free_box, (dd_rules){.max_seg = 30, .min_seg = 5, .r_tol = 0.5},
                                      DD_SPLIT, mover);

    assert_int_equal(network->n, n + done);
    return done == 1;
}

static bool splits(dd_network *network, dd_medium medium)
{
    const dd_mover mover = {dd_test_drag, NULL, &medium, 0};

    return splits_by(network, &mover);
}

/* A medium with weak elastic forces, so that the arms' given forces and the core decide. */
static dd_medium weak(double core)
{
    return (dd_medium){.mu = 1e-9, .nu = 0, .a = 1, .core = core};
}

static const double apart[4][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, -1}, {0, 0, -1}},
                    attracted[4][3] = {{-1, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {1, 0, 0}};

TEST(lines_that_are_pulled_apart_leave_each_other)
{
    FREED_BY(dd_network_free) dd_network network = make_crossing(apart);

    assert_true(splits(&network, weak(0.0)));
    const dd_node *old = dd_test_find(&network, 9), *new = dd_test_find(&network, DD_TAG(7, 0));
    assert_true(old->narms == 2 && new->narms == 2);
    assert_true(dd_node_find_arm(old, 1) != NULL && dd_node_find_arm(old, 2) != NULL);
    assert_true(old->v[2] > 0 && new->v[2] < 0);
    assert_near(old->x[2], 1.0, 1e-9); /* rann is 1 */
    assert_near(new->x[2], -1.0, 1e-9);
}

/* The junction has b1 + b2 = 0 1 1 and pulls with twice the tension. */
TEST(lines_that_attract_zip_a_junction)
{
    FREED_BY(dd_network_free) dd_network network = make_crossing(attracted), heavy = make_crossing(attracted);

    assert_false(splits(&heavy, weak(1.1)));
    assert_true(splits(&network, weak(0.5)));
    const dd_node *old = dd_test_find(&network, 9), *new = dd_test_find(&network, DD_TAG(7, 0));
    const dd_arm *junction = dd_node_find_arm(old, DD_TAG(7, 0));
    assert_true(old->narms == 3 && dd_node_find_arm(old, 3) != NULL && dd_node_find_arm(new, 2) != NULL);
    for (int k = 0; k < 3; k++) {
        assert_near(junction->burgers[k], b1[k] + b2[k], 1e-12);
        /* Equal tensions meet at 120 degrees. */
        assert_near(new->x[k], k == 0 ? 10 - 5 / sqrt(3) : 0, k == 0 ? 1e-6 : 1e-9);
    }
    assert_near(old->x[0], -10 + 5 / sqrt(3), 1e-6);
    assert_true(new->v[0] > 0 && old->v[0] < 0);
}

/* The faster node moves, the other stays in place, unless noise exceeds their speed. */
TEST(one_of_two_nodes_stays)
{
    const double force[4][3] = {{0, 0, 2}, {0, 0, 2}, {0, 0, 0.5}, {0, 0, 0.5}};
    const dd_medium medium = weak(0.0);
    const dd_mover noisy = {dd_test_drag, NULL, &medium, 1.0};
    FREED_BY(dd_network_free) dd_network network = make_crossing(force);

    assert_false(splits_by(&network, &noisy));
    assert_true(splits(&network, medium));
    assert_near(dd_test_find(&network, 9)->x[2], 2.0, 1e-9);
    assert_true(dd_test_find(&network, DD_TAG(7, 0))->x[2] == 0.0);
}

TEST(what_gains_nothing_stays)
{
    const double none[4][3] = {{0}}, same[4][3] = {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}};

    for (int i = 0; i < 3; i++) {
        FREED_BY(dd_network_free) dd_network network = make_crossing(i == 0 ? none : i == 1 ? same : apart);
        dd_test_find(&network, 9)->constraint = i == 2 ? DD_PINNED : DD_FREE;
        assert_false(splits(&network, weak(1.0)));
    }
}

/* Crossing screws: the force that separates them at contact is weaker than their attraction once apart. */
TEST(lines_that_attract_stay_together)
{
    const double pull[4][3] = {{0, 0, 0.01}, {0, 0, 0.01}, {0, 0, -0.01}, {0, 0, -0.01}};

    for (int sense = -1; sense <= 1; sense += 2) {
        FREED_BY(dd_network_free) dd_network network = make_crossing(pull);
        for (int64_t i = 0; i < network.n; i++) {
            for (int a = 0; a < network.node[i].narms; a++) {
                dd_arm *arm = &network.node[i].arm[a];
                const dd_tag end = arm->tag == 9 ? network.node[i].tag : arm->tag;
                const double out = (arm->tag == 9 ? -1 : 1) * (end % 2 ? -1 : 1) * (end > 2 ? sense : 1);
                dd_v3_copy(arm->burgers, (double[3]){out, 0, 0});
            }
        }
        assert_int_equal(splits(&network, (dd_medium){.mu = 1, .nu = 0.3, .a = 1, .core = 0.01}), sense > 0);
    }
}

/* Coarsening would remove the new nodes, and the lines would touch again. */
TEST(lines_that_remeshing_joins_stay_together)
{
    for (int is_short = 0; is_short < 2; is_short++) {
        FREED_BY(dd_network_free) dd_network network = make_crossing(apart);
        for (int64_t i = 0; i < network.n; i++) {
            dd_v3_scale(is_short ? 0.4 : 0.5, network.node[i].x); /* arms of 4.5 and 5.6; min_seg is 5 */
        }
        assert_int_equal(splits(&network, weak(0.0)), !is_short);
    }
}

TEST(order_of_arms_does_not_matter)
{
    const double force[4][3] = {{-1, 0.3, 0.1}, {1.2, 0, -0.2}, {-0.7, 0.1, 0}, {1, -0.2, 0.3}};
    double first[4][3];

    for (int order = 0; order < 24; order++) {
        FREED_BY(dd_network_free) dd_network network = make_crossing(force);
        dd_arm *arm = dd_test_find(&network, 9)->arm;
        for (int left = 4, code = order; left > 1; code /= left--) {
            const dd_arm other = arm[code % left];
            arm[code % left] = arm[left - 1];
            arm[left - 1] = other;
        }
        assert_true(splits(&network, (dd_medium){.mu = 0.2, .nu = 0.3, .a = 1, .core = 0.1}));
        for (int k = 0; k < 12; k++) {
            const dd_node *end = dd_test_find(&network, (dd_tag)(k / 3 + 1));
            const double at = dd_test_find(&network, end->arm[0].tag)->x[k % 3];
            first[k / 3][k % 3] = order == 0 ? at : first[k / 3][k % 3];
            assert_near(at, first[k / 3][k % 3], 1e-9);
        }
    }
}

static void mobility(const void *user, const dd_node *node, const double (*to_neighbour)[3], const double force[3],
                     double velocity[3])
{
    dd_mobility_velocity(user, node, to_neighbour, force, velocity);
}

TEST(halves_glide)
{
    const double third = 0.57735026918962576, n[2][3] = {{third, -third, third}, {third, third, third}};
    const double force[4][3] = {{1, 3, 0.3}, {2, 1, 1}, {-3, 1, -1}, {-1, -2, -2}};
    const dd_mobility fcc = {.law = DD_FCC_0, .edge = 1, .screw = 1, .climb = 1};
    const dd_medium medium = weak(0.05);
    const dd_mover mover = {mobility, &fcc, &medium, 0};
    FREED_BY(dd_network_free) dd_network network = make_crossing(force);

    for (dd_tag end = 1; end <= 4; end++) {
        dd_test_plane(&network, 9, end, n[end > 2]);
    }
    assert_true(splits_by(&network, &mover));
    for (dd_tag end = 1; end <= 4; end++) {
        const dd_node *at = dd_test_find(&network, dd_test_find(&network, end)->arm[0].tag);
        assert_near(dd_v3_dot(at->x, n[end > 2]), 0, 1e-9);
    }
}
