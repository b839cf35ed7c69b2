/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_star.h"
#include "unit.h"

#include <ctype.h>

TEST(names)
{
    static const char listed[] = DD_MOBILITY_NAMES;
    dd_mobility_law law = DD_BCC_0, other;
    int n = 0;

    for (const char *at = listed; *at != '\0'; at += 1 + strcspn(at + 1, "|"), n++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, "|"), at + 1);
        assert_ok(dd_mobility_find(name, &law));
        assert_int_equal(law, n);
        for (char *c = name; *c != '\0'; c++) {
            *c = (char)toupper(*c);
        }
        assert_ok(dd_mobility_find(name, &other));
        assert_int_equal(other, n);
    }
    assert_int_equal(n, DD_MOBILITY_NLAWS);
    assert_int_equal(dd_mobility_find("FCC", &law), EQP_ERR_UNKNOWN);
    assert_int_equal(law, n - 1);
}

TEST(parameters)
{
    dd_mobility hcp = {.law = DD_HCP_LINEAR, .hcp_climb = 1, .hcp_line = 1, .c_over_a = 1.6};

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
    assert_string_equal(dd_mobility_lacks(&(dd_mobility){.law = DD_BCC_TA_NL, .burgers = 1}), "TempK");
    assert_null(dd_mobility_lacks(&(dd_mobility){.law = DD_BCC_TA_NL, .burgers = 1, .temperature = 1}));
    assert_string_equal(dd_mobility_lacks(&(dd_mobility){.law = DD_BCC_VA_NL, .burgers = 1, .temperature = 1}),
                        "MobG0");
    assert_int_equal(dd_mobility_reads(DD_BCC_GLIDE), DD_READS_MOBILITIES);
    hcp.c_over_a = 1;
    assert_string_equal(dd_mobility_lacks(&hcp), "cOVERa");
}

TEST(relaxed)
{
    dd_mobility m = {.law = DD_RELAX, .relax = {2, 4, 0.5}};

    star s = straight(2, X, Y, NULL);
    goes(&m, &s, 3 * 2.0 / 10, 5 * 4.0 / 10, 7 * 0.5 / 10);
    m.relax_total = true;
    m.relax[1] = 0;
    goes(&m, &s, 3 * 2.0, 0, 7 * 0.5);
    memcpy(s.arm[0].normal, Z, sizeof Z);
    m.law = DD_RELAX_GLIDE;
    goes(&m, &s, 3 * 2.0, 0, 0);
}

/* |v| / (1 + (|v| / c)^10)^(1/10): at |v| = c the factor is 2^(-1/10); no law exceeds c. */
TEST(top_speed)
{
    dd_mobility m = {.law = DD_FCC_0, .edge = 4, .screw = 2};
    const double sound = sqrt(9 + 25) * 4 / 10;
    const star s = straight(2, X, Y, Z);

    m.top_speed = sound;
    goes(&m, &s, pow(2, -0.1) * 3 * 4.0 / 10, pow(2, -0.1) * 5 * 4.0 / 10, 0);
    m.top_speed = 1e-3 * sound;
    goes(&m, &s, 1e-3 * 3 * 4.0 / 10, 1e-3 * 5 * 4.0 / 10, 0);
}

TEST(pinned_directions)
{
    const double r = sqrt(0.5), tilted[3] = {r, -r, 0}, left[3] = {-10, -10, 0}, right[3] = {10, 10, 3};
    const dd_mobility *laws[2] = {&fcc, &bcc};
    double v[3];

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

/* Every law at a junction of three arms in two planes: zero-length arms have no effect, pinned directions and surface
 * nodes do not move, velocity is linear in the force except for nonlinear laws, and lies in the planes of glide
 * laws. */
TEST(every_law)
{
#define IN_PLANES(id, name, drag, in_planes, reads) in_planes,
    static const bool in_planes[] = {DD_MOBILITY_LAWS(IN_PLANES)};
    const double to[3][3] = {{10, -10, 0}, {0, 9, -9}, {-8, -2, 10}}, nothing[3] = {0, 0, 0};
    const double b[3][3] = {{0, 1, 1}, {1, 0, -1}, {-1, -1, 0}};
    const double plane[3][3] = {{1, 1, 1}, {1, 1, 1}, {1, -1, 1}};
    dd_mobility m = {
        .edge = 4, .screw = 2, .climb = 0.5, .relax = {1, 2, 3}, .hcp_climb = 9, .hcp_line = 1, .c_over_a = 1.6};

    for (int i = 0; i < DD_HCP_SYSTEMS; i++) {
        m.hcp_edge[i] = m.hcp_screw[i] = 2;
    }
    memcpy(m.ta_fit, ta.ta_fit, sizeof m.ta_fit);
    memcpy(m.ta_edge, ta.ta_edge, sizeof m.ta_edge);
    memcpy(m.ta_screw, ta.ta_screw, sizeof m.ta_screw);
    m.ta_line = m.ta_climb_edge = m.ta_climb_screw = m.burgers = 1;
    m.temperature = 300;
    m.modulus_0 = 1e9;
    for (int law = 0; law < DD_MOBILITY_NLAWS; law++) {
        star s = {0}, empty = {0};
        double v[3], w[3], twice[3] = {2 * F[0], 2 * F[1], 2 * F[2]};
        m.law = (dd_mobility_law)law;
        assert_null(dd_mobility_lacks(&m));
        goes(&m, &empty, 0, 0, 0);
        add(&empty, nothing, X, Z);
        goes(&m, &empty, 0, 0, 0);
        for (int j = 0; j < 3; j++) {
            add(&s, to[j], b[j], plane[j]);
        }
        move(&m, &s, F, v);
        /* A BCC junction of three planes is immobile. */
        const bool is_stuck = law == DD_BCC_GLIDE || (law >= DD_BCC_TA_NL && law <= DD_BCC_TA_NL_B_PLANAR);
        assert_true(v[0] * F[0] + v[1] * F[1] + v[2] * F[2] > 0 || is_stuck);
        if (in_planes[law]) {
            assert_near(dd_v3_dot(v, plane[0]), 0, 1e-12);
            assert_near(dd_v3_dot(v, plane[2]), 0, 1e-12);
        }
        move(&m, &s, twice, w);
        if (law < DD_BCC_TA || law > DD_BCC_VA_NL_PLANAR || law == DD_BCC_TA_LINEAR) {
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

/* At a junction node drag balances the force, and rotating everything rotates the velocity. */
TEST(junctions)
{
    const double to[3][3] = {{10, 2, -3}, {-4, 9, 1}, {-3, -8, 6}};
    const double b[3][3] = {{0.5, 0.5, 0.5}, {0.5, -0.5, -0.5}, {-1, 0, 0}};
    const dd_mobility *laws[2] = {&fcc, &bcc};

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

/* Both arms along x, lengths 10 and 30, plane z: v = F M / (1/2 40) in the plane. */
TEST(fcc_straight)
{
    const double left[3] = {-10, 0, 0}, right[3] = {30, 0, 0}, mixed[3] = {0.6, 0.8, 0};
    const double *burgers[3] = {Y, X, mixed}, mobility[3] = {4.0, 2.0, 4.0 - 2.0 * 0.6};

    for (int k = 0; k < 3; k++) {
        star s = {0};
        add(&s, left, burgers[k], Z);
        add(&s, right, burgers[k], Z);
        goes(&fcc, &s, 3.0 * mobility[k] / 20.0, 5.0 * mobility[k] / 20.0, 0.0);
    }
    /* The length of a Burgers vector does not determine its direction. */
    star s = {0};
    const double twice[3] = {2, 0, 0};
    add(&s, left, twice, Z);
    add(&s, right, twice, Z);
    goes(&fcc, &s, 3.0 * 2.0 / 20.0, 5.0 * 2.0 / 20.0, 0.0);
}

TEST(fcc_planes)
{
    const double r = sqrt(0.5), tilted[3] = {0, r, r}, nearly[3] = {1e-4, 0, 1}, left[3] = {-10, 0, 0},
                 right[3] = {10, 0, 0};
    double v[3];

    star two = {0};
    add(&two, left, X, Z);
    add(&two, right, X, tilted);
    goes(&fcc, &two, 3.0 * 2.0 / 10.0, 0.0, 0.0);
    star same = {0};
    add(&same, left, X, Z);
    add(&same, right, X, nearly);
    goes(&fcc, &same, 3.0 * 2.0 / 10.0, 5.0 * 2.0 / 10.0, 0.0);
    star none = {0};
    add(&none, left, X, NULL);
    add(&none, right, X, NULL);
    goes(&fcc, &none, 3.0 * 2.0 / 10.0, 5.0 * 2.0 / 10.0, 7.0 * 2.0 / 10.0);
    star three = {0};
    add(&three, left, X, Z);
    add(&three, right, X, tilted);
    add(&three, Y, X, X);
    goes(&fcc, &three, 0.0, 0.0, 0.0);
    /* Three planes of one zone leave its axis. */
    star zone = {0};
    add(&zone, left, X, Z);
    add(&zone, right, X, tilted);
    add(&zone, Z, X, Y);
    move(&fcc, &zone, F, v);
    assert_true(v[0] > 0.0);
    is(v, v[0], 0.0, 0.0);
}

/* b [1-10] in (111): an edge, a screw, and a line at 30 degrees from b, in the frame of b, n x b, n. */
TEST(fcc_laws)
{
    const frame f = frame_of((double[]){1, -1, 0}, (double[]){1, 1, -2});
    const double c = sqrt(0.75), s = 0.5, n[3] = {-f.e[2][0], -f.e[2][1], -f.e[2][2]};
    const double glide = 1 / sqrt(16 * s * s + 4 * c * c);
    dd_mobility m = {.law = DD_FCC_0B, .edge = 4, .screw = 2, .climb = 0.5};
    double t[3];

    in(&f, c, s, 0, t);
    const star edge = straight(2, f.e[1], f.e[0], f.e[2]), screw = straight(2, f.e[0], f.e[0], n),
               mixed = straight(2, t, f.e[0], n);
    goes_in(1e-12, &m, &edge, &f, 3 * 4.0 / 10, 5 * 4.0 / 10, 0);
    goes_in(1e-12, &m, &screw, &f, 3 * 4.0 / 10, 5 * 2.0 / 10, 0);
    /* Along t 1/4, across it `glide`. */
    const double along = (3 * c + 5 * s) / (10 * 0.25), across = (5 * c - 3 * s) / (10 * glide);
    for (int k = 0; k < 2; k++) {
        m.law = k == 0 ? DD_FCC_0B : DD_FCC_CLIMB;
        goes_in(1e-12, &m, &mixed, &f, along * c - across * s, along * s + across * c, 0);
    }
    /* Screws: drag of the line along b, of the screw across. Edges: the reverse. */
    m.law = DD_FCC_LINEAR;
    const double line = 0.0025;
    goes_in(1e-12, &m, &edge, &f, 3 * 4.0 / 10, 5 / (10 * line), 0);
    goes_in(1e-12, &m, &screw, &f, 3 / (10 * line), 5 * 2.0 / 10, 0);
    goes_in(1e-12, &m, &mixed, &f, 3 / (10 * (c * line + s * 0.25)), 5 / (10 * (c * 0.5 + s * line)), 0);
}

/* Arms in (001) do not glide. */
TEST(fcc_junctions)
{
    const frame f = frame_of((double[]){1, 1, 0}, (double[]){1, -1, 0});
    dd_mobility m = {.law = DD_FCC_0B, .edge = 4, .screw = 2, .climb = 0.5};

    const star two = straight(2, f.e[0], f.e[1], Z), three = straight(3, f.e[0], f.e[1], Z);
    goes_in(1e-12, &m, &two, &f, 3 * 0.5 / 10, 5 * 0.5 / 10, 0);
    goes_in(1e-12, &m, &three, &f, 3 * 4.0 / 15, 5 * 0.5 / 15, 0);
    m.climb_junction = 0.25;
    goes_in(1e-12, &m, &two, &f, 3 * 0.5 / 10, 5 * 0.5 / 10, 0);
    goes_in(1e-12, &m, &three, &f, 3 * 4.0 / 15, 5 * 0.25 / 15, 0);
    m.law = DD_FCC_CLIMB;
    goes_in(1e-12, &m, &two, &f, 3 * 4e-4 / 10, 5 * 4e-4 / 10, 0);
    goes_in(1e-12, &m, &three, &f, 3 * 4.0 / 15, 5 * 4e-4 / 15, 0);
    /* Chosen by plane and by Burgers vector. */
    m.law = DD_FCC_LINEAR;
    const star square = straight(3, f.e[0], X, Z);
    const star *both[2] = {&three, &square};
    for (int k = 0; k < 2; k++) {
        goes_in(1e-12, &m, both[k], &f, 3 * 400.0 / 15, 5 * 0.5 / 15, 0);
    }
}

/* Of [111] an edge along [1-10] glides along b and climbs along [11-2]; a screw moves alike in all directions. Half
 * lengths sum to 10; along the line the drag is a hundredth of the smaller. */
TEST(bcc_straight)
{
    const frame f = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    double w[3], off[3];

    const star edge = straight(2, f.e[1], f.e[0], NULL), screw = straight(2, f.e[0], f.e[0], NULL);
    goes_in(1e-12, &bcc, &edge, &f, 3 * 4.0 / 10, 5 * 400.0 / 10, 7 * 0.5 / 10);
    goes_in(1e-12, &bcc, &screw, &f, 3 * 400.0 / 10, 5 * 2.0 / 10, 7 * 2.0 / 10);
    /* The limit is continuous. */
    const star nearly = straight(2, f.e[0], in(&f, 1, 1e-5, 0, off), NULL);
    move_in(&bcc, &nearly, &f, w);
    assert_near(w[1], 5 * 2.0 / 10, 1e-6);
    assert_near(w[2], 7 * 2.0 / 10, 1e-6);
}

/* The mixed segment's coefficients, by hand: t at 30 degrees from b. */
TEST(bcc_mixed)
{
    const frame b = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const double glide = 1.0 / sqrt(16.0 * 0.25 + 4.0 * 0.75), climb = sqrt(4.0 * 0.25 + 0.25 * 0.75);
    double t[3], across[3];

    const frame f = frame_of(in(&b, sqrt(0.75), 0.5, 0, t), in(&b, -0.5, sqrt(0.75), 0, across));
    const star s = straight(2, f.e[0], b.e[0], NULL);
    goes_in(1e-12, &bcc, &s, &f, 3 * 400.0 / 10, 5 / (10 * glide), 7 / (10 * climb));
}

/* <100> and <110> arms climb in every direction and are fast only along their line. */
TEST(bcc_junctions)
{
    const frame f = frame_of((double[]){0.6, 0.8, 0}, (double[]){-0.8, 0.6, 0});
    const double square[3] = {2 / sqrt(3), 0, 0}, diagonal[3] = {0, 1, -1};
    const double *burgers[2] = {square, diagonal};
    dd_mobility m = bcc;

    for (int k = 0; k < 2; k++) {
        const star two = straight(2, f.e[0], burgers[k], NULL), three = straight(3, f.e[0], burgers[k], NULL);
        m.law = DD_BCC_0;
        goes_in(1e-12, &m, &two, &f, 3 * 400.0 / 10, 5 * 0.5 / 10, 7 * 0.5 / 10);
        m.law = DD_BCC_0B;
        m.climb_junction = 0;
        goes_in(1e-12, &m, &two, &f, 3 * 0.5 / 10, 5 * 0.5 / 10, 7 * 0.5 / 10);
        goes_in(1e-12, &m, &three, &f, 3 * 400.0 / 15, 5 * 0.5 / 15, 7 * 0.5 / 15);
        m.climb_junction = 0.25;
        goes_in(1e-12, &m, &two, &f, 3 * 0.5 / 10, 5 * 0.5 / 10, 7 * 0.5 / 10);
        goes_in(1e-12, &m, &three, &f, 3 * 400.0 / 15, 5 * 0.25 / 15, 7 * 0.25 / 15);
        m.law = DD_BCC_GLIDE;
        goes_in(1e-12, &m, &two, &f, 0, 0, 0);
        goes_in(1e-12, &m, &three, &f, 3 * 400.0 / 15, 0, 0);
    }
    /* Nodes of three arms climb with the drag of their edges. */
    const frame e = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const star edges = straight(3, e.e[1], e.e[0], NULL);
    m.law = DD_BCC_0B;
    goes_in(1e-12, &m, &edges, &e, 3 * 4.0 / 15, 5 * 400.0 / 15, 7 * 0.25 / 15);
}

/* In one plane like BCC_0, in two along their common line, in three immobile. */
TEST(bcc_glide_planes)
{
    const dd_mobility m = {.law = DD_BCC_GLIDE, .edge = 4, .screw = 2};
    const frame f = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});

    star edge = straight(2, f.e[1], f.e[0], f.e[2]);
    goes_in(1e-12, &m, &edge, &f, 3 * 4.0 / 10, 5 * 400.0 / 10, 0);
    star screw = straight(2, f.e[0], f.e[0], f.e[2]);
    goes_in(1e-12, &m, &screw, &f, 3 * 400.0 / 10, 5 * 2.0 / 10, 0);
    memcpy(screw.arm[1].normal, f.e[1], sizeof f.e[1]);
    goes_in(1e-12, &m, &screw, &f, 3 * 400.0 / 10, 0, 0);
    memcpy(edge.arm[1].normal, f.e[1], sizeof f.e[1]);
    add(&edge, f.e[2], f.e[0], f.e[0]);
    goes_in(1e-12, &m, &edge, &f, 0, 0, 0);
}

/* A line [001] with b [1-10] halves the angle between the edges of (111) and (11-1), whose sum is 4 / sqrt(6) long:
 * each is p = 10 sqrt(6) / 4. With w = [110] / sqrt(2), the normals' dyads sum to 4/3 w w + 2/3 z z, those of the edges
 * to 2/3 w w + 4/3 z z. */
TEST(fcc_linear_between)
{
    const frame f = frame_of((double[]){1, -1, 0}, (double[]){1, 1, 0});
    const dd_mobility m = {.law = DD_FCC_LINEAR, .edge = 4, .screw = 2, .climb = 0.5};
    const double p = 10 * sqrt(6) / 4, line = 0.0025, climb = 2;

    const star s = straight(2, f.e[2], f.e[0], NULL);
    goes_in(1e-12, &m, &s, &f, 3 / (2 * p * 0.25), 5 / (p * (4 * climb + 2 * line) / 3),
            7 / (p * (2 * climb + 4 * line) / 3));
}

/* b [111] in (1-10), and in (11-2). Drags differ by a factor of 8e4, and so do rounding errors. */
TEST(bcc_linear)
{
    const frame b = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const dd_mobility m = {.law = DD_BCC_LINEAR, .edge = 4, .screw = 2, .climb = 0.5};
    const double c = sqrt(0.75), s = 0.5, line = 0.25e-4;
    double t[3];

    for (int k = 0; k < 2; k++) {
        const frame f = frame_of(b.e[0], b.e[1 + k]);
        const star edge = straight(2, f.e[1], f.e[0], f.e[2]), screw = straight(2, f.e[0], f.e[0], f.e[2]),
                   mixed = straight(2, in(&f, -c, s, 0, t), f.e[0], f.e[2]);
        goes_in(1e-10, &m, &edge, &f, 3 * 4.0 / 10, 5 / (10 * line), 0);
        goes_in(1e-10, &m, &screw, &f, 3 / (10 * line), 5 * 2.0 / 10, 0);
        goes_in(1e-10, &m, &mixed, &f, 3 / (10 * (c * line + s * 0.25)), 5 / (10 * (c * 0.5 + s * line)), 0);
        const star square = straight(2, f.e[0], X, NULL);
        goes_in(1e-10, &m, &square, &f, 3 / (10 * line), 5 * 0.5 / 10, 7 * 0.5 / 10);
    }
}

/* Every slip system k has its own drags: edges along n x b 2 + k, screws 20 + k. */
TEST(hcp_linear)
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
        goes_in(1e-12, &m, &edge, &f, 3 / (10 * (slips ? m.hcp_edge[k] : 1000)), 0, 7 / (10 * 0.5));
        goes_in(1e-12, &m, &screw, &f, 3 / (10 * 0.5), 0, 7 / (10 * (slips ? m.hcp_screw[k] : 1000)));
    }
}
