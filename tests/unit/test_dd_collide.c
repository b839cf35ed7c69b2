/* SPDX-License-Identifier: BSD-3-Clause */
/* Contact: lines annihilate or form junctions. */
#include "dd_networks.h"
#include "unit.h"

static const double b1[3] = {0, 1, 1}, b2[3] = {1, -1, 0}, sum[3] = {1, 0, 1}, minus[3] = {-1, 0, -1};
static const dd_rules rules = {.max_seg = 30, .min_seg = 5, .r_tol = 0.5, .rann = 1};

/* Number of pairs that met. */
static int64_t collide(dd_network *network)
{
    return dd_test_pass(network, free_box, rules, DD_COLLIDE, NULL);
}

TEST(distance_against_brute_force)
{
    uint64_t c = 0;

    for (int i = 0; i < 300; i++) {
        double x[4][3], line[2][3], p[2][3], gap[3], s, t, least = INFINITY, at;
        for (int e = 0; e < 4; e++) {
            dd_test_reals(5, &c, 1.0, x[e]);
        }
        if (i % 4 == 0) { /* parallel */
            dd_v3_minus(x[1], x[0], line[0]);
            dd_v3_along(x[2], i % 8 ? 1.5 : -0.7, line[0], x[3]);
        }
        dd_v3_minus(x[1], x[0], line[0]);
        dd_v3_minus(x[3], x[2], line[1]);
        const double d2 = dd_segments_distance2(x[0], x[1], x[2], x[3], &s, &t);
        assert_true(s >= 0 && s <= 1 && t >= 0 && t <= 1);
        dd_v3_along(x[0], s, line[0], p[0]);
        dd_v3_along(x[2], t, line[1], p[1]);
        dd_v3_minus(p[1], p[0], gap);
        assert_near(dd_v3_dot(gap, gap), d2, 1e-12);
        for (int m = 0; m <= 200; m++) {
            dd_v3_along(x[0], m / 200.0, line[0], p[0]);
            least = fmin(least, dd_point_distance2(p[0], x[2], x[3], &at));
        }
        assert_true(sqrt(d2) <= sqrt(least) + 1e-12 && sqrt(least) < sqrt(d2) + 0.02);
        dd_v3_along(x[0], 0.5, line[0], p[0]);
        dd_v3_along(x[2], 0.5, line[1], p[1]);
        dd_v3_minus(p[1], p[0], gap);
        assert_true(!dd_segments_are_far(gap, dd_v3_length(line[0]) / 2, dd_v3_length(line[1]) / 2, 0.3) ||
                    sqrt(d2) > 0.3);
    }
}

/* Two pinned lines, the second turned by 1 and half a length above the first, moving up. */
TEST(crossing_lines_join_unless_they_part)
{
    const double c = cos(1), s = sin(1), n[3] = {0, 0, 1}, speed[3] = {0, -1e-3, 1e-3};

    for (int i = 0; i < 3; i++) {
        FREED_BY(dd_network_free) dd_network network;
        network = dd_test_network(SPOTS({1, {-10, 0.3, 0}, DD_PINNED}, {2, {10, 0.3, 0}, DD_PINNED},
                                        {3, {-10 * c, -10 * s, 0.5}, DD_PINNED}, {4, {10 * c, 10 * s, 0.5}, DD_PINNED}),
                                  LINES({1, 2, b1, n}, {3, 4, b2, n}));
        dd_test_find(&network, 3)->v[2] = dd_test_find(&network, 4)->v[2] = speed[i];
        assert_int_equal(collide(&network), i < 2);
        assert_int_equal(network.n, i < 2 ? 5 : 4);
        const dd_node *joint = dd_test_find(&network, DD_TAG(7, 0));
        assert_true(i == 2 || (joint->narms == 4 && fabs(joint->x[2]) <= 0.5));
    }
}

/* Two arms of a node have closed: their far ends meet, and the junction has b1 + b2. */
TEST(arms_zip_into_a_junction)
{
    FREED_BY(dd_network_free) dd_network network;

    network = dd_test_network(
        SPOTS({1, {0, 0, 0}, DD_FREE}, {2, {10, 0.3, 0}, DD_FREE}, {3, {12, -0.3, 0}, DD_FREE},
              {4, {-10, 0, 0}, DD_PINNED}, {5, {20, 10, 0}, DD_PINNED}, {6, {20, -10, 0}, DD_PINNED}),
        LINES({1, 2, b1, NULL}, {2, 5, b1, NULL}, {1, 3, b2, NULL}, {3, 6, b2, NULL}, {1, 4, minus, NULL}));
    dd_test_valid(&network, free_box);
    assert_true(collide(&network) >= 1);
    assert_memory_equal(dd_node_find_arm(dd_test_find(&network, 1), 2)->burgers, sum, sizeof sum);
    assert_int_equal(dd_test_find(&network, 1)->narms, 2);
}

TEST(joints_lie_in_all_glide_planes)
{
    const double third = 0.57735026918962576, n1[3] = {third, -third, third}, n2[3] = {third, third, -third};
    const double p[3] = {1, 1, 0}, q[3] = {1, 0, 1};
    FREED_BY(dd_network_free) dd_network network;

    network = dd_test_network(SPOTS({1, {-10, -6, 4}, DD_PINNED}, {2, {10, 6, -4}, DD_PINNED},
                                    {3, {-10.2, 7, -3}, DD_PINNED}, {4, {9.8, -7, 3}, DD_PINNED}),
                              LINES({1, 2, p, n1}, {3, 4, q, n2}));
    assert_int_equal(collide(&network), 1);
    const dd_node *joint = dd_test_find(&network, DD_TAG(7, 0));
    const double on2[3] = {joint->x[0] + 0.2, joint->x[1], joint->x[2]};
    assert_true(fabs(dd_v3_dot(joint->x, n1)) < 1e-12 && fabs(dd_v3_dot(on2, n2)) < 1e-12);
    for (int a = 0; a < 4; a++) {
        assert_memory_equal(joint->arm[a].normal, joint->arm[a].tag <= 2 ? n1 : n2, sizeof n1);
    }
}

TEST(zips_close_from_their_node)
{
    static const struct {
        double u[3], w[3], vu, vw; /* vu, vw: along y */
        bool wants;
    } cases[] = {
        {{9, 0.9, 0}, {12, 0, 0}, 0, 0, true},    {{12, 0, 0}, {9, 0.9, 0}, 0, 0, true},
        {{9, 1.1, 0}, {12, 0, 0}, 0, 0, false},   {{9, 0.9, 0}, {12, 0, 0}, 1, 0, false},
        {{0.1, 0.5, 0}, {12, 0, 0}, 0, 0, false}, /* near the node itself */
        {{9, 0.9, 0}, {12, 0, 0}, 0, 1, true},
    };

    for (int i = 0; i < COUNT_OF(cases); i++) {
        const double vu[3] = {0, cases[i].vu, 0}, vw[3] = {0, cases[i].vw, 0};
        assert_int_equal(dd_wants_zip(&rules, cases[i].u, cases[i].w, vu, vw, origin), cases[i].wants);
    }
}

TEST(ends_near_the_contact_are_the_contact)
{
    for (int far = 0; far < 2; far++) {
        FREED_BY(dd_network_free) dd_network network;
        const double at = far ? 2.2 : 1.8;
        network =
            dd_test_network(SPOTS({1, {-10, 0, 0}, DD_PINNED}, {5, {0, 0, 0}, DD_FREE}, {2, {10, 0, 0}, DD_PINNED},
                                  {3, {at, -10, 0.5}, DD_PINNED}, {4, {at, 10, 0.5}, DD_PINNED}),
                            LINES({1, 5, b1, NULL}, {5, 2, b1, NULL}, {3, 4, b2, NULL}));
        assert_int_equal(collide(&network), 1);
        assert_int_equal(network.n, far ? 6 : 5);
        assert_int_equal(dd_test_find(&network, 5)->narms, far ? 2 : 4);
    }
}

/* A junction shorter than rann goes even though its ends part; a longer one stays until they close. */
TEST(short_junctions_go)
{
    for (int i = 0; i < 3; i++) {
        FREED_BY(dd_network_free) dd_network network;
        const double length = i == 0 ? 0.9 : 1.1, speed = i == 2 ? -1e-3 : 1e-3;
        network = dd_test_network(
            SPOTS({1, {-10, 5, 0}, DD_PINNED}, {2, {-10, -5, 0}, DD_PINNED}, {3, {10, 5, 0}, DD_PINNED},
                  {4, {10, -5, 0}, DD_PINNED}, {5, {0, 0, 0}, DD_FREE}, {6, {length, 0, 0}, DD_FREE}),
            LINES({1, 5, b1, NULL}, {2, 5, b2, NULL}, {5, 6, sum, NULL}, {6, 3, b1, NULL}, {6, 4, b2, NULL}));
        dd_test_find(&network, 5)->v[0] = -speed;
        dd_test_find(&network, 6)->v[0] = speed;
        assert_int_equal(collide(&network), i == 0);
        assert_int_equal(network.n, i == 0 ? 5 : 6);
        assert_int_equal(dd_test_find(&network, 5)->narms, i == 0 ? 4 : 3);
    }
}

/* A loop pressed flat vanishes. Of two pinned nodes that touch none goes. */
TEST(loops_annihilate_and_pins_hold)
{
    const double b[3] = {1, 0, 0}, n[3] = {0, 0, 1};
    FREED_BY(dd_network_free) dd_network loop;

    loop = dd_test_network(SPOTS({1, {0, 0, 0}, DD_FREE}, {2, {10, 0.2, 0}, DD_FREE}, {3, {10, -0.2, 0}, DD_FREE}),
                           LINES({1, 2, b, n}, {2, 3, b, n}, {3, 1, b, n}));
    (void)collide(&loop);
    assert_int_equal(loop.n, 0);
    for (int both = 0; both < 2; both++) {
        FREED_BY(dd_network_free) dd_network network;
        network = dd_test_network(SPOTS({1, {0, 0, 0}, DD_PINNED}, {2, {-20, 1, 0}, DD_PINNED},
                                        {3, {0.2, 0.1, 0.3}, both ? DD_PINNED : DD_FREE}, {4, {20, 0, 0}, DD_PINNED},
                                        {5, {20, 9, 0}, DD_PINNED}),
                                  LINES({1, 2, b1, NULL}, {3, 4, b2, NULL}, {5, 3, b2, NULL}));
        assert_int_equal(collide(&network) > 0, !both);
        assert_int_equal(network.n, both ? 5 : 4);
    }
}
