/* SPDX-License-Identifier: BSD-3-Clause */
/* Screws, and only screws, slip into the plane with the larger force. */
#include "dd_networks.h"
#include "unit.h"

#include "motion/loading.h"

/* A slip system and a second plane of the same Burgers vector. glide: in each plane, across b. */
typedef struct crystal {
    dd_crystal kind;
    double b[3], plane[2][3], glide[2][3];
    double limit; /* degrees between a segment and b */
} crystal;

static void unit(double v[3])
{
    dd_v3_scale(1.0 / dd_v3_length(v), v);
}

static crystal crystal_of(dd_crystal kind)
{
    crystal c = kind == DD_FCC ? (crystal){DD_FCC, {1, 1, 0}, {{1, -1, 1}, {1, -1, -1}}, {{0}}, 2.0}
                               : (crystal){DD_BCC, {1, 1, 1}, {{1, -1, 0}, {0, 1, -1}}, {{0}}, 0.5};

    unit(c.b);
    for (int i = 0; i < 2; i++) {
        unit(c.plane[i]);
        dd_v3_cross(c.plane[i], c.b, c.glide[i]);
    }
    return c;
}

static const dd_medium medium = {.mu = 1000, .nu = 0.3, .a = 0.1, .core = 0};

static void drag(const void *user, const dd_node *node, const double (*to_neighbour)[3], const double force[3],
                 double velocity[3])
{
    (void)user;
    (void)to_neighbour;
    (void)node;
    dd_v3_copy(velocity, force);
}

static const dd_mover mover = {drag, NULL, &medium, 0};

static dd_serial serial_of(dd_network *network, const double box[3], const crystal *c, double area_min)
{
    return dd_test_serial(
        network, box,
        (dd_rules){.max_seg = 30, .min_seg = 4, .r_tol = 0.5, .area_min = area_min, .cross_slip = c->kind});
}

static void put(dd_network *network, dd_tag tag, const double middle[3], const crystal *c, double along, double aside,
                int constraint)
{
    double x[3];

    dd_v3_along(middle, along, c->b, x);
    dd_v3_along(x, aside, c->glide[0], x);
    for (int k = 0; k < 3; k++) {
        x[k] -= 100.0 * floor((x[k] + 50.0) / 100.0);
    }
    dd_test_node(network, tag, x[0], x[1], x[2], constraint);
}

/* Nodes 1 - 2 - 3 along b with a force on node 2: `own` along the glide direction of its plane, `other` along that of
 * the second. angle: degrees between its arms and b in the first plane. */
static void make_screw(dd_network *network, const double middle[3], const crystal *c, double own, double other,
                       double angle, int constraint)
{
    const double bow = 10.0 * tan(angle * acos(-1.0) / 180.0);

    dd_network_init(network);
    put(network, 1, middle, c, -10.0, 0.0, constraint);
    put(network, 2, middle, c, 0.0, bow, DD_FREE);
    put(network, 3, middle, c, 10.0, 0.0, constraint);
    dd_test_join(network, 1, 2, c->b, c->plane[0]);
    dd_test_join(network, 2, 3, c->b, c->plane[0]);
    for (int a = 0; a < 2; a++) {
        dd_arm *arm = &dd_test_find(network, 2)->arm[a];
        for (int k = 0; k < 3; k++) {
            arm->force[k] = 0.5 * (own * c->glide[0][k] + other * c->glide[1][k]);
        }
    }
}

/* Ends freed for an operation are pinned again. */
static void assert_valid(dd_network *network, const double box[3])
{
    dd_test_find(network, 1)->constraint = dd_test_find(network, 3)->constraint = DD_PINNED;
    dd_test_valid(network, box);
}

/* Component along one of two glide directions of a force along both. */
static double share(const crystal *c, int i, double own, double other)
{
    return fabs(i == 0 ? own + other * dd_v3_dot(c->glide[0], c->glide[1])
                       : other + own * dd_v3_dot(c->glide[0], c->glide[1]));
}

static const double origin[3] = {0, 0, 0}, at_face[3] = {49, 49.5, 49.9};

TEST(screws_slip_into_the_plane_of_more_force)
{
    for (int kind = DD_FCC; kind <= DD_BCC; kind++) {
        const crystal c = crystal_of((dd_crystal)kind);
        for (int variant = 0; variant < 8; variant++) {
            const double sign = variant & 1 ? -1.0 : 1.0, area_min = 0.5;
            const double *box = variant & 2 ? cube : free_box, angle = variant & 4 ? 0.9 * c.limit : 0.0;
            const int constraint = variant & 4 ? DD_FREE : DD_PINNED;
            FREED_BY(dd_network_free) dd_network network;
            make_screw(&network, variant & 2 ? at_face : origin, &c, 0, sign * 20, angle, constraint);
            dd_serial serial = serial_of(&network, box, &c, area_min);
            assert_int_equal(dd_serial_pass(&serial, DD_SLIP, &mover), 1);
            assert_valid(&network, box);
            const dd_node *node = dd_test_find(&network, 2);
            double to[2][3], cross[3], size;
            for (int a = 0; a < 2; a++) {
                dd_v3_minus(dd_test_find(&network, node->arm[a].tag)->x, node->x, to[a]);
                for (int k = 0; k < 3; k++) {
                    to[a][k] -= box[k] > 0 ? box[k] * rint(to[a][k] / box[k]) : 0.0;
                }
                /* Line and Burgers vector lie in the new plane. */
                assert_true(fabs(fabs(dd_v3_dot(node->arm[a].normal, c.plane[1])) - 1.0) < 1e-12);
                assert_true(fabs(dd_v3_dot(node->arm[a].normal, to[a])) < 1e-9);
                assert_memory_equal(dd_node_find_arm(dd_test_find(&network, node->arm[a].tag), 2)->normal,
                                    node->arm[a].normal, sizeof to[a]);
            }
            dd_v3_cross(to[0], to[1], cross);
            size = 0.5 * dd_v3_length(cross);
            assert_true(size > area_min && size < 1.00001 * area_min);
            /* The node moved along the force, and the force did work: b.A against force times displacement. */
            const double *force = c.glide[1];
            double middle[3];
            dd_v3_along(to[0], 1.0, to[1], middle);
            assert_true(dd_v3_dot(middle, force) * sign < 0);
            if (angle == 0.0) { /* ends stay: the swept area is the nucleus, b (x) A in the new plane */
                double normal[3] = {0}, trace = 0;
                for (int k = 0; k < 9; k++) {
                    normal[k % 3] += serial.area[k] * c.b[k / 3];
                    trace += k % 4 == 0 ? serial.area[k] : 0.0;
                }
                assert_true(fabs(dd_v3_length(normal) - size) < 1e-9);
                assert_true(fabs(fabs(dd_v3_dot(normal, c.plane[1])) - size) < 1e-9);
                assert_true(fabs(trace) < 1e-12); /* glide keeps the volume */
                double way[3], swept[3], line[3];
                dd_v3_copy(way, force);
                dd_v3_copy(line, c.b);
                dd_v3_cross(line, way, swept); /* (line) x (way), as in dd_swept_area() */
                assert_true(sign * dd_v3_dot(normal, swept) > 0);
            }
            /* A second pass does nothing, and coarsening keeps the result. */
            assert_int_equal(dd_serial_pass(&serial, DD_SLIP, &mover), 0);
            assert_int_equal(dd_serial_pass(&serial, DD_COARSEN, NULL), 0);
        }
    }
}

static int64_t slips(dd_network *network, const crystal *c, double area_min)
{
    FREED_BY(dd_network_free) dd_network before;
    dd_test_copy(&before, network);
    dd_serial serial = serial_of(network, free_box, c, area_min);

    const int64_t done = dd_serial_pass(&serial, DD_SLIP, &mover);
    if (done == 0) { /* nothing has changed */
        for (int64_t i = 0; i < before.n; i++) {
            const dd_node *now = dd_test_find(network, before.node[i].tag);
            assert_memory_equal(now->x, before.node[i].x, sizeof now->x);
            assert_memory_equal(now->arm, before.node[i].arm, (size_t)now->narms * sizeof *now->arm);
        }
    }
    dd_network_free(network);
    return done;
}

TEST(others_stay)
{
    for (int kind = DD_FCC; kind <= DD_BCC; kind++) {
        const crystal c = crystal_of((dd_crystal)kind);
        dd_network network;
        make_screw(&network, origin, &c, 0, 20, 0, DD_PINNED);
        assert_int_equal(slips(&network, &c, 0.5), 1);
        /* The own plane has the larger force. */
        make_screw(&network, origin, &c, 20, 0, 0, DD_PINNED);
        assert_int_equal(slips(&network, &c, 0.5), 0);
        /* Slightly more force: the threshold is 1e-4 mu b times half the length, 1. */
        for (int i = 0; i < 2; i++) {
            double own = 0, other = 0;
            const double wanted = i == 0 ? 0.99 : 1.01;
            while (share(&c, 1, own, other) - share(&c, 0, own, other) < wanted) {
                other += 0.001;
            }
            make_screw(&network, origin, &c, own, other, 0, DD_PINNED);
            assert_int_equal(slips(&network, &c, 1e-3), i);
        }
        /* Too far from screw orientation. */
        make_screw(&network, origin, &c, 0, 20, 2.1 * c.limit, DD_FREE);
        assert_int_equal(slips(&network, &c, 0.5), 0);
        /* Not straight, and both ends pinned. */
        make_screw(&network, origin, &c, 0, 20, 0.5 * c.limit, DD_PINNED);
        dd_v3_along(dd_test_find(&network, 3)->x, 0.01, c.glide[0], dd_test_find(&network, 3)->x);
        assert_int_equal(slips(&network, &c, 0.5), 0);
        make_screw(&network, origin, &c, 0, 20, 0.5 * c.limit, DD_PINNED);
        dd_v3_along(dd_test_find(&network, 3)->x, 0.01, c.glide[0], dd_test_find(&network, 3)->x);
        dd_test_find(&network, 3)->constraint = DD_FREE;
        assert_int_equal(slips(&network, &c, 0.5), 1);
        /* Wrong crystal, pinned, no plane. */
        crystal another = crystal_of(kind == DD_FCC ? DD_BCC : DD_FCC), none = c;
        make_screw(&network, origin, &c, 0, 20, 0, DD_PINNED);
        assert_int_equal(slips(&network, &another, 0.5), 0);
        none.kind = DD_NO_CRYSTAL;
        make_screw(&network, origin, &c, 0, 20, 0, DD_PINNED);
        assert_int_equal(slips(&network, &none, 0.5), 0);
        make_screw(&network, origin, &c, 0, 20, 0, DD_PINNED);
        dd_test_find(&network, 2)->constraint = DD_PINNED_X;
        assert_int_equal(slips(&network, &c, 0.5), 0);
        make_screw(&network, origin, &c, 0, 20, 0, DD_PINNED);
        memset(dd_test_find(&network, 2)->arm[1].normal, 0, sizeof origin);
        assert_int_equal(slips(&network, &c, 0.5), 0);
        /* Line tension would pull a large nucleus back. */
        make_screw(&network, origin, &c, 0, 20, 0, DD_PINNED);
        assert_int_equal(slips(&network, &c, 20), 0);
    }
}

/* One arm in each plane: the screw arm follows the other if its force is larger there. */
TEST(screws_follow_their_neighbour)
{
    for (int kind = DD_FCC; kind <= DD_BCC; kind++) {
        const crystal c = crystal_of((dd_crystal)kind);
        for (int arm = 0; arm < 2; arm++) {
            for (int wants = 0; wants < 2; wants++) {
                FREED_BY(dd_network_free) dd_network network;
                make_screw(&network, origin, &c, 0, 20, 0, DD_FREE);
                dd_node *node = dd_test_find(&network, 2);
                const dd_tag other = node->arm[1 - arm].tag, end = node->arm[arm].tag;
                double before[3];
                /* The other arm lies in the second plane; the screw arm's end is slightly off the line. */
                dd_v3_copy(node->arm[1 - arm].normal, c.plane[1]);
                dd_v3_copy(dd_test_find(&network, other)->arm[0].normal, c.plane[1]);
                dd_v3_along(dd_test_find(&network, end)->x, 0.02, c.glide[0], dd_test_find(&network, end)->x);
                dd_v3_copy(before, node->x);
                if (!wants) { /* the force on the arm's other end pulls into its own plane */
                    dd_v3_along(origin, 60, c.glide[0], dd_test_find(&network, end)->arm[0].force);
                }
                dd_serial serial = serial_of(&network, free_box, &c, 0.5);
                assert_int_equal(dd_serial_pass(&serial, DD_SLIP, &mover), wants);
                node = dd_test_find(&network, 2);
                assert_memory_equal(node->x, before, sizeof before);
                double way[3], cross[3];
                dd_v3_minus(dd_test_find(&network, end)->x, node->x, way);
                dd_v3_cross(way, c.b, cross);
                assert_true((dd_v3_length(cross) < 1e-9) == (wants != 0));
                const double in_new = fabs(dd_v3_dot(dd_node_find_arm(node, end)->normal, c.plane[1]));
                assert_true((in_new > 1 - 1e-12) == (wants != 0));
                assert_valid(&network, free_box);
            }
        }
    }
}

/* A neighbor held by another plane stays, and the other one moves. */
TEST(neighbours_go_in_their_plane_only)
{
    for (int kind = DD_FCC; kind <= DD_BCC; kind++) {
        const crystal c = crystal_of((dd_crystal)kind);
        for (int held = 0; held < 3; held++) { /* 2: both */
            FREED_BY(dd_network_free) dd_network network;
            double far[3], x[2][3];
            make_screw(&network, origin, &c, 0, 20, 0.0, DD_FREE);
            for (int e = 0; e < 2; e++) {
                const dd_tag end = e == 0 ? 1 : 3, more = e == 0 ? 4 : 5;
                dd_v3_along(origin, e == 0 ? -20 : 20, c.b, far);
                dd_v3_along(far, 3, c.glide[held == e || held == 2], far);
                dd_test_node(&network, more, far[0], far[1], far[2], DD_PINNED);
                dd_test_join(&network, e == 0 ? more : end, e == 0 ? end : more, c.b, c.plane[held == e || held == 2]);
                dd_v3_along(dd_test_find(&network, end)->x, e == 0 ? 0.01 : -0.01, c.glide[0],
                            dd_test_find(&network, end)->x);
                dd_v3_copy(x[e], dd_test_find(&network, end)->x);
            }
            dd_serial serial = serial_of(&network, free_box, &c, 0.5);
            const dd_node *node = dd_test_find(&network, 2);
            double to1[3], to2[3];
            dd_v3_minus(dd_test_find(&network, node->arm[0].tag)->x, node->x, to1);
            dd_v3_minus(dd_test_find(&network, node->arm[1].tag)->x, node->x, to2);
            assert_true(dd_wants_cross_slip(c.kind, medium.mu, node, to1, to2));
            assert_int_equal(dd_serial_pass(&serial, DD_SLIP, &mover), held < 2);
            assert_true((memcmp(dd_test_find(&network, 1)->x, x[0], sizeof x[0]) == 0) == (held != 1));
            assert_true((memcmp(dd_test_find(&network, 3)->x, x[1], sizeof x[1]) == 0) == (held != 0));
            dd_test_valid(&network, free_box);
        }
    }
}

TEST(failing_allocations_are_reported)
{
    const crystal c = crystal_of(DD_FCC);
    FREED_BY(dd_network_free) dd_network network;

    make_screw(&network, origin, &c, 0, 20, 0, DD_PINNED);
    const dd_serial serial = serial_of(&network, free_box, &c, 0.5);
    dd_test_without_memory(&serial, DD_SLIP, &mover, (dd_tag[4]){2, 1, 3});
}
