/* SPDX-License-Identifier: BSD-3-Clause */
/* Screws, and only screws, slip into the plane with the larger force. */
#include "dd_networks.h"
#include "unit.h"

/* A slip system and a second plane of the same Burgers vector. glide: in each plane, across b. */
typedef struct crystal {
    dd_crystal kind;
    double b[3], plane[2][3], glide[2][3];
    double limit; /* degrees between a segment and b */
} crystal;

static crystal crystal_of(dd_crystal kind)
{
    crystal c = kind == DD_FCC ? (crystal){DD_FCC, {1, 1, 0}, {{1, -1, 1}, {1, -1, -1}}, {{0}}, 2.0}
                               : (crystal){DD_BCC, {1, 1, 1}, {{1, -1, 0}, {0, 1, -1}}, {{0}}, 0.5};

    dd__unit(c.b, c.b);
    for (int i = 0; i < 2; i++) {
        dd__unit(c.plane[i], c.plane[i]);
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

static dd_rules rules_of(const crystal *c, double area_min)
{
    return (dd_rules){.max_seg = 30, .min_seg = 4, .r_tol = 0.5, .area_min = area_min, .cross_slip = c->kind};
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
    dd_test_node(network, tag, x, constraint);
}

/* Nodes 1 - 2 - 3 along b with a force on node 2: `own` along the glide direction of its plane, `other` along that of
 * the second. angle: degrees between its arms and b in the first plane. */
static dd_network make_screw(const double middle[3], const crystal *c, double own, double other, double angle,
                             int constraint)
{
    dd_network network;

    dd_network_init(&network);
    put(&network, 1, middle, c, -10.0, 0.0, constraint);
    put(&network, 2, middle, c, 0.0, 10.0 * tan(angle * acos(-1.0) / 180.0), DD_FREE);
    put(&network, 3, middle, c, 10.0, 0.0, constraint);
    dd_test_join(&network, 1, 2, c->b, c->plane[0]);
    dd_test_join(&network, 2, 3, c->b, c->plane[0]);
    for (int a = 0; a < 2; a++) {
        double *force = dd_test_find(&network, 2)->arm[a].force;
        dd_v3_along(force, 0.5 * own, c->glide[0], force);
        dd_v3_along(force, 0.5 * other, c->glide[1], force);
    }
    return network;
}

static void shift(const dd_network *network, dd_tag tag, double by, const crystal *c)
{
    dd_node *node = dd_test_find(network, tag);

    dd_v3_along(node->x, by, c->glide[0], node->x);
}

/* Ends freed for an operation are pinned again. */
static void assert_valid(const dd_network *network, const double box[3])
{
    dd_test_find(network, 1)->constraint = dd_test_find(network, 3)->constraint = DD_PINNED;
    dd_test_valid(network, box);
}

/* A sum of b A is the nucleus: of that size, in the plane, without a change of volume, and the force did work. */
static void check_area(const double area[9], const crystal *c, double size, double sign)
{
    double normal[3] = {0}, swept[3];

    for (int k = 0; k < 9; k++) {
        normal[k % 3] += area[k] * c->b[k / 3];
    }
    assert_near(dd_v3_length(normal), size, 1e-9);
    assert_near(fabs(dd_v3_dot(normal, c->plane[1])), size, 1e-9);
    assert_near(area[0] + area[4] + area[8], 0, 1e-12);
    dd_v3_cross(c->b, c->glide[1], swept); /* (line) x (way), as in dd_strain_sweep() */
    assert_true(sign * dd_v3_dot(normal, swept) > 0);
}

TEST(screws_slip_into_the_plane_of_more_force)
{
    static const double at_face[3] = {49, 49.5, 49.9};

    for (int variant = 0; variant < 16; variant++) {
        const crystal c = crystal_of(variant & 8 ? DD_BCC : DD_FCC);
        const double sign = variant & 1 ? -1.0 : 1.0, *box = variant & 2 ? cube : free_box, area_min = 0.5,
                     angle = variant & 4 ? 0.9 * c.limit : 0.0;
        FREED_BY(dd_network_free) dd_network network;
        network =
            make_screw(variant & 2 ? at_face : origin, &c, 0, sign * 20, angle, variant & 4 ? DD_FREE : DD_PINNED);
        dd_serial serial = dd_test_serial(&network, box, rules_of(&c, area_min));
        assert_int_equal(dd_serial_pass(&serial, DD_SLIP, &mover), 1);
        assert_valid(&network, box);
        const dd_node *node = dd_test_find(&network, 2);
        double to[2][3], cross[3], middle[3];
        for (int a = 0; a < 2; a++) {
            const dd_arm *arm = &node->arm[a];
            dd_test_offset(node->x, dd_test_find(&network, arm->tag)->x, box, to[a]);
            /* Line and Burgers vector lie in the new plane. */
            assert_near(fabs(dd_v3_dot(arm->normal, c.plane[1])), 1.0, 1e-12);
            assert_near(dd_v3_dot(arm->normal, to[a]), 0, 1e-9);
        }
        dd_v3_cross(to[0], to[1], cross);
        const double size = 0.5 * dd_v3_length(cross);
        assert_true(size > area_min && size < 1.00001 * area_min);
        dd_v3_along(to[0], 1.0, to[1], middle);
        assert_true(dd_v3_dot(middle, c.glide[1]) * sign < 0); /* the node moved along the force */
        if (angle == 0.0) {                                    /* ends stay */
            check_area(serial.area, &c, size, sign);
        }
        /* A second pass does nothing, and coarsening keeps the result. */
        assert_int_equal(dd_serial_pass(&serial, DD_SLIP, &mover), 0);
        assert_int_equal(dd_serial_pass(&serial, DD_COARSEN, NULL), 0);
    }
}

TEST(others_stay)
{
    enum { AS_IT_IS, BENT, BENT_AND_FREE, HALF_PINNED, NO_PLANE };
    static const struct {
        double own, other, angle, area_min; /* angle: in units of the limit */
        int constraint, change;
        dd_crystal of[2]; /* the rules' crystal for FCC and BCC */
        bool slips;
    } cases[] = {
        {0, 20, 0, 0.5, DD_PINNED, AS_IT_IS, {DD_FCC, DD_BCC}, true},
        {20, 0, 0, 0.5, DD_PINNED, AS_IT_IS, {DD_FCC, DD_BCC}, false}, /* its own plane has the larger force */
        {0, 20, 2.1, 0.5, DD_FREE, AS_IT_IS, {DD_FCC, DD_BCC}, false}, /* too far from screw orientation */
        {0, 20, 0.5, 0.5, DD_PINNED, BENT, {DD_FCC, DD_BCC}, false},
        {0, 20, 0.5, 0.5, DD_PINNED, BENT_AND_FREE, {DD_FCC, DD_BCC}, true},
        {0, 20, 0, 0.5, DD_PINNED, AS_IT_IS, {DD_BCC, DD_FCC}, false},
        {0, 20, 0, 0.5, DD_PINNED, AS_IT_IS, {DD_NO_CRYSTAL, DD_NO_CRYSTAL}, false},
        {0, 20, 0, 0.5, DD_PINNED, HALF_PINNED, {DD_FCC, DD_BCC}, false},
        {0, 20, 0, 0.5, DD_PINNED, NO_PLANE, {DD_FCC, DD_BCC}, false},
        {0, 20, 0, 20, DD_PINNED, AS_IT_IS, {DD_FCC, DD_BCC}, false}, /* line tension would pull it back */
    };

    for (int i = 0; i < 2 * COUNT_OF(cases); i++) {
        const crystal c = crystal_of(i % 2 == 0 ? DD_FCC : DD_BCC);
        const int k = i / 2, change = cases[k].change;
        dd_rules rules = rules_of(&c, cases[k].area_min);
        FREED_BY(dd_network_free) dd_network network;
        network = make_screw(origin, &c, cases[k].own, cases[k].other, cases[k].angle * c.limit, cases[k].constraint);
        rules.cross_slip = cases[k].of[i % 2];
        shift(&network, 3, change == BENT || change == BENT_AND_FREE ? 0.01 : 0, &c);
        dd_test_find(&network, 3)->constraint = change == BENT_AND_FREE ? DD_FREE : cases[k].constraint;
        dd_test_find(&network, 2)->constraint = change == HALF_PINNED ? DD_PINNED_X : DD_FREE;
        if (change == NO_PLANE) {
            dd_test_plane(&network, 2, 3, origin);
        }
        assert_int_equal(dd_test_pass(&network, free_box, rules, DD_SLIP, &mover), cases[k].slips);
    }
}

/* The threshold is 1e-4 mu b times half the length, 1. */
TEST(slightly_more_force_is_not_enough)
{
    for (int i = 0; i < 4; i++) {
        const crystal c = crystal_of(i < 2 ? DD_FCC : DD_BCC);
        /* Of a force f along the second glide direction f |cos| acts along the first one. */
        const double force = (i % 2 == 0 ? 0.99 : 1.01) / (1 - fabs(dd_v3_dot(c.glide[0], c.glide[1])));
        FREED_BY(dd_network_free) dd_network network = make_screw(origin, &c, 0, force, 0, DD_PINNED);
        assert_int_equal(dd_test_pass(&network, free_box, rules_of(&c, 1e-3), DD_SLIP, &mover), i % 2);
    }
}

/* One arm in each plane: the screw arm follows the other if its force is larger there. */
TEST(screws_follow_their_neighbour)
{
    for (int i = 0; i < 8; i++) {
        const crystal c = crystal_of(i & 4 ? DD_BCC : DD_FCC);
        const int arm = i & 1, wants = i >> 1 & 1;
        FREED_BY(dd_network_free) dd_network network = make_screw(origin, &c, 0, 20, 0, DD_FREE);
        dd_node *node = dd_test_find(&network, 2);
        const dd_tag end = node->arm[arm].tag;
        double before[3], way[3], cross[3];
        /* The other arm lies in the second plane; the screw arm's end is slightly off the line. */
        dd_test_plane(&network, 2, node->arm[1 - arm].tag, c.plane[1]);
        shift(&network, end, 0.02, &c);
        dd_v3_copy(before, node->x);
        if (!wants) { /* the force on the arm's other end pulls into its own plane */
            dd_v3_along(origin, 60, c.glide[0], dd_test_find(&network, end)->arm[0].force);
        }
        assert_int_equal(dd_test_pass(&network, free_box, rules_of(&c, 0.5), DD_SLIP, &mover), wants);
        node = dd_test_find(&network, 2);
        assert_memory_equal(node->x, before, sizeof before);
        dd_v3_minus(dd_test_find(&network, end)->x, node->x, way);
        dd_v3_cross(way, c.b, cross);
        assert_true((dd_v3_length(cross) < 1e-9) == (wants != 0));
        const double in_new = fabs(dd_v3_dot(dd_node_find_arm(node, end)->normal, c.plane[1]));
        assert_true((in_new > 1 - 1e-12) == (wants != 0));
        assert_valid(&network, free_box);
    }
}

/* A neighbor held by another plane stays, and the other one moves; where both are held, the node stays. */
TEST(neighbours_go_in_their_plane_only)
{
    for (int i = 0; i < 6; i++) {
        const crystal c = crystal_of(i < 3 ? DD_FCC : DD_BCC);
        const int held = i % 3; /* 2: both */
        FREED_BY(dd_network_free) dd_network network = make_screw(origin, &c, 0, 20, 0.0, DD_FREE);
        double far[3], x[2][3], to[2][3];
        for (int e = 0; e < 2; e++) {
            const dd_tag end = e == 0 ? 1 : 3, more = e == 0 ? 4 : 5;
            const int plane = held == e || held == 2;
            dd_v3_along(origin, e == 0 ? -20 : 20, c.b, far);
            dd_v3_along(far, 3, c.glide[plane], far);
            dd_test_node(&network, more, far, DD_PINNED);
            dd_test_join(&network, e == 0 ? more : end, e == 0 ? end : more, c.b, c.plane[plane]);
            shift(&network, end, e == 0 ? 0.01 : -0.01, &c);
            dd_v3_copy(x[e], dd_test_find(&network, end)->x);
            dd_v3_minus(x[e], dd_test_find(&network, 2)->x, to[e]);
        }
        assert_true(dd_wants_cross_slip(c.kind, medium.mu, dd_test_find(&network, 2), to[0], to[1]));
        assert_int_equal(dd_test_pass(&network, free_box, rules_of(&c, 0.5), DD_SLIP, &mover), held < 2);
        for (int e = 0; e < 2; e++) {
            const dd_node *end = dd_test_find(&network, e == 0 ? 1 : 3);
            assert_true((memcmp(end->x, x[e], sizeof x[e]) == 0) == (held != 1 - e));
        }
    }
}
