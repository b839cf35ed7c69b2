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

/* |v| / (1 + (|v| / c)^10)^(1/10): at |v| = c, 2^(-1/10) of it; no law is faster. */
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

/* Of every law, at a junction of three arms in two planes: arms of no length have no say, pinned directions and nodes
 * of a surface do not move, the velocity is linear in the force, but for laws with curves, and lies in the planes of
 * laws that glide. */
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
        /* Three junctions of BCC: nothing goes. */
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

/* A junction node: the drag is what the velocity undoes, and turning everything turns the velocity. */
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
