/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <equipoise/error.h>

#include "dd_valid.h"

#include "motion/mobility.h"
#include "network/vector.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A node whose arms are this test's own. */
typedef struct star {
    dd_node node;
    dd_arm arm[6];
    double to[6][3];
} star;

static void add(star *s, const double to[3], const double burgers[3], const double normal[3])
{
    dd_arm *arm = &s->arm[s->node.narms];

    memset(arm, 0, sizeof *arm);
    memcpy(s->to[s->node.narms], to, sizeof s->to[0]);
    memcpy(arm->burgers, burgers, sizeof arm->burgers);
    if (normal != NULL) {
        memcpy(arm->normal, normal, sizeof arm->normal);
    }
    s->node.narms++;
}

static void move(const dd_mobility *mobility, const star *s, const double force[3], double v[3])
{
    dd_node node = s->node;

    node.arm = (dd_arm *)s->arm; /* of the copy that this is */
    v[0] = v[1] = v[2] = 99.0;
    dd_mobility_velocity(mobility, &node, s->to, force, v);
}

static void is_to(double by, const double v[3], double x, double y, double z)
{
    const double want[3] = {x, y, z};

    for (int i = 0; i < 3; i++) {
        assert_near(v[i], want[i], by * (1.0 + fabs(want[i])));
    }
}

static void is(const double v[3], double x, double y, double z)
{
    is_to(1e-12, v, x, y, z);
}

/* Orthonormal directions of a crystal that a test thinks in. */
typedef struct frame {
    double e[3][3];
} frame;

static frame frame_of(const double first[3], const double second[3])
{
    frame f;

    for (int i = 0; i < 3; i++) {
        f.e[0][i] = first[i] / sqrt(dd_v3_dot(first, first));
        f.e[1][i] = second[i] / sqrt(dd_v3_dot(second, second));
    }
    dd_v3_cross(f.e[0], f.e[1], f.e[2]);
    return f;
}

/* x e0 + y e1 + z e2. */
static const double *in(const frame *f, double x, double y, double z, double out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = x * f->e[0][i] + y * f->e[1][i] + z * f->e[2][i];
    }
    return out;
}

/* Velocity in the frame under the force F in it. */
static void move_in(const dd_mobility *mobility, const star *s, const frame *f, double w[3])
{
    double force[3], v[3];

    move(mobility, s, in(f, 3, 5, 7, force), v);
    for (int i = 0; i < 3; i++) {
        w[i] = dd_v3_dot(v, f->e[i]);
    }
}

/* A node of narms arms of 10 b, in turn along t and -t. */
static star straight(int narms, const double t[3], const double burgers[3], const double normal[3])
{
    star s = {0};

    for (int k = 0; k < narms; k++) {
        const double sign = k % 2 == 0 ? 10 : -10;
        const double to[3] = {sign * t[0], sign * t[1], sign * t[2]};
        add(&s, to, burgers, normal);
    }
    return s;
}

static const dd_mobility fcc = {.law = DD_FCC_0, .edge = 4.0, .screw = 2.0, .climb = 1.0};
static const dd_mobility bcc = {.law = DD_BCC_0, .edge = 4.0, .screw = 2.0, .climb = 0.5};
static const double X[3] = {1, 0, 0}, Y[3] = {0, 1, 0}, Z[3] = {0, 0, 1}, F[3] = {3, 5, 7};

/* Tantalum with numbers that are easy on a hand: b 1e-9 m, so that 1e9 b/s are 1 m/s and 1e6 Pa b^2 are 1 MPa. */
static const dd_mobility ta = {.law = DD_BCC_TA,
                               .ta_fit = {{1000, 0.5, 2}, {2000, 0.25, 1}, {4000, 1, 3}},
                               .ta_edge = {1e-3, 2e-3},
                               .ta_screw = {0.1, 0.2, 0.4},
                               .ta_line = 1e-2,
                               .ta_climb_edge = 50,
                               .ta_climb_screw = 5,
                               .burgers = 1e-9};

static void names(void **state)
{
    static const char listed[] = DD_MOBILITY_NAMES;
    dd_mobility_law law = DD_BCC_0, other;
    int n = 0;

    (void)state;
    for (const char *at = listed; *at != '\0'; at += 1 + strcspn(at + 1, "|"), n++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, "|"), at + 1);
        assert_int_equal(dd_mobility_find(name, &law), EQP_OK);
        assert_int_equal(law, n);
        for (char *c = name; *c != '\0'; c++) {
            *c = (char)toupper(*c);
        }
        assert_int_equal(dd_mobility_find(name, &other), EQP_OK);
        assert_int_equal(other, n);
    }
    assert_int_equal(n, DD_MOBILITY_NLAWS);
    assert_int_equal(dd_mobility_find("FCC", &law), EQP_ERR_UNKNOWN);
    assert_int_equal(law, n - 1);
}

static void parameters(void **state)
{
    dd_mobility hcp = {.law = DD_HCP_LINEAR, .hcp_climb = 1, .hcp_line = 1, .c_over_a = 1.6};

    (void)state;
    assert_null(dd_mobility_lacks(&fcc));
    assert_null(dd_mobility_lacks(&(dd_mobility){.law = DD_FCC_0, .edge = 1, .screw = 1}));
    assert_null(dd_mobility_lacks(&(dd_mobility){.law = DD_FCC_CLIMB, .edge = 1, .screw = 1}));
    assert_null(dd_mobility_lacks(&(dd_mobility){.law = DD_RELAX}));
    assert_string_equal(dd_mobility_lacks(&(dd_mobility){.law = DD_FCC_0, .edge = 1}), "MobScrew");
    assert_string_equal(dd_mobility_lacks(&(dd_mobility){.law = DD_BCC_0, .edge = 1, .screw = 1}), "MobClimb");
    assert_string_equal(dd_mobility_lacks(&(dd_mobility){.law = DD_FCC_LINEAR, .edge = 1, .screw = 1}), "MobClimb");
    assert_string_equal(dd_mobility_lacks(&(dd_mobility){.law = DD_FCC_0, .edge = NAN, .screw = 1}), "MobEdge");
    assert_string_equal(dd_mobility_lacks(&hcp), "HCP_A_Basal_EdgeDrag");
    for (int i = 0; i < DD_HCP_SYSTEMS; i++) {
        hcp.hcp_edge[i] = hcp.hcp_screw[i] = 1;
    }
    assert_null(dd_mobility_lacks(&hcp));
    dd_mobility lacking = {.law = DD_BCC_TA_LINEAR};
    assert_string_equal(dd_mobility_lacks(&lacking), "TaDragEdge110");
    lacking = ta;
    assert_null(dd_mobility_lacks(&lacking));
    lacking.ta_fit[DD_TA_112T].alpha = 0;
    assert_string_equal(dd_mobility_lacks(&lacking), "TaDragParam112Talpha");
    hcp.c_over_a = 1;
    assert_string_equal(dd_mobility_lacks(&hcp), "cOVERa");
}

/* Both arms along x, lengths 10 and 30, plane z: v = F M / (1/2 40) in the plane. */
static void fcc_straight(void **state)
{
    const double left[3] = {-10, 0, 0}, right[3] = {30, 0, 0}, mixed[3] = {0.6, 0.8, 0};
    const double *burgers[3] = {Y, X, mixed}, mobility[3] = {4.0, 2.0, 4.0 - 2.0 * 0.6};
    double v[3];

    (void)state;
    for (int k = 0; k < 3; k++) {
        star s = {0};
        add(&s, left, burgers[k], Z);
        add(&s, right, burgers[k], Z);
        move(&fcc, &s, F, v);
        is(v, 3.0 * mobility[k] / 20.0, 5.0 * mobility[k] / 20.0, 0.0);
    }
    /* The length of the Burgers vector says nothing about its direction. */
    star s = {0};
    const double twice[3] = {2, 0, 0};
    add(&s, left, twice, Z);
    add(&s, right, twice, Z);
    move(&fcc, &s, F, v);
    is(v, 3.0 * 2.0 / 20.0, 5.0 * 2.0 / 20.0, 0.0);
}

static void fcc_planes(void **state)
{
    const double r = sqrt(0.5), tilted[3] = {0, r, r}, nearly[3] = {1e-4, 0, 1}, left[3] = {-10, 0, 0},
                 right[3] = {10, 0, 0};
    double v[3];

    (void)state;
    star two = {0};
    add(&two, left, X, Z);
    add(&two, right, X, tilted);
    move(&fcc, &two, F, v);
    is(v, 3.0 * 2.0 / 10.0, 0.0, 0.0);
    star same = {0};
    add(&same, left, X, Z);
    add(&same, right, X, nearly);
    move(&fcc, &same, F, v);
    is(v, 3.0 * 2.0 / 10.0, 5.0 * 2.0 / 10.0, 0.0);
    star none = {0};
    add(&none, left, X, NULL);
    add(&none, right, X, NULL);
    move(&fcc, &none, F, v);
    is(v, 3.0 * 2.0 / 10.0, 5.0 * 2.0 / 10.0, 7.0 * 2.0 / 10.0);
    star three = {0};
    add(&three, left, X, Z);
    add(&three, right, X, tilted);
    add(&three, Y, X, X);
    move(&fcc, &three, F, v);
    is(v, 0.0, 0.0, 0.0);
    /* Three planes of one zone leave its axis. */
    star zone = {0};
    add(&zone, left, X, Z);
    add(&zone, right, X, tilted);
    add(&zone, Z, X, Y);
    move(&fcc, &zone, F, v);
    assert_true(v[0] > 0.0);
    is(v, v[0], 0.0, 0.0);
}

static void arms_without_length(void **state)
{
    const double nothing[3] = {0, 0, 0}, left[3] = {-10, 0, 0}, right[3] = {10, 0, 0};
    const dd_mobility *laws[2] = {&fcc, &bcc};
    double v[3], w[3];

    (void)state;
    for (int k = 0; k < 2; k++) {
        star s = {0}, t = {0}, empty = {0}, degenerate = {0};
        add(&s, left, X, Z);
        add(&s, right, X, Z);
        add(&t, left, X, Z);
        add(&t, nothing, Y, X);
        add(&t, right, X, Z);
        move(laws[k], &s, F, v);
        move(laws[k], &t, F, w);
        is(w, v[0], v[1], v[2]);
        move(laws[k], &empty, F, v);
        is(v, 0, 0, 0);
        add(&degenerate, nothing, X, Z);
        move(laws[k], &degenerate, F, v);
        is(v, 0, 0, 0);
    }
}

static void pinned_directions(void **state)
{
    const double r = sqrt(0.5), tilted[3] = {r, -r, 0}, left[3] = {-10, -10, 0}, right[3] = {10, 10, 3};
    const dd_mobility *laws[2] = {&fcc, &bcc};
    double v[3];

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int constraint = 0; constraint < 16; constraint++) {
            star s = {0};
            double power = 0.0;
            s.node.constraint = constraint;
            add(&s, left, Z, tilted);
            add(&s, right, Z, tilted);
            move(laws[k], &s, F, v);
            for (int i = 0; i < 3; i++) {
                if ((constraint & (1 << i | DD_SURFACE)) != 0) {
                    assert_true(v[i] == 0.0);
                }
                power += v[i] * F[i];
            }
            assert_true(power >= 0.0);
            /* In its plane, x and y go together. */
            assert_true((power > 0.0) == (constraint < (laws[k] == &fcc ? 5 : 7)));
            if (laws[k] == &fcc) {
                /* A pinned direction does not push the node off its plane. */
                assert_near(v[0] - v[1], 0.0, 1e-12);
            }
        }
    }
}

/* Of [111] an edge along [1-10] glides along b and climbs along [11-2]; a screw moves alike in all directions. Half
 * lengths sum to 10; along the line the drag is a hundredth of the smaller. */
static void bcc_straight(void **state)
{
    const frame f = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    double w[3], off[3];

    (void)state;
    const star edge = straight(2, f.e[1], f.e[0], NULL), screw = straight(2, f.e[0], f.e[0], NULL);
    move_in(&bcc, &edge, &f, w);
    is(w, 3 * 4.0 / 10, 5 * 400.0 / 10, 7 * 0.5 / 10);
    move_in(&bcc, &screw, &f, w);
    is(w, 3 * 400.0 / 10, 5 * 2.0 / 10, 7 * 2.0 / 10);
    /* And goes over into it without a jump. */
    const star nearly = straight(2, f.e[0], in(&f, 1, 1e-5, 0, off), NULL);
    move_in(&bcc, &nearly, &f, w);
    assert_near(w[1], 5 * 2.0 / 10, 1e-6);
    assert_near(w[2], 7 * 2.0 / 10, 1e-6);
}

/* The mixed segment's coefficients, by hand: t at 30 degrees from b. */
static void bcc_mixed(void **state)
{
    const frame b = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const double glide = 1.0 / sqrt(16.0 * 0.25 + 4.0 * 0.75), climb = sqrt(4.0 * 0.25 + 0.25 * 0.75);
    double t[3], across[3], w[3];

    (void)state;
    const frame f = frame_of(in(&b, sqrt(0.75), 0.5, 0, t), in(&b, -0.5, sqrt(0.75), 0, across));
    const star s = straight(2, f.e[0], b.e[0], NULL);
    move_in(&bcc, &s, &f, w);
    is(w, 3 * 400.0 / 10, 5 / (10 * glide), 7 / (10 * climb));
}

/* Arms of <100> and <110> climb in every direction; only along their line they are fast. */
static void bcc_junctions(void **state)
{
    const frame f = frame_of((double[]){0.6, 0.8, 0}, (double[]){-0.8, 0.6, 0});
    const double square[3] = {2 / sqrt(3), 0, 0}, diagonal[3] = {0, 1, -1};
    const double *burgers[2] = {square, diagonal};
    dd_mobility m = bcc;
    double w[3];

    (void)state;
    for (int k = 0; k < 2; k++) {
        const star two = straight(2, f.e[0], burgers[k], NULL), three = straight(3, f.e[0], burgers[k], NULL);
        m.law = DD_BCC_0;
        move_in(&m, &two, &f, w);
        is(w, 3 * 400.0 / 10, 5 * 0.5 / 10, 7 * 0.5 / 10);
        m.law = DD_BCC_0B;
        m.climb_junction = 0;
        move_in(&m, &two, &f, w);
        is(w, 3 * 0.5 / 10, 5 * 0.5 / 10, 7 * 0.5 / 10);
        move_in(&m, &three, &f, w);
        is(w, 3 * 400.0 / 15, 5 * 0.5 / 15, 7 * 0.5 / 15);
        m.climb_junction = 0.25;
        move_in(&m, &two, &f, w);
        is(w, 3 * 0.5 / 10, 5 * 0.5 / 10, 7 * 0.5 / 10);
        move_in(&m, &three, &f, w);
        is(w, 3 * 400.0 / 15, 5 * 0.25 / 15, 7 * 0.25 / 15);
        m.law = DD_BCC_GLIDE;
        move_in(&m, &two, &f, w);
        is(w, 0, 0, 0);
        move_in(&m, &three, &f, w);
        is(w, 3 * 400.0 / 15, 0, 0);
    }
    /* The climb of nodes of three arms is that of their edges, too. */
    const frame e = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const star edges = straight(3, e.e[1], e.e[0], NULL);
    m.law = DD_BCC_0B;
    move_in(&m, &edges, &e, w);
    is(w, 3 * 4.0 / 15, 5 * 400.0 / 15, 7 * 0.25 / 15);
}

/* In one plane as BCC_0 moves in it, in two along their common line, in three not at all. */
static void bcc_glide_planes(void **state)
{
    const dd_mobility m = {.law = DD_BCC_GLIDE, .edge = 4, .screw = 2};
    const frame f = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    double w[3];

    (void)state;
    star edge = straight(2, f.e[1], f.e[0], f.e[2]);
    move_in(&m, &edge, &f, w);
    is(w, 3 * 4.0 / 10, 5 * 400.0 / 10, 0);
    star screw = straight(2, f.e[0], f.e[0], f.e[2]);
    move_in(&m, &screw, &f, w);
    is(w, 3 * 400.0 / 10, 5 * 2.0 / 10, 0);
    memcpy(screw.arm[1].normal, f.e[1], sizeof f.e[1]);
    move_in(&m, &screw, &f, w);
    is(w, 3 * 400.0 / 10, 0, 0);
    memcpy(edge.arm[1].normal, f.e[1], sizeof f.e[1]);
    add(&edge, f.e[2], f.e[0], f.e[0]);
    move_in(&m, &edge, &f, w);
    is(w, 0, 0, 0);
}

/* b [1-10] in (111): an edge, a screw, and a line at 30 degrees from b, in the frame of b, n x b, n. */
static void fcc_laws(void **state)
{
    const frame f = frame_of((double[]){1, -1, 0}, (double[]){1, 1, -2});
    const double c = sqrt(0.75), s = 0.5, n[3] = {-f.e[2][0], -f.e[2][1], -f.e[2][2]};
    const double glide = 1 / sqrt(16 * s * s + 4 * c * c);
    dd_mobility m = {.law = DD_FCC_0B, .edge = 4, .screw = 2, .climb = 0.5};
    double t[3], w[3];

    (void)state;
    in(&f, c, s, 0, t);
    const star edge = straight(2, f.e[1], f.e[0], f.e[2]), screw = straight(2, f.e[0], f.e[0], n),
               mixed = straight(2, t, f.e[0], n);
    move_in(&m, &edge, &f, w);
    is(w, 3 * 4.0 / 10, 5 * 4.0 / 10, 0);
    move_in(&m, &screw, &f, w);
    is(w, 3 * 4.0 / 10, 5 * 2.0 / 10, 0);
    /* Along t 1/4, across it `glide`. */
    const double along = (3 * c + 5 * s) / (10 * 0.25), across = (5 * c - 3 * s) / (10 * glide);
    for (int k = 0; k < 2; k++) {
        m.law = k == 0 ? DD_FCC_0B : DD_FCC_CLIMB;
        move_in(&m, &mixed, &f, w);
        is(w, along * c - across * s, along * s + across * c, 0);
    }
    /* Screws have the drag of the line along b and of the screw across it, edges the other way round. */
    m.law = DD_FCC_LINEAR;
    const double line = 0.0025;
    move_in(&m, &edge, &f, w);
    is(w, 3 * 4.0 / 10, 5 / (10 * line), 0);
    move_in(&m, &screw, &f, w);
    is(w, 3 / (10 * line), 5 * 2.0 / 10, 0);
    move_in(&m, &mixed, &f, w);
    is(w, 3 / (10 * (c * line + s * 0.25)), 5 / (10 * (c * 0.5 + s * line)), 0);
}

/* Arms in (001), where nothing glides. */
static void fcc_junctions(void **state)
{
    const frame f = frame_of((double[]){1, 1, 0}, (double[]){1, -1, 0});
    dd_mobility m = {.law = DD_FCC_0B, .edge = 4, .screw = 2, .climb = 0.5};
    double w[3];

    (void)state;
    const star two = straight(2, f.e[0], f.e[1], Z), three = straight(3, f.e[0], f.e[1], Z);
    move_in(&m, &two, &f, w);
    is(w, 3 * 0.5 / 10, 5 * 0.5 / 10, 0);
    move_in(&m, &three, &f, w);
    is(w, 3 * 4.0 / 15, 5 * 0.5 / 15, 0);
    m.climb_junction = 0.25;
    move_in(&m, &two, &f, w);
    is(w, 3 * 0.5 / 10, 5 * 0.5 / 10, 0);
    move_in(&m, &three, &f, w);
    is(w, 3 * 4.0 / 15, 5 * 0.25 / 15, 0);
    m.law = DD_FCC_CLIMB;
    move_in(&m, &two, &f, w);
    is(w, 3 * 4e-4 / 10, 5 * 4e-4 / 10, 0);
    move_in(&m, &three, &f, w);
    is(w, 3 * 4.0 / 15, 5 * 4e-4 / 15, 0);
    /* By its plane, and by its Burgers vector. */
    m.law = DD_FCC_LINEAR;
    const star square = straight(3, f.e[0], X, Z);
    const star *both[2] = {&three, &square};
    for (int k = 0; k < 2; k++) {
        move_in(&m, both[k], &f, w);
        is(w, 3 * 400.0 / 15, 5 * 0.5 / 15, 0);
    }
}

/* A line [001] with b [1-10] halves the angle between the edges of (111) and (11-1), whose sum is 4 / sqrt(6) long:
 * each is p = 10 sqrt(6) / 4. With w = [110] / sqrt(2), the normals' dyads sum to 4/3 w w + 2/3 z z, those of the edges
 * to 2/3 w w + 4/3 z z. */
static void fcc_linear_between(void **state)
{
    const frame f = frame_of((double[]){1, -1, 0}, (double[]){1, 1, 0});
    const dd_mobility m = {.law = DD_FCC_LINEAR, .edge = 4, .screw = 2, .climb = 0.5};
    const double p = 10 * sqrt(6) / 4, line = 0.0025, climb = 2;
    double w[3];

    (void)state;
    const star s = straight(2, f.e[2], f.e[0], NULL);
    move_in(&m, &s, &f, w);
    is(w, 3 / (2 * p * 0.25), 5 / (p * (4 * climb + 2 * line) / 3), 7 / (p * (2 * climb + 4 * line) / 3));
}

/* b [111] in (1-10), and in (11-2). Drags differ by a factor of 8e4, and so do rounding errors. */
static void bcc_linear(void **state)
{
    const frame b = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const dd_mobility m = {.law = DD_BCC_LINEAR, .edge = 4, .screw = 2, .climb = 0.5};
    const double c = sqrt(0.75), s = 0.5, line = 0.25e-4;
    double t[3], w[3];

    (void)state;
    for (int k = 0; k < 2; k++) {
        const frame f = frame_of(b.e[0], b.e[1 + k]);
        const star edge = straight(2, f.e[1], f.e[0], f.e[2]), screw = straight(2, f.e[0], f.e[0], f.e[2]),
                   mixed = straight(2, in(&f, -c, s, 0, t), f.e[0], f.e[2]);
        move_in(&m, &edge, &f, w);
        is_to(1e-10, w, 3 * 4.0 / 10, 5 / (10 * line), 0);
        move_in(&m, &screw, &f, w);
        is_to(1e-10, w, 3 / (10 * line), 5 * 2.0 / 10, 0);
        move_in(&m, &mixed, &f, w);
        is_to(1e-10, w, 3 / (10 * (c * line + s * 0.25)), 5 / (10 * (c * 0.5 + s * line)), 0);
        const star square = straight(2, f.e[0], X, NULL);
        move_in(&m, &square, &f, w);
        is_to(1e-10, w, 3 / (10 * line), 5 * 0.5 / 10, 7 * 0.5 / 10);
    }
}

/* Two arms of 10 b of one line along t: their Burgers vectors are opposite, too. */
static star line(const double t[3], const double burgers[3], const double normal[3])
{
    star s = straight(2, t, burgers, normal);

    for (int i = 0; i < 3; i++) {
        s.arm[1].burgers[i] *= -1;
    }
    return s;
}

/* Pa, of a screw at u m/s below 10 GPa. */
static double screw_stress(const dd_ta_fit *fit, double u)
{
    return 1e6 * (fit->k * (1 / (1 + exp(-fit->b * u)) - 0.5) + fit->alpha * u + exp(0.005 * (u - 1000)));
}

static void moves(const dd_mobility *m, const star *s, const frame *f, double x, double y, double z, double w[3])
{
    double force[3], v[3];

    move(m, s, in(f, x, y, z, force), v);
    for (int i = 0; i < 3; i++) {
        w[i] = 1e-9 * dd_v3_dot(v, f->e[i]);
    }
}

/* Frames are b, the direction of edges, the plane. Half lengths sum to 10: a force of 10 s. */
static void ta_straight(void **state)
{
    const frame b = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const double speeds[] = {1e-3, 1, 30, 1000, 1500};
    double w[3];

    (void)state;
    for (int k = 0; k < 2; k++) {
        /* k 0: edges [1-10] of (11-2); 1: edges [11-2] of (-110). */
        const frame f = frame_of(b.e[0], b.e[1 + k]);
        const star edge = line(f.e[1], f.e[0], f.e[2]), screw = line(f.e[0], f.e[0], f.e[2]);
        /* No force, no speed; out of the plane nothing goes. */
        moves(&ta, &screw, &f, 0, 0, 0, w);
        is(w, 0, 0, 0);
        moves(&ta, &edge, &f, 0, 0, 1e9, w);
        is(w, 0, 0, 0);
        /* Along a line there is its drag alone. */
        moves(&ta, &screw, &f, 1e6, 0, 0, w);
        is(w, 1e-9 * 1e6 / (10 * 1e-2), 0, 0);
        for (int i = 0; i < 5; i++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                const double u = speeds[i];
                const double s = 1e6 * (0.9196 * u + 22.286 * pow(u / 1105, 28.1015));
                /* T = e_z x b for k = 0 is [-110]: forward, along [1-10], a screw along b moves in the other sense. */
                const dd_ta_fit *fit = &ta.ta_fit[k == 1 ? DD_TA_110 : sign > 0 ? DD_TA_112AT : DD_TA_112T];
                moves(&ta, &screw, &f, 0, sign * 10 * screw_stress(fit, u), 0, w);
                is_to(1e-9, w, 0, sign * u, 0);
                if (s <= 5e9) {
                    moves(&ta, &edge, &f, sign * 10 * s, 0, 0, w);
                    is_to(1e-9, w, sign * u, 0, 0);
                }
            }
        }
    }
}

/* The sense of twinning has the crystal's threefold axis, and turns with the line's sense. */
static void ta_twinning(void **state)
{
    const double way[3][3] = {{0, -1, 1}, {1, 0, -1}, {-1, 1, 0}}, b[3] = {1, 1, 1}, back[3] = {-1, -1, -1};
    const double force = 10 * screw_stress(&ta.ta_fit[DD_TA_112T], 5);
    double w[3];

    (void)state;
    for (int k = 0; k < 3; k++) {
        const frame f = frame_of(b, way[k]);
        const star along = line(f.e[0], b, f.e[2]), against = line(f.e[0], back, f.e[2]);
        moves(&ta, &along, &f, 0, force, 0, w);
        is_to(1e-9, w, 0, 5, 0);
        moves(&ta, &against, &f, 0, -force, 0, w);
        is_to(1e-9, w, 0, -5, 0);
        moves(&ta, &against, &f, 0, 10 * screw_stress(&ta.ta_fit[DD_TA_112AT], 5), 0, w);
        is_to(1e-9, w, 0, 5, 0);
    }
}

/* At rest a screw holds e^-5 MPa, 1e-6 m/s wide; beyond 10 and 5 GPa straight lines; no speed exceeds the top. */
static void ta_ends(void **state)
{
    const frame f = frame_of((double[]){1, 1, 1}, (double[]){1, 1, -2});
    const star edge = line(f.e[1], f.e[0], f.e[2]), screw = line(f.e[0], f.e[0], f.e[2]);
    dd_mobility m = ta;
    double w[3], far[3];

    (void)state;
    const double slope = 1000 * 0.5 / 4 + 2 + 0.005 * exp(-5);
    moves(&ta, &screw, &f, 0, 5e6 * exp(-5), 0, w);
    is_to(1e-15, w, 0, 0.5 * exp(-5) / (1e6 * exp(-5) + slope), 0);
    moves(&ta, &screw, &f, 0, 10e10, 0, w);
    moves(&ta, &screw, &f, 0, 10e10 + 10e6 * 200 * 7, 0, far);
    assert_near(far[1], w[1] + 7, 1e-9 * far[1]);
    assert_near(screw_stress(&ta.ta_fit[DD_TA_110], w[1]), 1e10, 10);
    moves(&ta, &edge, &f, 10 * 5e9, 0, 0, w);
    moves(&ta, &edge, &f, 10 * (5e9 + 91.96e6 * 7), 0, 0, far);
    is_to(1e-9, far, w[0] + 7, 0, 0);
    m.top_speed = 1e10;
    moves(&m, &edge, &f, 1e18, 0, 0, w);
    is_to(1e-9, w, 10, 0, 0);
}

/* BCC_Ta_linear, and junctions, which both have alike. */
static void ta_linear(void **state)
{
    const frame b = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const double c = sqrt(0.75), s = 0.5;
    dd_mobility m = ta;
    double t[3], w[3];

    (void)state;
    m.law = DD_BCC_TA_LINEAR;
    for (int k = 0; k < 2; k++) {
        const frame f = frame_of(b.e[0], b.e[1 + k]);
        const star mixed = line(in(&f, c, s, 0, t), f.e[0], f.e[2]);
        const double edge = ta.ta_edge[1 - k], forth = ta.ta_screw[k == 1 ? DD_TA_110 : DD_TA_112AT],
                     back = ta.ta_screw[k == 1 ? DD_TA_110 : DD_TA_112T];
        moves(&m, &mixed, &f, 3e9, 5e9, 7e9, w);
        is_to(1e-9, w, 3 / (10 * (c * 1e-2 + s * edge)), 5 / (10 * (c * forth + s * 1e-2)), 0);
        moves(&m, &mixed, &f, 3e9, -5e9, 7e9, w);
        is_to(1e-9, w, 3 / (10 * (c * 1e-2 + s * edge)), -5 / (10 * (c * back + s * 1e-2)), 0);
        const star square = line(f.e[1], X, NULL);
        for (int law = 0; law < 2; law++) {
            m.law = law == 0 ? DD_BCC_TA : DD_BCC_TA_LINEAR;
            moves(&m, &square, &f, 3e9, 5e9, 0, w);
            is(w, 3 / (10 * 5.0), 5 / (10 * 1e-2), 0);
        }
        m.law = DD_BCC_TA_LINEAR;
    }
}

/* Any force has a velocity that its drag undoes: power grows with the force along a ray, and nothing is no number. */
static void ta_any_force(void **state)
{
    const double to[3][3] = {{10, -10, 3}, {0, 9, -9}, {-8, -2, 10}};
    const double b[3][3] = {{1, 1, 1}, {1, -1, 1}, {-2, 0, -2}};
    double v[3];

    (void)state;
    star s = {0};
    for (int j = 0; j < 3; j++) {
        add(&s, to[j], b[j], NULL);
    }
    for (int pinned = 0; pinned < 7; pinned++) {
        double last = 0;
        s.node.constraint = pinned;
        for (double size = 1; size < 1e15; size *= 7) {
            const double force[3] = {size, -2 * size, 0.5 * size};
            move(&ta, &s, force, v);
            const double along = v[0] - 2 * v[1] + 0.5 * v[2];
            assert_true(isfinite(along) && along >= last);
            last = along;
        }
    }
}

/* Every slip system by its own drags: edges along n x b with a glide drag of 2 + k, screws with 20 + k, for system k.
 */
static void hcp_linear(void **state)
{
    const double c = 1.6, h = sqrt(0.75);
    dd_mobility m = {.law = DD_HCP_LINEAR, .hcp_climb = 1000, .hcp_line = 0.5, .c_over_a = c};
    const struct {
        double b[3], n[3];
        int system; /* DD_HCP_SYSTEMS: a junction */
    } is_of[] = {
        {{1, 0, 0}, {0, 0, 1}, DD_HCP_A_BASAL},
        {{-0.5, h, 0}, {0, 0, 1}, DD_HCP_A_BASAL},
        {{0.5, h, 0}, {h, -0.5, 0}, DD_HCP_A_PRISMATIC},
        {{-1, 0, 0}, {0, c, h}, DD_HCP_A_PYRAMIDAL},
        {{1, 0, 0}, {0, -c, h}, DD_HCP_A_PYRAMIDAL},
        {{0, 0, c}, {0, 1, 0}, DD_HCP_C_PRISMATIC},
        {{0, 0, -c}, {h, 0.5, 0}, DD_HCP_C_PRISMATIC},
        {{1, 0, c}, {0, 1, 0}, DD_HCP_CPA_PRISMATIC},
        {{1, 0, -c}, {c, 0, 1}, DD_HCP_CPA_PYRAMIDAL_2},
        /* Spanned by c + a and the other a, (-1/2, h, 0): (1, 0, c) x (-1/2, h, 0) = (-c h, -c / 2, h). */
        {{1, 0, c}, {-c * h, -c / 2, h}, DD_HCP_CPA_PYRAMIDAL},
        /* Not in the list: 2 a, a in units of |c|, a + a'. */
        {{2, 0, 0}, {0, 0, 1}, DD_HCP_SYSTEMS},
        {{1, 0, 2 * c}, {0, 1, 0}, DD_HCP_SYSTEMS},
        /* {10-12}, which c + a in (c, 0, -1) and c in (h, 1/2, 0) leave: their planes meet along (1/2, -h, c/2), which
         * with a spans (0, c/2, h). */
        {{1, 0, 0}, {0, c / 2, h}, DD_HCP_SYSTEMS},
    };
    double w[3];

    (void)state;
    for (int k = 0; k < DD_HCP_SYSTEMS; k++) {
        m.hcp_edge[k] = 2 + k;
        m.hcp_screw[k] = 20 + k;
    }
    for (size_t i = 0; i < sizeof is_of / sizeof is_of[0]; i++) {
        /* b, n, b x n */
        const frame f = frame_of(is_of[i].b, is_of[i].n);
        const star edge = straight(2, f.e[2], is_of[i].b, is_of[i].n),
                   screw = straight(2, f.e[0], is_of[i].b, is_of[i].n);
        const int k = is_of[i].system;
        const bool slips = k < DD_HCP_SYSTEMS;
        move_in(&m, &edge, &f, w);
        is(w, 3 / (10 * (slips ? m.hcp_edge[k] : 1000)), 0, 7 / (10 * 0.5));
        move_in(&m, &screw, &f, w);
        is(w, 3 / (10 * 0.5), 0, 7 / (10 * (slips ? m.hcp_screw[k] : 1000)));
    }
}

static void relaxed(void **state)
{
    dd_mobility m = {.law = DD_RELAX, .relax = {2, 4, 0.5}};
    double v[3];

    (void)state;
    star s = straight(2, X, Y, NULL);
    move(&m, &s, F, v);
    is(v, 3 * 2.0 / 10, 5 * 4.0 / 10, 7 * 0.5 / 10);
    m.relax_total = true;
    m.relax[1] = 0;
    move(&m, &s, F, v);
    is(v, 3 * 2.0, 0, 7 * 0.5);
    memcpy(s.arm[0].normal, Z, sizeof Z);
    m.law = DD_RELAX_GLIDE;
    move(&m, &s, F, v);
    is(v, 3 * 2.0, 0, 0);
}

/* |v| / (1 + (|v| / c)^10)^(1/10): at |v| = c, 2^(-1/10) of it; no law is faster. */
static void top_speed(void **state)
{
    dd_mobility m = {.law = DD_FCC_0, .edge = 4, .screw = 2};
    const double sound = sqrt(9 + 25) * 4 / 10;
    const star s = straight(2, X, Y, Z);
    double v[3];

    (void)state;
    m.top_speed = sound;
    move(&m, &s, F, v);
    is(v, pow(2, -0.1) * 3 * 4.0 / 10, pow(2, -0.1) * 5 * 4.0 / 10, 0);
    m.top_speed = 1e-3 * sound;
    move(&m, &s, F, v);
    is(v, 1e-3 * 3 * 4.0 / 10, 1e-3 * 5 * 4.0 / 10, 0);
}

/* Of every law, at a junction of three arms in two planes: arms of no length have no say, pinned directions and nodes
 * of a surface do not move, the velocity is linear in the force, but for BCC_Ta, and lies in the planes of laws that
 * glide. */
static void every_law(void **state)
{
    const double to[3][3] = {{10, -10, 0}, {0, 9, -9}, {-8, -2, 10}}, nothing[3] = {0, 0, 0};
    const double b[3][3] = {{0, 1, 1}, {1, 0, -1}, {-1, -1, 0}};
    const double plane[3][3] = {{1, 1, 1}, {1, 1, 1}, {1, -1, 1}};
    dd_mobility m = {
        .edge = 4, .screw = 2, .climb = 0.5, .relax = {1, 2, 3}, .hcp_climb = 9, .hcp_line = 1, .c_over_a = 1.6};

    (void)state;
    for (int i = 0; i < DD_HCP_SYSTEMS; i++) {
        m.hcp_edge[i] = m.hcp_screw[i] = 2;
    }
    memcpy(m.ta_fit, ta.ta_fit, sizeof m.ta_fit);
    memcpy(m.ta_edge, ta.ta_edge, sizeof m.ta_edge);
    memcpy(m.ta_screw, ta.ta_screw, sizeof m.ta_screw);
    m.ta_line = m.ta_climb_edge = m.ta_climb_screw = m.burgers = 1;
    for (int law = 0; law < DD_MOBILITY_NLAWS; law++) {
        star s = {0}, empty = {0};
        double v[3], w[3], twice[3] = {2 * F[0], 2 * F[1], 2 * F[2]};
        m.law = (dd_mobility_law)law;
        assert_null(dd_mobility_lacks(&m));
        move(&m, &empty, F, v);
        is(v, 0, 0, 0);
        add(&empty, nothing, X, Z);
        move(&m, &empty, F, v);
        is(v, 0, 0, 0);
        for (int j = 0; j < 3; j++) {
            add(&s, to[j], b[j], plane[j]);
        }
        move(&m, &s, F, v);
        assert_true(v[0] * F[0] + v[1] * F[1] + v[2] * F[2] > 0 || law == DD_BCC_GLIDE);
        if (law != DD_BCC_0 && law != DD_BCC_0B) {
            assert_near(dd_v3_dot(v, plane[0]), 0, 1e-12);
            assert_near(dd_v3_dot(v, plane[2]), 0, 1e-12);
        }
        move(&m, &s, twice, w);
        if (law != DD_BCC_TA) {
            is(w, 2 * v[0], 2 * v[1], 2 * v[2]);
        }
        add(&s, nothing, Y, X);
        move(&m, &s, F, w);
        is(w, v[0], v[1], v[2]);
        for (s.node.constraint = 1; s.node.constraint < 16; s.node.constraint++) {
            move(&m, &s, F, v);
            for (int i = 0; i < 3; i++) {
                assert_true(isfinite(v[i]) && ((s.node.constraint & (1 << i | DD_SURFACE)) == 0 || v[i] == 0.0));
            }
        }
    }
}

/* A junction node: the drag is what the velocity undoes, and turning everything turns the velocity. */
static void junctions(void **state)
{
    const double to[3][3] = {{10, 2, -3}, {-4, 9, 1}, {-3, -8, 6}};
    const double b[3][3] = {{0.5, 0.5, 0.5}, {0.5, -0.5, -0.5}, {-1, 0, 0}};
    const dd_mobility *laws[2] = {&fcc, &bcc};

    (void)state;
    for (int k = 0; k < 2; k++) {
        star s = {0}, turned = {0};
        double v[3], w[3], force[3] = {F[2], F[0], F[1]};
        for (int j = 0; j < 3; j++) {
            const double to2[3] = {to[j][2], to[j][0], to[j][1]}, b2[3] = {b[j][2], b[j][0], b[j][1]};
            add(&s, to[j], b[j], NULL);
            add(&turned, to2, b2, NULL);
        }
        move(laws[k], &s, F, v);
        move(laws[k], &turned, force, w);
        is(w, v[2], v[0], v[1]);
        assert_true(v[0] * F[0] + v[1] * F[1] + v[2] * F[2] > 0.0);
        /* Twice the force, twice the velocity; a mirrored Burgers vector changes nothing. */
        const double twice[3] = {2 * F[0], 2 * F[1], 2 * F[2]};
        s.arm[0].burgers[0] *= -1.0;
        s.arm[0].burgers[1] *= -1.0;
        s.arm[0].burgers[2] *= -1.0;
        move(laws[k], &s, twice, w);
        is(w, 2 * v[0], 2 * v[1], 2 * v[2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(parameters),
        cmocka_unit_test(fcc_straight),
        cmocka_unit_test(fcc_planes),
        cmocka_unit_test(fcc_laws),
        cmocka_unit_test(fcc_junctions),
        cmocka_unit_test(fcc_linear_between),
        cmocka_unit_test(bcc_straight),
        cmocka_unit_test(bcc_mixed),
        cmocka_unit_test(bcc_junctions),
        cmocka_unit_test(bcc_glide_planes),
        cmocka_unit_test(bcc_linear),
        cmocka_unit_test(ta_straight),
        cmocka_unit_test(ta_twinning),
        cmocka_unit_test(ta_ends),
        cmocka_unit_test(ta_linear),
        cmocka_unit_test(ta_any_force),
        cmocka_unit_test(hcp_linear),
        cmocka_unit_test(relaxed),
        cmocka_unit_test(top_speed),
        cmocka_unit_test(arms_without_length),
        cmocka_unit_test(pinned_directions),
        cmocka_unit_test(every_law),
        cmocka_unit_test(junctions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
