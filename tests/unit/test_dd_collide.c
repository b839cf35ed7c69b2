/* SPDX-License-Identifier: BSD-3-Clause */
/* Contact: lines annihilate or form junctions, and Burgers vectors are conserved. */
#include "dd_networks.h"
#include "unit.h"

#include "slow.h"

static const double b1[3] = {0, 1, 1}, b2[3] = {1, -1, 0};

static dd_rules rules_of(double rann)
{
    dd_rules rules = {.max_seg = 30, .min_seg = 5, .r_tol = rann / 2};

    assert_ok(dd_rules_complete(&rules));
    return rules;
}

static dd_serial serial_of(dd_network *network, const double box[3], double rann)
{
    return dd_test_serial(network, box, rules_of(rann));
}

/* Number of pairs that met, in a free box. */
static int64_t collide(dd_network *network)
{
    dd_serial serial = serial_of(network, free_box, 1.0);
    const int64_t done = dd_serial_pass(&serial, DD_COLLIDE, NULL);

    dd_test_valid(network, free_box);
    return done;
}

TEST(distance_against_brute_force)
{
    uint64_t c = 0;
    for (int i = 0; i < 300; i++) {
        double x[4][3], s, t, least = INFINITY;
        for (int e = 0; e < 12; e++) {
            x[e / 3][e % 3] = dd_test_real(5, &c);
        }
        if (i % 4 == 0) { /* parallel */
            for (int k = 0; k < 3; k++) {
                x[3][k] = x[2][k] + (i % 8 ? 1.5 : -0.7) * (x[1][k] - x[0][k]);
            }
        }
        const double d2 = dd_segments_distance2(x[0], x[1], x[2], x[3], &s, &t);
        assert_true(s >= 0 && s <= 1 && t >= 0 && t <= 1);
        double at = 0.0;
        for (int k = 0; k < 3; k++) {
            const double gap = x[0][k] + s * (x[1][k] - x[0][k]) - x[2][k] - t * (x[3][k] - x[2][k]);
            at += gap * gap;
        }
        assert_true(fabs(at - d2) < 1e-12);
        for (int m = 0; m <= 200; m++) {
            double point[3], where;
            for (int k = 0; k < 3; k++) {
                point[k] = x[0][k] + m / 200.0 * (x[1][k] - x[0][k]);
            }
            least = fmin(least, dd_point_distance2(point, x[2], x[3], &where));
        }
        assert_true(sqrt(d2) <= sqrt(least) + 1e-12 && sqrt(least) < sqrt(d2) + 0.02);
        double between[3], l1[3], l2[3];
        for (int k = 0; k < 3; k++) {
            between[k] = (x[2][k] + x[3][k] - x[0][k] - x[1][k]) / 2;
        }
        dd_v3_minus(x[1], x[0], l1);
        dd_v3_minus(x[3], x[2], l2);
        if (dd_segments_are_far(between, dd_v3_length(l1) / 2, dd_v3_length(l2) / 2, 0.3)) {
            assert_true(sqrt(d2) > 0.3);
        }
    }
}

/* Two pinned lines, the second rotated by 1 and half a length above the first. */
static void make_cross(dd_network *network)
{
    const double c = cos(1), s = sin(1), n[3] = {0, 0, 1}, gap = 0.5;

    *network = dd_test_network(SPOTS({1, -10, 0.3, 0, DD_PINNED}, {2, 10, 0.3, 0, DD_PINNED},
                                     {3, -10 * c, -10 * s, gap, DD_PINNED}, {4, 10 * c, 10 * s, gap, DD_PINNED}),
                               LINES({1, 2, b1, n}, {3, 4, b2, n}));
}

TEST(crossing_lines_join_and_zip_into_a_junction)
{
    dd_network network;

    make_cross(&network);
    assert_int_equal(collide(&network), 1);
    assert_int_equal(network.n, 5);
    dd_node *joint = dd_test_find(&network, DD_TAG(7, 0));
    assert_non_null(joint);
    assert_int_equal(joint->narms, 4);
    assert_true(fabs(joint->x[2]) <= 0.5);
    dd_network_free(&network);

    /* Two arms of a node have closed: their far ends meet, and the junction has b1 + b2. */
    const double zero[3] = {-1, 0, -1};
    network = dd_test_network(
        SPOTS({1, 0, 0, 0, DD_FREE}, {2, 10, 0.3, 0, DD_FREE}, {3, 12, -0.3, 0, DD_FREE}, {4, -10, 0, 0, DD_PINNED},
              {5, 20, 10, 0, DD_PINNED}, {6, 20, -10, 0, DD_PINNED}),
        LINES({1, 2, b1, NULL}, {2, 5, b1, NULL}, {1, 3, b2, NULL}, {3, 6, b2, NULL}, {1, 4, zero, NULL}));
    dd_test_valid(&network, free_box);
    assert_true(collide(&network) >= 1);
    const dd_arm *junction = dd_node_find_arm(dd_test_find(&network, 1), 2);
    assert_non_null(junction);
    for (int k = 0; k < 3; k++) {
        assert_true(junction->burgers[k] == b1[k] + b2[k]);
    }
    assert_int_equal(dd_test_find(&network, 1)->narms, 2);
    dd_network_free(&network);
}

TEST(joints_lie_in_all_glide_planes)
{
    const double third = 0.57735026918962576, n1[3] = {third, -third, third}, n2[3] = {third, third, -third};
    const double p[3] = {1, 1, 0}, q[3] = {1, 0, 1};
    FREED_BY(dd_network_free) dd_network network;
    network = dd_test_network(SPOTS({1, -10, -6, 4, DD_PINNED}, {2, 10, 6, -4, DD_PINNED}, {3, -10.2, 7, -3, DD_PINNED},
                                    {4, 9.8, -7, 3, DD_PINNED}),
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
    const dd_rules rules = rules_of(1.0);
    const double u[3] = {9, 0.9, 0}, w[3] = {12, 0, 0}, open[3] = {9, 1.1, 0}, close[3] = {0.1, 0.5, 0};
    const double still[3] = {0, 0, 0}, up[3] = {0, 1, 0};
    assert_true(dd_wants_zip(&rules, u, w, still, still, still));
    assert_true(dd_wants_zip(&rules, w, u, still, still, still));
    assert_false(dd_wants_zip(&rules, open, w, still, still, still));
    assert_false(dd_wants_zip(&rules, close, w, still, still, still)); /* near the node itself */
    assert_false(dd_wants_zip(&rules, u, w, up, still, still));
    assert_true(dd_wants_zip(&rules, u, w, still, up, still));
}

TEST(lines_that_part_do_not_join)
{
    for (int parting = 0; parting < 2; parting++) {
        FREED_BY(dd_network_free) dd_network network;
        make_cross(&network);
        dd_test_find(&network, 3)->v[2] = dd_test_find(&network, 4)->v[2] = parting ? 1e-3 : -1e-3;
        assert_int_equal(collide(&network), !parting);
    }
}

TEST(ends_near_the_contact_are_the_contact)
{
    for (int far = 0; far < 2; far++) {
        FREED_BY(dd_network_free) dd_network network;
        const double at = far ? 2.2 : 1.8;
        network = dd_test_network(SPOTS({1, -10, 0, 0, DD_PINNED}, {5, 0, 0, 0, DD_FREE}, {2, 10, 0, 0, DD_PINNED},
                                        {3, at, -10, 0.5, DD_PINNED}, {4, at, 10, 0.5, DD_PINNED}),
                                  LINES({1, 5, b1, NULL}, {5, 2, b1, NULL}, {3, 4, b2, NULL}));
        assert_int_equal(collide(&network), 1);
        assert_int_equal(network.n, far ? 6 : 5);
        assert_int_equal(dd_test_find(&network, 5)->narms, far ? 2 : 4);
    }
}

/* A junction shorter than rann goes even though its ends part; a longer one stays until they close. */
TEST(short_junctions_go)
{
    const double sum[3] = {1, 0, 1};
    for (int i = 0; i < 3; i++) {
        FREED_BY(dd_network_free) dd_network network;
        const double length = i == 0 ? 0.9 : 1.1, speed = i == 2 ? -1e-3 : 1e-3;
        network = dd_test_network(
            SPOTS({1, -10, 5, 0, DD_PINNED}, {2, -10, -5, 0, DD_PINNED}, {3, 10, 5, 0, DD_PINNED},
                  {4, 10, -5, 0, DD_PINNED}, {5, 0, 0, 0, DD_FREE}, {6, length, 0, 0, DD_FREE}),
            LINES({1, 5, b1, NULL}, {2, 5, b2, NULL}, {5, 6, sum, NULL}, {6, 3, b1, NULL}, {6, 4, b2, NULL}));
        dd_test_find(&network, 5)->v[0] = -speed;
        dd_test_find(&network, 6)->v[0] = speed;
        assert_int_equal(collide(&network), i == 0);
        assert_int_equal(network.n, i == 0 ? 5 : 6);
        assert_int_equal(dd_test_find(&network, 5)->narms, i == 0 ? 4 : 3);
    }
}

TEST(opposite_dipole_annihilates)
{
    /* Two antiparallel lines of five nodes with pinned ends: only the pinned ends and short bridges may remain. */
    const double b[3] = {1, 0, 0}, minus[3] = {-1, 0, 0}, n[3] = {0, 0, 1};
    dd_network network;

    dd_network_init(&network);
    for (int i = 0; i < 5; i++) {
        dd_test_node(&network, DD_TAG(0, i), 10.0 * i - 20, 0, 0, i % 4 ? DD_FREE : DD_PINNED);
        dd_test_node(&network, DD_TAG(1, i), 10.0 * i - 20, i % 4 ? 0.5 : 2, 0, i % 4 ? DD_FREE : DD_PINNED);
    }
    for (int i = 0; i < 4; i++) {
        dd_test_join(&network, DD_TAG(0, i), DD_TAG(0, i + 1), b, n);
        dd_test_join(&network, DD_TAG(1, i), DD_TAG(1, i + 1), minus, n);
    }
    for (int pass = 0; pass < 6; pass++) {
        (void)collide(&network);
    }
    /* Half loops between neighboring pins remain. */
    for (int64_t i = 0; i < network.n; i++) {
        assert_true(network.node[i].narms <= 2);
        assert_true(fabs(network.node[i].x[0]) > 9);
    }
    assert_true(network.n >= 4 && network.n <= 6);
    dd_network_free(&network);

    /* Without pins (a loop pressed flat) nothing remains. */
    network = dd_test_network(SPOTS({1, 0, 0, 0, DD_FREE}, {2, 10, 0.2, 0, DD_FREE}, {3, 10, -0.2, 0, DD_FREE}),
                              LINES({1, 2, b, n}, {2, 3, b, n}, {3, 1, b, n}));
    (void)collide(&network);
    assert_int_equal(network.n, 0);
    dd_network_free(&network);
}

TEST(pins_hold)
{
    for (int both = 0; both < 2; both++) {
        FREED_BY(dd_network_free) dd_network network, before;
        network = dd_test_network(SPOTS({1, 0, 0, 0, DD_PINNED}, {2, -20, 1, 0, DD_PINNED},
                                        {3, 0.2, 0.1, 0.3, both ? DD_PINNED : DD_FREE}, {4, 20, 0, 0, DD_PINNED},
                                        {5, 20, 9, 0, DD_PINNED}),
                                  LINES({1, 2, b1, NULL}, {3, 4, b2, NULL}, {5, 3, b2, NULL}));
        dd_test_copy(&before, &network);
        assert_int_equal(collide(&network) > 0, !both);
        assert_int_equal(network.n, both ? 5 : 4);
        dd_test_conserved(&before, &network);
    }
}

/* Outside the patch the network is bitwise unchanged, and the same patch gives the same result. */
TEST(a_patch_is_all_that_changes)
{
    int64_t changed = 0;
    for (uint64_t seed = 1000; seed < (slow_here() ? 1006 : 1030); seed++) {
        FREED_BY(dd_network_free) dd_network network;
        dd_test_random(&network, seed, 40, 30, cube);
        dd_serial serial = serial_of(&network, cube, 4.0);
        for (int64_t pair = 0; pair < network.n * network.n; pair++) {
            const dd_node *p = &network.node[pair / network.n], *q = &network.node[pair % network.n];
            if (dd_test_distance(p, q, cube) > 15.0) {
                continue;
            }
            const dd_tag tag[4] = {p->tag, p->arm[0].tag, q->tag, q->arm[q->narms - 1].tag};
            FREED_BY(dd_patch_free) dd_patch once, twice, old;
            bool done1 = false, done2 = true;
            for (int copy = 0; copy < 3; copy++) {
                dd_patch *patch = copy == 0 ? &once : copy == 1 ? &twice : &old;
                assert_ok(dd_serial_gather(&serial, tag, 4, true, patch));
            }
            assert_ok(dd_collide(&once, &serial.rules, tag, tag + 2, &done1));
            assert_ok(dd_collide(&twice, &serial.rules, tag, tag + 2, &done2));
            assert_int_equal(done1, done2);
            assert_int_equal(once.n, twice.n);
            for (int j = 0; j < once.n; j++) {
                const dd_node *a = &once.at[j].node, *b = &twice.at[j].node;
                assert_int_equal(a->narms, b->narms);
                assert_memory_equal(a->x, b->x, sizeof a->x);
                for (int m = 0; m < a->narms; m++) {
                    assert_memory_equal(&a->arm[m], &b->arm[m], sizeof a->arm[m]);
                }
                assert_true(done1 || !(once.at[j].changed || once.at[j].deleted || once.at[j].created));
                changed += once.at[j].changed;
            }
            for (int j = 0; j < old.n; j++) {
                const dd_node *was = &old.at[j].node, *now = &once.at[j].node;
                for (int m = 0; m < was->narms; m++) {
                    if (dd_patch_find(&old, was->arm[m].tag) == NULL) {
                        const dd_arm *arm = dd_node_find_arm(now, was->arm[m].tag);
                        assert_false(once.at[j].deleted);
                        assert_non_null(arm);
                        assert_memory_equal(arm, &was->arm[m], sizeof *arm);
                    }
                }
            }
        }
    }
    assert_true(changed > (slow_here() ? 20 : 100));
}

TEST(failing_allocations_are_reported)
{
    FREED_BY(dd_network_free) dd_network network;

    make_cross(&network);
    const dd_serial serial = serial_of(&network, free_box, 1.0);
    dd_test_without_memory(&serial, DD_COLLIDE, NULL, (dd_tag[]){1, 2, 3, 4});
}
