/* SPDX-License-Identifier: BSD-3-Clause */
/* Long segments are cut, short ones and flat triangles removed. */
#include "dd_networks.h"
#include "unit.h"

static const double b[3] = {1, 1, 0}, plane[3] = {0, 0, 1}, other_plane[3] = {0, 1, 0};
static const dd_rules common = {.max_seg = 20, .min_seg = 4, .r_tol = 0.5};

TEST(long_segments_are_cut_in_the_middle_across_the_box)
{
    FREED_BY(dd_network_free) dd_network network;

    network = dd_test_network(SPOTS({3, {40, 0, 0}, DD_PINNED}, {5, {-36, 0, 0}, DD_PINNED}), LINES({3, 5, b, plane}));
    for (int i = 0; i < 6; i++) {
        network.node[i / 3].v[i % 3] = 1 + i / 3 + i % 3;
        network.node[i / 3].arm[0].force[i % 3] = 4 + 2 * (i / 3) + i % 3;
    }
    dd_serial serial = dd_test_serial(&network, cube, common);
    assert_int_equal(dd_serial_pass(&serial, DD_REFINE, NULL), 1);
    assert_int_equal(network.n, 3);
    const dd_node *middle = dd_test_find(&network, DD_TAG(7, 0));
    assert_near(middle->x[0], -48, 1e-12);
    assert_true(middle->constraint == DD_FREE && middle->narms == 2 && middle->v[0] == 1.5 && middle->v[2] == 3.5);
    assert_memory_equal(dd_node_find_arm(middle, 5)->burgers, b, sizeof b);
    assert_memory_equal(dd_node_find_arm(middle, 3)->normal, plane, sizeof plane);
    assert_int_equal(dd_serial_pass(&serial, DD_REFINE, NULL), 0);
}

TEST(bends_are_refined)
{
    const dd_rules rules = {.max_seg = 20, .min_seg = 4, .area_min = 5, .area_max = 50, .rann = 1, .r_tol = 0.5};
    const double right[3] = {15, 0, 0};
    static const struct {
        int narms, constraint;
        double up, v, area; /* v: of both ends, along x and y */
    } cases[] = {
        {2, DD_FREE, 15, 0, 112.5},      {2, DD_FREE, 15, 1, 112.5}, {2, DD_FREE, 15, -1, 0}, /* it shrinks */
        {2, DD_FREE, 7.9, 0, 7.5 * 7.9}, {2, DD_PINNED_X, 15, 0, 0}, {3, DD_FREE, 15, 0, 0},
    };

    for (int i = 0; i < COUNT_OF(cases); i++) {
        const dd_node node = {.narms = cases[i].narms, .constraint = cases[i].constraint};
        const double up[3] = {0, cases[i].up, 0}, v[3] = {cases[i].v, cases[i].v, 0};
        assert_near(dd_bend_area(&node, right, up, v, v), cases[i].area, 1e-12);
    }
    assert_true(dd_wants_refine(&rules, 15, 59));
    assert_false(dd_wants_refine(&rules, 7.9, 59)); /* the longer one only */
    assert_false(dd_wants_refine(&rules, 15, 49.9));
    assert_false(dd_wants_refine(&rules, 19.9, 0));
    assert_true(dd_wants_refine(&rules, 20.1, 0));
}

/* Node 2 between 1 and 3, at (x, y). */
static dd_network make_corner(double x, double y, double end, const double n2[3])
{
    return dd_test_network(SPOTS({1, {-8, 0, 0}, DD_PINNED}, {2, {x, y, 0}, DD_FREE}, {3, {end, 0, 0}, DD_PINNED}),
                           LINES({1, 2, b, plane}, {2, 3, b, n2}));
}

TEST(flat_and_short_ones_go)
{
    static const struct {
        double x, y, v, end;
        bool two_planes, kept_planes, pinned, goes;
    } cases[] = {
        {0, 0, 0, 8, false, true, false, true},                                               /* straight */
        {0, 0, 0, 12.1, false, true, false, false},                                           /* beyond max_seg */
        {0, 0, 0, 11.9, false, true, false, true},  {0, 0.5, 0, 8, false, true, false, true}, /* area 4 < 4 sqrt(3) */
        {0, 0.5, 1, 8, false, true, false, false},                                            /* grows */
        {0, 0, 1, 8, false, true, false, false},                                              /* bows out */
        {0, 0.5, -1, 8, false, true, false, true},                                            /* shrinks */
        {0, 6, 0, 8, false, true, false, false},                                              /* a corner */
        {0, 0.5, 0, 8, true, true, false, false},                                             /* where planes meet */
        {0, 0.5, 0, 8, true, false, false, true},   /* the same, but without glide planes */
        {-5, 0.5, 0, 8, true, true, false, false},  /* where planes meet, and short */
        {-5, 0.5, 0, 8, true, false, false, true},  /* the same, but without glide planes */
        {-7.5, 0.5, 0, 8, true, true, false, true}, /* debris */
        {-5, 2, 1, 8, false, true, false, true},    /* short and growing */
        {0, 0, 0, 8, false, true, true, false},     /* pinned */
    };

    for (int i = 0; i < COUNT_OF(cases); i++) {
        FREED_BY(dd_network_free) dd_network network;
        double force[3] = {0};
        dd_rules rules = common;
        network = make_corner(cases[i].x, cases[i].y, cases[i].end, cases[i].two_planes ? other_plane : plane);
        dd_test_find(&network, 2)->v[1] = cases[i].v;
        dd_test_find(&network, 2)->constraint = cases[i].pinned ? DD_PINNED_Z : DD_FREE;
        dd_test_find(&network, 2)->arm[1].force[1] = 2;
        rules.planes = cases[i].kept_planes;
        assert_int_equal(dd_test_pass(&network, free_box, rules, DD_COARSEN, NULL), cases[i].goes);
        assert_int_equal(network.n, cases[i].goes ? 2 : 3);
        dd_test_force(&network, force);
        assert_true(force[1] == 2);
        assert_true(!cases[i].goes || memcmp(dd_test_find(&network, 1)->arm[0].burgers, b, sizeof b) == 0);
    }
}

/* Small loops vanish; a line around the box stays. */
TEST(loops_close_in_the_box_or_through_it)
{
    for (int through = 0; through < 2; through++) {
        const double edge[3] = {12, 12, 12}, shift = through ? 4 : 49.5;
        FREED_BY(dd_network_free) dd_network network;
        network = dd_test_network(SPOTS({1, {through ? 0 : 49.5, 0, 0}, DD_FREE},
                                        {2, {through ? shift : -shift, 0, 0}, DD_FREE},
                                        {3, {through ? 8 : 49.9, through ? 0 : 1, 0}, DD_FREE}),
                                  LINES({1, 2, b, plane}, {2, 3, b, plane}, {3, 1, b, plane}));
        assert_int_equal(dd_test_pass(&network, through ? edge : cube, common, DD_COARSEN, NULL), !through);
        assert_int_equal(network.n, through ? 3 : 0);
    }
}

TEST(a_triangle_at_a_junction_becomes_one_arm)
{
    const double other[3] = {0, -1, 1}, sum[3] = {1, 0, 1}, minus[3] = {-1, 0, -1};
    dd_rules rules = common;
    FREED_BY(dd_network_free) dd_network network;

    rules.max_seg = 12;
    network = dd_test_network(
        SPOTS({1, {0, 0, 0}, DD_FREE}, {2, {5, 0.1, 0}, DD_FREE}, {3, {10, 0, 0}, DD_FREE}, {4, {-10, 0, 0}, DD_PINNED},
              {5, {20, 5, 0}, DD_PINNED}),
        LINES({1, 2, b, NULL}, {2, 3, b, NULL}, {1, 3, other, NULL}, {3, 5, sum, NULL}, {1, 4, minus, NULL}));
    dd_test_valid(&network, free_box);
    (void)dd_test_pass(&network, free_box, rules, DD_COARSEN, NULL);
    assert_null(dd_test_find(&network, 2));
    assert_memory_equal(dd_node_find_arm(dd_test_find(&network, 1), 3)->burgers, sum, sizeof sum);
}

TEST(what_is_gone_is_not_done)
{
    FREED_BY(dd_network_free) dd_network network = make_corner(0, 0, 8, plane);
    const dd_serial serial = dd_test_serial(&network, free_box, common);

    for (int round = 0; round < 4; round++) {
        FREED_BY(dd_patch_free) dd_patch patch;
        bool done = round < 2;
        assert_ok(dd_serial_gather(&serial, (dd_tag[3]){1, 2, 3}, round == 3 ? 2 : 3, false, &patch));
        if (round == 0) {
            assert_ok(dd_refine(&patch, 1, 3, &done)); /* not joined */
        } else if (round == 1) {
            assert_ok(dd_coarsen(&patch, &serial.rules, 9, &done));
        } else if (round == 2) {
            patch.new_tag[0] = DD_NO_TAG;
            assert_int_equal(dd_refine(&patch, 1, 2, &done), EQP_ERR_OVERFLOW);
        } else {
            assert_refused(dd_coarsen(&patch, &serial.rules, 2, &done)); /* no node 3 */
        }
        assert_false(done);
    }
}
