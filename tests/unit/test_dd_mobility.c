/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_star.h"

#include <ctype.h>

TEST(names)
{
    static const char listed[] = DD_MOBILITY_NAMES;
    dd_mobility_law law = DD_BCC_0;
    int n = 0;

    for (const char *at = listed; *at != '\0'; at += 1 + strcspn(at + 1, "|"), n++) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1, "|"), at + 1);
        for (int upper = 0; upper < 2; upper++) {
            assert_ok(dd_mobility_find(name, &law));
            assert_int_equal(law, n);
            for (char *c = name; *c != '\0'; c++) {
                *c = (char)toupper(*c);
            }
        }
    }
    assert_int_equal(n, DD_MOBILITY_NLAWS);
    assert_int_equal(dd_mobility_find("FCC", &law), EQP_ERR_UNKNOWN);
    assert_int_equal(law, n - 1);
}

TEST(parameters)
{
    dd_mobility hcp = {.law = DD_HCP_LINEAR, .hcp_climb = 1, .hcp_line = 1, .c_over_a = 1.6}, flat, lacking = ta;

    assert_string_equal(dd_mobility_lacks(&hcp), "HCP_A_Basal_EdgeDrag");
    for (int i = 0; i < DD_HCP_SYSTEMS; i++) {
        hcp.hcp_edge[i] = hcp.hcp_screw[i] = 1;
    }
    flat = hcp;
    flat.c_over_a = 1;
    lacking.ta_fit[DD_TA_112T].alpha = 0;
    const struct {
        dd_mobility law;
        const char *lacks;
    } cases[] = {
        {{.law = DD_FCC_0, .edge = 1, .screw = 1}, NULL},
        {{.law = DD_FCC_CLIMB, .edge = 1, .screw = 1}, NULL},
        {{.law = DD_RELAX}, NULL},
        {{.law = DD_BCC_TA_NL, .burgers = 1, .temperature = 1}, NULL},
        {{.law = DD_FCC_0, .edge = 1}, "MobScrew"},
        {{.law = DD_BCC_0, .edge = 1, .screw = 1}, "MobClimb"},
        {{.law = DD_FCC_LINEAR, .edge = 1, .screw = 1}, "MobClimb"},
        {{.law = DD_FCC_0, .edge = NAN, .screw = 1}, "MobEdge"},
        {{.law = DD_BCC_TA_LINEAR}, "TaDragEdge110"},
        {{.law = DD_BCC_TA_NL, .burgers = 1}, "TempK"},
        {{.law = DD_BCC_VA_NL, .burgers = 1, .temperature = 1}, "MobG0"},
        {hcp, NULL},
        {flat, "cOVERa"},
        {ta, NULL},
        {lacking, "TaDragParam112Talpha"},
    };
    for (int i = 0; i < COUNT_OF(cases); i++) {
        const char *lacks = dd_mobility_lacks(&cases[i].law);
        assert_int_equal(lacks == NULL, cases[i].lacks == NULL);
        assert_true(lacks == NULL || strcmp(lacks, cases[i].lacks) == 0);
    }
    assert_int_equal(dd_mobility_reads(DD_BCC_GLIDE), DD_READS_MOBILITIES);
}

TEST(relaxed)
{
    dd_mobility m = {.law = DD_RELAX, .relax = {2, 4, 0.5}};
    star s = straight(2, X, Y, NULL);

    goes(1e-12, &m, &s, &axes, F, 3 * 2.0 / 10, 5 * 4.0 / 10, 7 * 0.5 / 10);
    m.relax_total = true;
    m.relax[1] = 0;
    goes(1e-12, &m, &s, &axes, F, 3 * 2.0, 0, 7 * 0.5);
    dd_v3_copy(s.arm[0].normal, Z);
    m.law = DD_RELAX_GLIDE;
    goes(1e-12, &m, &s, &axes, F, 3 * 2.0, 0, 0);
}

/* |v| / (1 + (|v| / c)^10)^(1/10): at |v| = c the factor is 2^(-1/10); no law exceeds c. */
TEST(top_speed)
{
    const double sound = sqrt(9 + 25) * 4 / 10, share = pow(2, -0.1);
    const star s = straight(2, X, Y, Z);
    dd_mobility m = {.law = DD_FCC_0, .edge = 4, .screw = 2, .top_speed = sound};

    goes(1e-12, &m, &s, &axes, F, share * 3 * 4.0 / 10, share * 5 * 4.0 / 10, 0);
    m.top_speed = 1e-3 * sound;
    goes(1e-12, &m, &s, &axes, F, 1e-3 * 3 * 4.0 / 10, 1e-3 * 5 * 4.0 / 10, 0);
}

static star junction(int turn, double sign)
{
    static const double to[3][3] = {{10, -10, 0}, {0, 9, -9}, {-8, -2, 10}},
                        b[3][3] = {{0, 1, 1}, {1, 0, -1}, {-1, -1, 0}},
                        plane[3][3] = {{1, 1, 1}, {1, 1, 1}, {1, -1, 1}};
    star s = {0};

    for (int j = 0; j < 3; j++) {
        const double side = j == 0 ? sign : 1;
        const int x = turn, y = (turn + 1) % 3, z = (turn + 2) % 3;
        add(&s, VECTOR(to[j][x], to[j][y], to[j][z]), VECTOR(side * b[j][x], side * b[j][y], side * b[j][z]),
            VECTOR(plane[j][x], plane[j][y], plane[j][z]));
    }
    return s;
}

/* Every law at a junction of three arms in two planes: zero-length arms and the sign of Burgers vectors have no effect,
 * pinned directions and surface nodes do not move, velocity turns with the crystal, lies in the planes of glide laws,
 * and is linear in the force except for nonlinear laws. */
TEST(every_law)
{
    static const double nothing[3] = {0, 0, 0};
    const star turned = junction(1, 1), mirrored = junction(0, -1);
    dd_mobility m = ta;

    m.edge = 4;
    m.screw = 2;
    m.climb = 0.5;
    m.c_over_a = 1.6;
    m.hcp_line = m.ta_line = m.ta_climb_edge = m.ta_climb_screw = m.burgers = 1;
    m.temperature = 300;
    m.modulus_0 = 1e9;
    m.hcp_climb = 9;
    for (int i = 0; i < DD_HCP_SYSTEMS; i++) {
        m.hcp_edge[i] = m.hcp_screw[i] = 2;
        m.relax[i % 3] = 3;
    }
    for (int law = 0; law < DD_MOBILITY_NLAWS; law++) {
        const bool is_linear = law < DD_BCC_TA || law > DD_BCC_VA_NL_PLANAR || law == DD_BCC_TA_LINEAR;
        star s = junction(0, 1), empty = {0};
        double v[3], w[3];
        m.law = (dd_mobility_law)law;
        assert_null(dd_mobility_lacks(&m));
        goes(0, &m, &empty, &axes, F, 0, 0, 0);
        add(&empty, nothing, X, Z);
        goes(0, &m, &empty, &axes, F, 0, 0, 0);
        move(&m, &s, F, v);
        /* A BCC junction of three planes is immobile. */
        const bool is_stuck = law == DD_BCC_GLIDE || (law >= DD_BCC_TA_NL && law <= DD_BCC_TA_NL_B_PLANAR);
        assert_true(dd_v3_dot(v, F) > 0 || is_stuck);
        if (is_linear) {
            goes(1e-12, &m, &s, &axes, VECTOR(2 * F[0], 2 * F[1], 2 * F[2]), 2 * v[0], 2 * v[1], 2 * v[2]);
            goes(1e-12, &m, &mirrored, &axes, F, v[0], v[1], v[2]);
        }
        if (law != DD_HCP_LINEAR) {
            goes(1e-9, &m, &turned, &axes, VECTOR(F[1], F[2], F[0]), v[1], v[2], v[0]);
        }
        add(&s, nothing, Y, X);
        goes(1e-12, &m, &s, &axes, F, v[0], v[1], v[2]);
        for (s.node.constraint = 0; s.node.constraint < 16; s.node.constraint++) {
            move(&m, &s, F, w);
            for (int i = 0; i < 3; i++) {
                assert_true(isfinite(w[i]) && ((s.node.constraint & (1 << i | DD_SURFACE)) == 0 || w[i] == 0.0));
                assert_true(!dd_mobility_glides(m.law) || fabs(dd_v3_dot(w, s.arm[i].normal)) < 1e-12);
            }
            assert_true(dd_v3_dot(w, F) >= 0 && (law != DD_BCC_0 || (dd_v3_dot(w, F) > 0) == (s.node.constraint < 7)));
        }
    }
}

/* Line, Burgers vector and planes in a frame, and the mobilities along its axes: half lengths sum to 5 an arm. */
typedef struct straight_case {
    dd_mobility_law law;
    const frame *frame;
    int narms;
    double t[3], b[3], n[3][3], mobility[3]; /* n: of the arms, or of all where the next ones are 0 */
    double climb_junction;
    bool by_line; /* the mobilities are those along t, e2 x t, e2 */
} straight_case;

static void check(const straight_case *of)
{
    const dd_mobility m = {.law = of->law, .edge = 4, .screw = 2, .climb = 0.5, .climb_junction = of->climb_junction};
    const double by = of->law == DD_BCC_LINEAR ? 1e-10 : 1e-12; /* drags differ by a factor of 8e4, and so do errors */
    double t[3], b[3], across[3], want[3];
    frame f = *of->frame;

    from_frame(&f, of->t, t);
    from_frame(&f, of->b, b);
    star s = straight(of->narms, t, b, NULL);
    for (int j = 0; j < of->narms; j++) {
        from_frame(&f, of->n[dd_v3_length(of->n[j]) > 0 ? j : 0], s.arm[j].normal);
    }
    if (of->by_line) {
        dd_v3_cross(f.e[2], t, across);
        f = frame_of(t, across);
    }
    for (int i = 0; i < 3; i++) {
        want[i] = F[i] * of->mobility[i] / (5 * of->narms);
    }
    goes(by, &m, &s, &f, F, want[0], want[1], want[2]);
}

/* cos and sin of 30 degrees, and the mean mobility of such a line's glide */
#define C 0.86602540378443865
#define S 0.5
#define GLIDE (1 / sqrt(16 * S * S + 4 * C * C))
#define R 0.70710678118654752

TEST(fcc_laws)
{
    /* b [1-10] in (111); junctions in (001); between the edges of (111) and (11-1). */
    const frame f = frame_of(VECTOR(1, -1, 0), VECTOR(1, 1, -2)), e = frame_of(VECTOR(1, 1, 0), VECTOR(1, -1, 0)),
                g = frame_of(VECTOR(1, -1, 0), VECTOR(1, 1, 0)), a = axes;
    /* FCC_linear: drag of the line along screws, of the screw across; edges the reverse. On the line [001] each edge is
     * sqrt(6) / 4 of it long. With w = [110] / sqrt(2), the normals' dyads sum to 4/3 w w + 2/3 z z, those of the
     * edges to 2/3 w w + 4/3 z z. */
    const double line = 0.0025, climb = 2, mixed = 1 / (C * line + S * 0.25), across = 1 / (C * 0.5 + S * line);
    const double w = 12 / (sqrt(6) * (4 * climb + 2 * line)), z = 12 / (sqrt(6) * (2 * climb + 4 * line));
    const straight_case cases[] = {
        {DD_FCC_0, &a, 2, {1, 0, 0}, {0, 1, 0}, {{0, 0, 1}}, {4, 4, 0}, 0, false},
        {DD_FCC_0, &a, 2, {1, 0, 0}, {2, 0, 0}, {{0, 0, 1}}, {2, 2, 0}, 0, false},
        {DD_FCC_0, &a, 2, {1, 0, 0}, {0.6, 0.8, 0}, {{0, 0, 1}}, {2.8, 2.8, 0}, 0, false},
        {DD_FCC_0, &a, 2, {1, 0, 0}, {1, 0, 0}, {{0}}, {2, 2, 2}, 0, false},
        /* Two planes leave their common line, nearly equal ones count as one, three of one zone leave its axis. */
        {DD_FCC_0, &a, 2, {1, 0, 0}, {1, 0, 0}, {{0, 0, 1}, {0, R, R}}, {2, 0, 0}, 0, false},
        {DD_FCC_0, &a, 2, {1, 0, 0}, {1, 0, 0}, {{0, 0, 1}, {1e-4, 0, 1}}, {2, 2, 0}, 0, false},
        {DD_FCC_0, &a, 3, {1, 0, 0}, {1, 0, 0}, {{0, 0, 1}, {0, R, R}, {1, 0, 0}}, {0, 0, 0}, 0, false},
        {DD_FCC_0, &a, 3, {1, 0, 0}, {1, 0, 0}, {{0, 0, 1}, {0, R, R}, {0, 1, 0}}, {2, 0, 0}, 0, false},
        {DD_FCC_0B, &f, 2, {0, 1, 0}, {1, 0, 0}, {{0, 0, 1}}, {4, 4, 0}, 0, false},
        {DD_FCC_0B, &f, 2, {1, 0, 0}, {1, 0, 0}, {{0, 0, -1}}, {4, 2, 0}, 0, false},
        {DD_FCC_0B, &f, 2, {C, S, 0}, {1, 0, 0}, {{0, 0, -1}}, {4, 1 / GLIDE, 0}, 0, true},
        {DD_FCC_CLIMB, &f, 2, {C, S, 0}, {1, 0, 0}, {{0, 0, -1}}, {4, 1 / GLIDE, 0}, 0, true},
        {DD_FCC_LINEAR, &f, 2, {0, 1, 0}, {1, 0, 0}, {{0, 0, 1}}, {4, 1 / line, 0}, 0, false},
        {DD_FCC_LINEAR, &f, 2, {1, 0, 0}, {1, 0, 0}, {{0, 0, -1}}, {1 / line, 2, 0}, 0, false},
        {DD_FCC_LINEAR, &f, 2, {C, S, 0}, {1, 0, 0}, {{0, 0, -1}}, {mixed, across, 0}, 0, false},
        /* Arms in (001) do not glide. FCC_linear chooses by plane and by Burgers vector. */
        {DD_FCC_0B, &e, 2, {1, 0, 0}, {0, 1, 0}, {{0, 0, -1}}, {0.5, 0.5, 0}, 0, false},
        {DD_FCC_0B, &e, 3, {1, 0, 0}, {0, 1, 0}, {{0, 0, -1}}, {4, 0.5, 0}, 0, false},
        {DD_FCC_0B, &e, 2, {1, 0, 0}, {0, 1, 0}, {{0, 0, -1}}, {0.5, 0.5, 0}, 0.25, false},
        {DD_FCC_0B, &e, 3, {1, 0, 0}, {0, 1, 0}, {{0, 0, -1}}, {4, 0.25, 0}, 0.25, false},
        {DD_FCC_CLIMB, &e, 2, {1, 0, 0}, {0, 1, 0}, {{0, 0, -1}}, {4e-4, 4e-4, 0}, 0.25, false},
        {DD_FCC_CLIMB, &e, 3, {1, 0, 0}, {0, 1, 0}, {{0, 0, -1}}, {4, 4e-4, 0}, 0.25, false},
        {DD_FCC_LINEAR, &e, 3, {1, 0, 0}, {0, 1, 0}, {{0, 0, -1}}, {400, 0.5, 0}, 0.25, false},
        {DD_FCC_LINEAR, &e, 3, {1, 0, 0}, {R, R, 0}, {{0, 0, -1}}, {400, 0.5, 0}, 0.25, false},
        {DD_FCC_LINEAR, &g, 2, {0, 0, 1}, {1, 0, 0}, {{0}}, {8 / sqrt(6), w, z}, 0, false},
    };

    for (int i = 0; i < COUNT_OF(cases); i++) {
        check(&cases[i]);
    }
}

TEST(bcc_laws)
{
    const frame f = frame_of(VECTOR(1, 1, 1), VECTOR(1, -1, 0)), g = frame_of(VECTOR(1, 1, 1), VECTOR(1, 1, -2)),
                e = frame_of(VECTOR(0.6, 0.8, 0), VECTOR(-0.8, 0.6, 0));
    const double climb = sqrt(4 * S * S + 0.25 * C * C), line = 0.25e-4, mixed = 1 / (C * line + S * 0.25),
                 across = 1 / (C * 0.5 + S * line);
    const double square[3] = {0.6 * 2 / sqrt(3), -0.8 * 2 / sqrt(3), 0}, cube[3] = {1, sqrt(1.5), sqrt(0.5)};
    const straight_case cases[] = {
        /* Burgers vector [111]: an edge glides along it and climbs across it; a screw moves alike everywhere. */
        {DD_BCC_0, &f, 2, {0, 1, 0}, {1, 0, 0}, {{0}}, {4, 400, 0.5}, 0, false},
        {DD_BCC_0, &f, 2, {1, 0, 0}, {1, 0, 0}, {{0}}, {400, 2, 2}, 0, false},
        {DD_BCC_0, &f, 2, {C, S, 0}, {1, 0, 0}, {{0}}, {400, 1 / GLIDE, 1 / climb}, 0, true},
        /* <100> and <110> arms climb in every direction and are fast only along their line. */
        {DD_BCC_0, &e, 2, {1, 0, 0}, {square[0], square[1], 0}, {{0}}, {400, 0.5, 0.5}, 0, false},
        {DD_BCC_0, &e, 2, {1, 0, 0}, {0.8, 0.6, -1}, {{0}}, {400, 0.5, 0.5}, 0, false},
        {DD_BCC_0B, &e, 2, {1, 0, 0}, {square[0], square[1], 0}, {{0}}, {0.5, 0.5, 0.5}, 0, false},
        {DD_BCC_0B, &e, 3, {1, 0, 0}, {0.8, 0.6, -1}, {{0}}, {400, 0.5, 0.5}, 0, false},
        {DD_BCC_0B, &e, 2, {1, 0, 0}, {0.8, 0.6, -1}, {{0}}, {0.5, 0.5, 0.5}, 0.25, false},
        {DD_BCC_0B, &e, 3, {1, 0, 0}, {square[0], square[1], 0}, {{0}}, {400, 0.25, 0.25}, 0.25, false},
        {DD_BCC_GLIDE, &e, 2, {1, 0, 0}, {0.8, 0.6, -1}, {{0}}, {0, 0, 0}, 0, false},
        {DD_BCC_GLIDE, &e, 3, {1, 0, 0}, {square[0], square[1], 0}, {{0}}, {400, 0, 0}, 0, false},
        /* Nodes of three arms climb with the drag of their edges. */
        {DD_BCC_0B, &f, 3, {0, 1, 0}, {1, 0, 0}, {{0}}, {4, 400, 0.25}, 0.25, false},
        /* In one plane like BCC_0, in two along their common line, in three immobile. */
        {DD_BCC_GLIDE, &f, 2, {0, 1, 0}, {1, 0, 0}, {{0, 0, 1}}, {4, 400, 0}, 0, false},
        {DD_BCC_GLIDE, &f, 2, {1, 0, 0}, {1, 0, 0}, {{0, 0, 1}}, {400, 2, 0}, 0, false},
        {DD_BCC_GLIDE, &f, 2, {1, 0, 0}, {1, 0, 0}, {{0, 0, 1}, {0, 1, 0}}, {400, 0, 0}, 0, false},
        {DD_BCC_GLIDE, &f, 3, {0, 1, 0}, {1, 0, 0}, {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}, {0, 0, 0}, 0, false},
        /* In (11-2) and in (-110), and a junction. */
        {DD_BCC_LINEAR, &f, 2, {0, 1, 0}, {1, 0, 0}, {{0, 0, 1}}, {4, 1 / line, 0}, 0, false},
        {DD_BCC_LINEAR, &f, 2, {1, 0, 0}, {1, 0, 0}, {{0, 0, 1}}, {1 / line, 2, 0}, 0, false},
        {DD_BCC_LINEAR, &f, 2, {-C, S, 0}, {1, 0, 0}, {{0, 0, 1}}, {mixed, across, 0}, 0, false},
        {DD_BCC_LINEAR, &g, 2, {0, 1, 0}, {1, 0, 0}, {{0, 0, 1}}, {4, 1 / line, 0}, 0, false},
        {DD_BCC_LINEAR, &g, 2, {1, 0, 0}, {1, 0, 0}, {{0, 0, 1}}, {1 / line, 2, 0}, 0, false},
        {DD_BCC_LINEAR, &g, 2, {-C, S, 0}, {1, 0, 0}, {{0, 0, 1}}, {mixed, across, 0}, 0, false},
        {DD_BCC_LINEAR, &f, 2, {1, 0, 0}, {cube[0], cube[1], cube[2]}, {{0}}, {1 / line, 0.5, 0.5}, 0, false},
    };

    for (int i = 0; i < COUNT_OF(cases); i++) {
        check(&cases[i]);
    }
    /* The limit of a screw is continuous. */
    double t[3], side[3];
    from_frame(&f, VECTOR(1, 1e-5, 0), t);
    dd_v3_cross(f.e[2], t, side);
    const frame by_line = frame_of(t, side);
    const dd_mobility m = {.law = DD_BCC_0, .edge = 4, .screw = 2, .climb = 0.5};
    const star nearly = straight(2, by_line.e[0], f.e[0], NULL);
    goes(1e-6, &m, &nearly, &by_line, F, 3 * 400.0 / 10, 5 * 2.0 / 10, 7 * 2.0 / 10);
}

/* Every slip system k has its own drags: edges along n x b 2 + k, screws 20 + k. */
TEST(hcp_linear)
{
    const double c = 1.6, h = sqrt(0.75);
    dd_mobility m = {.law = DD_HCP_LINEAR, .hcp_climb = 1000, .hcp_line = 0.5, .c_over_a = c};
    const struct {
        double b[3], n[3];
        int system; /* DD_HCP_SYSTEMS: a junction */
    } cases[] = {
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
    for (int i = 0; i < COUNT_OF(cases); i++) {
        const frame f = frame_of(cases[i].b, cases[i].n); /* b, n, b x n */
        const star edge = straight(2, f.e[2], cases[i].b, cases[i].n),
                   screw = straight(2, f.e[0], cases[i].b, cases[i].n);
        const int k = cases[i].system;
        goes(1e-12, &m, &edge, &f, F, 3 / (10 * (k < DD_HCP_SYSTEMS ? m.hcp_edge[k] : 1000)), 0, 7 / (10 * 0.5));
        goes(1e-12, &m, &screw, &f, F, 3 / (10 * 0.5), 0, 7 / (10 * (k < DD_HCP_SYSTEMS ? m.hcp_screw[k] : 1000)));
    }
}
