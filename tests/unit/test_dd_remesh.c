/* SPDX-License-Identifier: BSD-3-Clause */
/* Long segments are cut, short ones and flat triangles removed, Burgers vectors conserved. */
#include "dd_networks.h"
#include "unit.h"

static const double b[3] = {1, 1, 0}, plane[3] = {0, 0, 1}, other_plane[3] = {0, 1, 0};

static dd_serial serial_of(dd_network *network, const double box[3])
{
    return dd_test_serial(network, box, (dd_rules){.max_seg = 20, .min_seg = 4, .r_tol = 0.5});
}

TEST(rules_have_defaults)
{
    dd_rules rules = {.max_seg = 100, .r_tol = 0.25};
    assert_ok(dd_rules_complete(&rules));
    assert_true(rules.rann == 0.5);
    assert_true(rules.min_seg > 0 && rules.min_seg <= 25);
    assert_true(fabs(rules.area_min - fmin(2 * 0.25 * 100, sqrt(3) / 4 * rules.min_seg * rules.min_seg)) < 1e-9);
    assert_true(fabs(rules.area_max - (4 * rules.area_min + sqrt(3) / 4 * 1e4) / 2) < 1e-9);
    dd_rules even = {.max_seg = 10, .min_seg = 5, .r_tol = 1};
    assert_ok(dd_rules_complete(&even));
}

TEST(long_segments_are_cut_in_the_middle_across_the_box)
{
    FREED_BY(dd_network_free) dd_network network;
    network = dd_test_network(SPOTS({3, 40, 0, 0, DD_PINNED}, {5, -36, 0, 0, DD_PINNED}), LINES({3, 5, b, plane}));
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++) {
            network.node[i].v[k] = 1 + i + k;
            network.node[i].arm[0].force[k] = 4 + 2 * i + k;
        }
    }
    const double force = dd_test_force(&network, 1);
    dd_serial serial = serial_of(&network, cube);
    assert_int_equal(dd_serial_pass(&serial, DD_REFINE, NULL), 1);
    assert_int_equal(network.n, 3);
    const dd_node *middle = dd_test_find(&network, DD_TAG(7, 0));
    assert_non_null(middle);
    assert_true(fabs(middle->x[0] + 48) < 1e-12 && middle->constraint == DD_FREE && middle->narms == 2);
    assert_true(middle->v[0] == 1.5 && middle->v[2] == 3.5);
    assert_memory_equal(dd_node_find_arm(middle, 5)->burgers, b, sizeof b);
    assert_memory_equal(dd_node_find_arm(middle, 3)->normal, plane, sizeof plane);
    assert_true(dd_test_force(&network, 1) == force);
    dd_test_valid(&network, cube);
    assert_int_equal(dd_serial_pass(&serial, DD_REFINE, NULL), 0);
}

TEST(bends_are_refined)
{
    const dd_rules rules = {.max_seg = 20, .min_seg = 4, .area_min = 5, .area_max = 50, .rann = 1, .r_tol = 0.5};
    const double right[3] = {15, 0, 0}, up[3] = {0, 15, 0}, small[3] = {0, 7.9, 0}, still[3] = {0, 0, 0};
    const double out[3] = {1, 1, 0}, in[3] = {-1, -1, 0};
    dd_node node = {.narms = 2};
    assert_true(dd_bend_area(&node, right, up, still, still) == 112.5);
    assert_true(dd_bend_area(&node, right, up, out, out) == 112.5);
    assert_true(dd_bend_area(&node, right, up, in, in) == 0); /* it shrinks */
    const double area = dd_bend_area(&node, right, small, still, still);
    assert_true(dd_wants_refine(&rules, 15, area));
    assert_false(dd_wants_refine(&rules, 7.9, area)); /* the longer one only */
    node.constraint = DD_PINNED_X;
    assert_true(dd_bend_area(&node, right, up, still, still) == 0);
    node = (dd_node){.narms = 3};
    assert_true(dd_bend_area(&node, right, up, still, still) == 0);
    assert_false(dd_wants_refine(&rules, 15, 49.9));
    assert_false(dd_wants_refine(&rules, 19.9, 0));
    assert_true(dd_wants_refine(&rules, 20.1, 0));
}

/* Node 2 between 1 and 3, at (x, y). */
static void make_corner(dd_network *network, double x, double y, const double n1[3], const double n2[3])
{
    *network = dd_test_network(SPOTS({1, -8, 0, 0, DD_PINNED}, {2, x, y, 0, DD_FREE}, {3, 8, 0, 0, DD_PINNED}),
                               LINES({1, 2, b, n1}, {2, 3, b, n2}));
}

TEST(flat_and_short_ones_go)
{
    static const struct {
        double x, y, v;
        bool two_planes, kept_planes, pinned, goes;
    } cases[] = {
        {0, 0, 0, false, true, false, true},     /* straight */
        {0, 0.5, 0, false, true, false, true},   /* area 4 < 4 sqrt(3) */
        {0, 0.5, 1, false, true, false, false},  /* grows */
        {0, 0, 1, false, true, false, false},    /* bows out */
        {0, 0.5, -1, false, true, false, true},  /* shrinks */
        {0, 6, 0, false, true, false, false},    /* a corner */
        {0, 0.5, 0, true, true, false, false},   /* where planes meet */
        {0, 0.5, 0, true, false, false, true},   /* the same, but without glide planes */
        {-5, 0.5, 0, true, true, false, false},  /* where planes meet, and short */
        {-5, 0.5, 0, true, false, false, true},  /* the same, but without glide planes */
        {-7.5, 0.5, 0, true, true, false, true}, /* debris */
        {-5, 2, 1, false, true, false, true},    /* short and growing */
        {0, 0, 0, false, true, true, false},     /* pinned */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FREED_BY(dd_network_free) dd_network network;
        make_corner(&network, cases[i].x, cases[i].y, plane, cases[i].two_planes ? other_plane : plane);
        dd_test_find(&network, 2)->v[1] = cases[i].v;
        dd_test_find(&network, 2)->constraint = cases[i].pinned ? DD_PINNED_Z : DD_FREE;
        dd_test_find(&network, 2)->arm[1].force[1] = 2;
        dd_serial serial = serial_of(&network, free_box);
        serial.rules.planes = cases[i].kept_planes;
        assert_int_equal(dd_serial_pass(&serial, DD_COARSEN, NULL), cases[i].goes);
        assert_int_equal(network.n, cases[i].goes ? 2 : 3);
        assert_true(dd_test_force(&network, 1) == 2);
        dd_test_valid(&network, free_box);
        if (cases[i].goes) {
            assert_memory_equal(dd_test_find(&network, 1)->arm[0].burgers, b, sizeof b);
        }
    }
}

TEST(a_line_is_not_coarsened_beyond_max_seg)
{
    FREED_BY(dd_network_free) dd_network network;
    make_corner(&network, 0, 0, plane, plane);
    dd_test_find(&network, 3)->x[0] = 12.1;
    dd_serial serial = serial_of(&network, free_box);
    assert_int_equal(dd_serial_pass(&serial, DD_COARSEN, NULL), 0);
    dd_test_find(&network, 3)->x[0] = 11.9;
    assert_int_equal(dd_serial_pass(&serial, DD_COARSEN, NULL), 1);
}

TEST(small_loops_vanish)
{
    FREED_BY(dd_network_free) dd_network network;
    network = dd_test_network(SPOTS({1, 49.5, 0, 0, DD_FREE}, {2, -49.5, 0, 0, DD_FREE}, {3, 49.9, 1, 0, DD_FREE}),
                              LINES({1, 2, b, plane}, {2, 3, b, plane}, {3, 1, b, plane}));
    dd_serial serial = serial_of(&network, cube);
    assert_int_equal(dd_serial_pass(&serial, DD_COARSEN, NULL), 1);
    assert_int_equal(network.n, 0);
}

TEST(a_triangle_at_a_junction_becomes_one_arm)
{
    const double other[3] = {0, -1, 1}, sum[3] = {1, 0, 1}, minus[3] = {-1, 0, -1};
    FREED_BY(dd_network_free) dd_network network;
    network = dd_test_network(
        SPOTS({1, 0, 0, 0, DD_FREE}, {2, 5, 0.1, 0, DD_FREE}, {3, 10, 0, 0, DD_FREE}, {4, -10, 0, 0, DD_PINNED},
              {5, 20, 5, 0, DD_PINNED}),
        LINES({1, 2, b, NULL}, {2, 3, b, NULL}, {1, 3, other, NULL}, {3, 5, sum, NULL}, {1, 4, minus, NULL}));
    dd_test_valid(&network, free_box);
    dd_serial serial = serial_of(&network, free_box);
    serial.rules.max_seg = 12;
    (void)dd_serial_pass(&serial, DD_COARSEN, NULL);
    assert_null(dd_test_find(&network, 2));
    assert_memory_equal(dd_node_find_arm(dd_test_find(&network, 1), 3)->burgers, sum, sizeof sum);
    dd_test_valid(&network, free_box);
}

TEST(a_line_around_the_box_stays)
{
    FREED_BY(dd_network_free) dd_network network;
    const double edge[3] = {12, 12, 12};
    dd_network_init(&network);
    for (int i = 0; i < 3; i++) {
        dd_test_node(&network, DD_TAG(0, i), 4.0 * i, 0, 0, DD_FREE);
    }
    for (int i = 0; i < 3; i++) {
        dd_test_join(&network, DD_TAG(0, i), DD_TAG(0, (i + 1) % 3), b, plane);
    }
    dd_test_valid(&network, edge);
    dd_serial serial = serial_of(&network, edge);
    assert_int_equal(dd_serial_pass(&serial, DD_COARSEN, NULL), 0);
    assert_int_equal(network.n, 3);
}

TEST(what_is_gone_is_not_done)
{
    FREED_BY(dd_network_free) dd_network network;
    make_corner(&network, 0, 0, plane, plane);
    dd_serial serial = serial_of(&network, free_box);
    const dd_tag all[3] = {1, 2, 3};
    for (int round = 0; round < 4; round++) {
        FREED_BY(dd_patch_free) dd_patch patch;
        bool done = true;
        assert_ok(dd_serial_gather(&serial, all, round == 3 ? 2 : 3, false, &patch));
        if (round == 0) {
            assert_ok(dd_refine(&patch, 1, 3, &done)); /* not joined */
        } else if (round == 1) {
            assert_ok(dd_coarsen(&patch, &serial.rules, 9, &done));
        } else if (round == 2) {
            patch.new_tag[0] = DD_NO_TAG;
            done = false;
            assert_int_equal(dd_refine(&patch, 1, 2, &done), EQP_ERR_OVERFLOW);
        } else {
            done = false;
            assert_refused(dd_coarsen(&patch, &serial.rules, 2, &done)); /* no node 3 */
        }
        assert_false(done);
    }
}

TEST(failing_allocations_are_reported)
{
    FREED_BY(dd_network_free) dd_network network;

    make_corner(&network, 0, 0, plane, plane);
    const dd_serial serial = serial_of(&network, free_box);
    dd_test_without_memory(&serial, DD_REFINE, NULL, (dd_tag[4]){1, 2});
    dd_test_without_memory(&serial, DD_COARSEN, NULL, (dd_tag[4]){2});
}
