/* SPDX-License-Identifier: BSD-3-Clause */
/* Laws whose stress is no multiple of the speed. Half lengths sum to 10, so a force is 10 times a stress. */
#include "dd_star.h"

/* b 1e-9 m, so that 1e9 b/s are 1 m/s, and some temperature. */
static const dd_mobility any = {
    .edge = 1, .screw = 1, .climb = 1, .temperature = 400, .pressure = 20e9, .modulus_0 = 50e9, .burgers = 1e-9};

static dd_mobility by_law(dd_mobility m, dd_mobility_law law)
{
    m.law = law;
    return m;
}

/* BCC_Ta_nl, in Pa: r is the speed in units of 2000 m/s, linear above 0.9. */
static double nl_edge(double r)
{
    const double size = 525e6 * (2.9146 + 14.027 * exp(-400 / 434.5)), d = 1e-6;

    return r <= 0.9 ? size * (pow(r + 1e-8, 1.6) - pow(1e-8, 1.6)) / sqrt(1 - r * r)
                    : nl_edge(0.9) + (r - 0.9) * (nl_edge(0.9) - nl_edge(0.9 - d)) / d;
}

static double nl_screw(double r)
{
    const double q = 0.2757 + 400.0 / 2548, thermal = 2.3643 * exp(400 / 1127.0) * (pow(r + 1e-8, q) - pow(1e-8, q));
    const double drag = fmax(0, 37.166 * r - 1.14286) / sqrt(1 - r * r);

    return 525e6 * pow(pow(drag, 5) + pow(thermal, 5), 0.2);
}

/* The laws differ in the drag of a line along itself and in screws that leave their plane. Along itself a line is so
 * fast that the rounding of the force is 1e-7 of its speed. */
TEST(ta_nl_straight)
{
    const frame f = frame_of(VECTOR(1, 1, 1), VECTOR(1, 1, -2));
    const star edge = line(f.e[1], f.e[0], f.e[2]), screw = line(f.e[0], f.e[0], f.e[2]),
               strong = line(f.e[0], VECTOR(2 * f.e[0][0], 2 * f.e[0][1], 2 * f.e[0][2]), f.e[2]);
    const double speeds[] = {1e-6, 1e-2, 0.1, 0.7, 0.95}, r = 0.03;
    const double edge_drag = nl_edge(0.9) / 2000, screw_drag = 525e6 * 37.166 / 2000;

    for (int k = 0; k < 3; k++) {
        const dd_mobility m = by_law(any, (dd_mobility_law)(DD_BCC_TA_NL + k));
        for (int i = 0; i < 5; i++) {
            const double u = 2000 * speeds[i];
            goes(speeds[i] > 0.9 ? 1e-6 : 1e-9 * (1 + u), &m, &edge, &f, VECTOR(-10 * nl_edge(speeds[i])), -u, 0, 0);
            if (speeds[i] < 0.9) {
                goes(1e-6 * (1 + u), &m, &screw, &f, VECTOR(0, 10 * nl_screw(speeds[i]), 0), 0, u, 0);
            }
        }
        /* Twice the Burgers vector, twice the stress. */
        goes(1e-6 * 61, &m, &strong, &f, VECTOR(0, 20 * nl_screw(r), 0), 0, 2000 * r, 0);
        goes(1e-6, &m, &edge, &f, VECTOR(0, 10 * (k == 0 ? 1e-3 * edge_drag * 60 : 1e-4 * nl_screw(r)), 0), 0, 60, 0);
        goes(1e-6, &m, &screw, &f, VECTOR(10 * (k == 0 ? 1e-3 * screw_drag * 60 : 1e-4 * nl_edge(r))), 60, 0, 0);
        goes(1e-9, &m, &edge, &f, VECTOR(0, 0, 1e10), 0, 0, k == 2 ? 0 : 1e9 / (1e3 * edge_drag));
        if (k < 2) {
            goes(1e-6 * 61, &m, &screw, &f, VECTOR(0, 6 * nl_screw(r), 8 * nl_screw(r)), 0, 36, 48);
        } else {
            goes(1e-6 * 61, &m, &screw, &f, VECTOR(0, 10 * nl_screw(r), 8 * nl_screw(r)), 0, 60, 0);
        }
    }
}

/* One junction (J) along x lets the node leave its line, two or a fourth arm stop it. */
TEST(ta_nl_nodes)
{
    static const double to[4][3] = {{1, 0, 0}, {0, 1, 0}, {-3, 4, 0}, {-3, -4, 5}};
    static const struct {
        int arms[4], burgers[4], narms; /* of 0: <100>, 1: [111], 2: [-1-11] */
        double moves[3];                /* 1: that component only; all of them: any; none: it does not move */
    } cases[] = {
        {{0}, {0}, 1, {0, 0, 0}},
        {{0, 2}, {0, 1}, 2, {1, 0, 0}},
        {{0, 2, 3}, {0, 1, 2}, 3, {1, 0, 0}},
        {{0, 2, 3, 1}, {0, 1, 2, 1}, 4, {0, 0, 0}},
        {{0}, {1}, 1, {1, 1, 1}},
        {{0, 1}, {1, 1}, 2, {1, 1, 1}},
        {{0, 1, 2}, {1, 1, 1}, 3, {1, 1, 1}},
        {{0, 1, 2, 3}, {1, 1, 1, 1}, 4, {0, 0, 0}},
        {{0, 1, 2}, {0, 0, 1}, 3, {0, 0, 0}},
    };
    static const double burgers[3][3] = {{0, 0, 1}, {1, 1, 1}, {-1, -1, 1}};

    for (int i = 0; i < COUNT_OF(cases) * 2; i++) {
        const dd_mobility m = by_law(any, i % 2 == 0 ? DD_BCC_TA_NL : DD_BCC_TA_NL_B);
        const double *may = cases[i / 2].moves;
        star s = {0};
        double v[3];
        for (int j = 0; j < cases[i / 2].narms; j++) {
            add(&s, to[cases[i / 2].arms[j]], burgers[cases[i / 2].burgers[j]], NULL);
        }
        move(&m, &s, F, v);
        is(1e-12, v, may[0] * v[0], may[1] * v[1], may[2] * v[2]);
        assert_true((dd_v3_dot(v, F) > 0) == (may[0] > 0));
    }
}

/* Of BCC_Va_nl at 400 K and p = 20 / 50: m/s of a stress, and of a Pa where only friction counts. */
static double va_unit(double a, double b, double c)
{
    return 50e9 * (a + 0.4 * (b + 0.4 * c));
}

static double va_edge_friction(void)
{
    return 5077 * (1.45e-2 - 2.53e-5 * 400 + 1.33e-8 * 160000) / va_unit(1.265e-3, 5.81e-4, 7.11e-4);
}

static double va_screw_friction(void)
{
    return 5077 * (1.8788e-2 - 3.484e-6 * 400 - 1.0695e-8 * 160000) / va_unit(6.939e-3, -1.8786e-3, 3.53e-3);
}

static double va_edge(double s)
{
    const double h = 2 * (696 + 0.4 * (579 - 630 * 0.4)) / 400, x = va_edge_friction() * s + 5077e-6;
    const double y = 0.005 * 5077 * exp(-h) * sinh(h * s / va_unit(1.265e-3, 5.81e-4, 7.11e-4));

    assert_true(y < 5077);
    return x * y / pow(pow(x, 3) + pow(y, 3), 1 / 3.0);
}

static double va_screw(double s)
{
    const double h = (1.9426e-2 + 9.115e-4 * 400 - 1.3776e-7 * 160000) * (7891 + 0.4 * (11292 - 6700 * 0.4)) / 400 *
                     log(1.14) / log(1.14 / 0.14);
    const double k = h / log(1.14), f = s / va_unit(6.939e-3, -1.8786e-3, 3.53e-3),
                 x = va_screw_friction() * s + 5077e-6;
    const double y = 5077 * (3.1e-2 - 3.65e-5 * 400 + 2.303e-8 * 160000) * exp(-h) *
                     (pow(0.14 + f, k) - pow(0.14 - fmin(f, 0.133), k));

    return x * y / pow(pow(x, 5) + pow(y, 5), 0.2);
}

/* Component k of the velocity is v. */
static void goes_at(const dd_mobility *m, const star *s, const frame *f, const double force[3], int k, double v)
{
    double w[3];

    moves(m, s, f, force, w);
    assert_near(w[k], v, 1e-9 * fabs(v));
}

TEST(va_nl_straight)
{
    const frame f = frame_of(VECTOR(1, 1, 1), VECTOR(1, -1, 0));
    const star edge = line(f.e[1], f.e[0], NULL), screw = line(f.e[0], f.e[0], NULL), square = line(f.e[1], X, NULL);
    const dd_mobility m = by_law(any, DD_BCC_VA_NL);
    const double stresses[] = {1e3, 1e5, 1e7, 1e8, 3e8};
    double w[3];

    for (int i = 0; i < 5; i++) {
        const double s = stresses[i], low = fmin(s, 1e8); /* beyond 1.5e8 edges are faster than 5077 m/s */
        goes_at(&m, &edge, &f, VECTOR(-10 * low), 0, -va_edge(low));
        goes_at(&m, &screw, &f, VECTOR(0, 6 * s, -8 * s), 1, 0.6 * va_screw(s));
        goes_at(&m, &screw, &f, VECTOR(0, 6 * s, -8 * s), 2, -0.8 * va_screw(s));
    }
    /* Along itself a screw has a thousandth of the slope, here that at rest. */
    moves(&m, &screw, &f, VECTOR(1e-3), w);
    assert_near(w[0], 1e-4 * va_screw(1e3), 1e-6 * w[0]);
    /* Edges climb with a drag of 1000 / M. A junction has 100 / M across, of screws, and a millionth of that along. */
    goes_at(&m, &edge, &f, VECTOR(0, 0, 1e9), 2, 1e9 / 10 / 1e3 * va_edge_friction());
    goes_at(&m, &square, &f, VECTOR(1e3, 1e3), 0, 1e3 / 10 / 100 * va_screw_friction());
    goes_at(&m, &square, &f, VECTOR(1e3, 1e3), 1, 1e9 / 10 / 100 * va_screw_friction());
}

/* Nearest to a force between g_0 and -g_1 is the normal e_2 x b. */
TEST(va_nl_planar)
{
    const double third = 1 / 3.0, g[2][3] = {{2 * third, -third, -third}, {-third, 2 * third, -third}},
                 root = sqrt(0.5);
    const frame f = frame_of(VECTOR(1, 1, 1), VECTOR(1, -1, 0));
    const star screw = line(f.e[0], f.e[0], NULL);
    const dd_mobility m = by_law(any, DD_BCC_VA_NL_PLANAR);
    double force[3], v[3];

    for (int i = 0; i < 3; i++) {
        force[i] = 10 * root * (2e8 * g[0][i] - 1.8e8 * g[1][i]);
    }
    moves(&m, &screw, &axes, force, v);
    for (int i = 0; i < 3; i++) {
        assert_near(v[i], root * (va_screw(2e8) * g[0][i] - va_screw(1.8e8) * g[1][i]), 1e-9 * va_screw(2e8));
    }
    /* Along the line: 5e-3 of the sum of both slopes, taken at rest. */
    moves(&m, &screw, &f, VECTOR(1e-3), v);
    assert_near(v[0], 1e-4 / 1e-2 * va_screw(1e3) / 1e3, 1e-6 * v[0]);
}

/* Of BCC_Ta_pencil, in Pa. */
static double pencil(double k, double b, double alpha, double u)
{
    return 1e6 * (k * (1 / (1 + exp(-b * u)) - 0.5) + alpha * u + exp(0.012 * (u - 800)));
}

static const dd_mobility pencil_law = {
    .law = DD_BCC_TA_PENCIL, .edge = 4, .screw = 2, .climb = 0.5, .climb_junction = 0.25, .burgers = 1e-9};

/* Of [111] with its line along it e_x x b is a direction of twinning. In its frame y and z are [11-2] and, turned from
 * it by 90 degrees towards e_z x b = [-110], that. */
TEST(pencil_directions)
{
    const frame f = frame_of(VECTOR(1, 1, 1), VECTOR(-1, 1, 0));
    const star screw = line(f.e[0], f.e[0], NULL), turned = line(f.e[0], VECTOR(-1, -1, -1), NULL);
    const double all = acos(-1) / 3 + 0.00081, turns[] = {0, 0.1, -0.3, 0.45};
    const double twin = 10 * pencil(2200, 0.12, 1.7, 40), anti = 10 * pencil(10600, 0.5, 3, 40);
    const dd_mobility *m = &pencil_law;

    for (int i = 0; i < 4 * 6; i++) {
        /* e_z x b is along y. Antitwinning is 60 degrees on, and the sector's middle 30. */
        const double u = 20 * pow(5, i / 6), a = turns[i / 6], share = sin(a) + 0.5,
                     c = -log(all / (a + all / 2) - 1) / 15;
        const double s = (1 - share) * pencil(2200, 0.12, 1.7, u) + share * pencil(10600, 0.5, 3, u);
        const double sign = i % 2 == 0 ? 1 : -1, middle = acos(-1) / 6 * (2 * (i % 6) + 1);
        if (s <= 1e10) {
            goes(1e-8, m, &screw, &f, VECTOR(0, 10 * s * cos(middle + sign * c), 10 * s * sin(middle + sign * c)), 0,
                 u * cos(middle + sign * a), u * sin(middle + sign * a));
        }
    }
    /* Along twinning itself, where two sectors meet, and with the line's sense that turns it. */
    goes(1e-5, m, &screw, &f, VECTOR(0, twin, 0), 0, 40, 0);
    goes(1e-5, m, &screw, &f, VECTOR(0, -anti, 0), 0, -40, 0);
    goes(1e-5, m, &turned, &f, VECTOR(0, -twin, 0), 0, -40, 0);
    goes(1e-9, m, &screw, &f, VECTOR(1e5), 1e-9 * 1e4 / 2e-5, 0, 0);
}

/* Of BCC_Ta in Pa at u m/s, below 5 GPa of an edge and 10 GPa of a screw. */
static double edge_stress(double u)
{
    return 1e6 * (0.9196 * u + 22.286 * pow(u / 1105, 28.1015));
}

static double screw_stress(dd_ta_screw kind, double u)
{
    const dd_ta_fit *fit = &ta.ta_fit[kind];

    return 1e6 * (fit->k * (1 / (1 + exp(-fit->b * u)) - 0.5) + fit->alpha * u + exp(0.005 * (u - 1000)));
}

/* Edges move by BCC_Ta, junctions climb, nodes with more than two arms move by BCC_0b. */
TEST(pencil_others)
{
    const frame f = frame_of(VECTOR(1, 1, 1), VECTOR(1, -1, 0));
    const star edge = line(f.e[1], f.e[0], NULL), square = line(f.e[1], X, NULL),
               three = straight(3, f.e[1], f.e[0], NULL);
    const dd_mobility linear = by_law(pencil_law, DD_BCC_0B);
    dd_mobility m = pencil_law;
    double v[3];

    goes(1e-9, &m, &edge, &f, VECTOR(10 * edge_stress(30)), 30, 0, 0);
    goes(1e-9, &m, &edge, &f, VECTOR(0, 1e5, 1e10), 0, 1e-9 * 1e4 / 2e-5, 0.5);
    goes(1e-9, &m, &square, &f, VECTOR(1e9, 1e5), 0.05, 1e-9 * 1e4 / 2e-5, 0);
    moves(&linear, &three, &f, VECTOR(3e8, 5e8, 7e8), v);
    goes(1e-12, &m, &three, &f, VECTOR(3e8, 5e8, 7e8), v[0], v[1], v[2]);
    m.climb_junction = 0;
    goes(1e-9, &m, &three, &f, VECTOR(15 * edge_stress(30)), 30, 0, 0);
}

/* At nodes of a crystal's four Burgers vectors any force gives a velocity with positive power unless pinned. Where the
 * drag is the gradient of a convex function, the power grows with the force along a ray. */
TEST(any_force)
{
    static const double to[3][3] = {{10, -10, 3}, {0, 9, -9}, {-8, -2, 10}},
                        b[3][3] = {{1, 1, 1}, {1, -1, 1}, {1, 1, -1}};
    star s = {0};

    for (int j = 0; j < 3; j++) {
        add(&s, to[j], b[j], NULL);
    }
    for (int law = DD_BCC_TA; law <= DD_BCC_VA_NL_PLANAR; law++) {
        const dd_mobility m = by_law(law < DD_BCC_TA_PENCIL ? ta : any, (dd_mobility_law)law);
        for (s.node.constraint = 0; s.node.constraint < 7; s.node.constraint++) {
            double last = 0, v[3];
            for (double size = 1; size < (law < DD_BCC_TA_PENCIL ? 1e15 : 1e12); size *= 7) {
                const double force[3] = {size, -2 * size, 0.5 * size};
                move(&m, &s, force, v);
                const double along = dd_v3_dot(v, force) / size;
                assert_true(isfinite(along) && (along > 0 || s.node.constraint > 0));
                assert_true(along >= last || (law >= DD_BCC_TA_PENCIL && law != DD_BCC_TA_NL && law != DD_BCC_TA_NL_B));
                last = along;
            }
        }
    }
}

/* Frames are b, the direction of edges, the plane. */
TEST(ta_straight)
{
    const frame b = frame_of(VECTOR(1, 1, 1), VECTOR(1, -1, 0));
    const double speeds[] = {1e-3, 1, 30, 1000, 1500};

    for (int k = 0; k < 2; k++) {
        /* k 0: edges [1-10] of (11-2); 1: edges [11-2] of (-110). */
        const frame f = frame_of(b.e[0], b.e[1 + k]);
        const star edge = line(f.e[1], f.e[0], f.e[2]), screw = line(f.e[0], f.e[0], f.e[2]);
        /* No force gives no speed, nothing leaves the plane, and along a line only its own drag acts. */
        goes(1e-12, &ta, &screw, &f, VECTOR(0), 0, 0, 0);
        goes(1e-12, &ta, &edge, &f, VECTOR(0, 0, 1e9), 0, 0, 0);
        goes(1e-12, &ta, &screw, &f, VECTOR(1e6), 1e-9 * 1e6 / (10 * 1e-2), 0, 0);
        for (int i = 0; i < 2 * COUNT_OF(speeds); i++) {
            const double u = speeds[i / 2], sign = i % 2 == 0 ? -1 : 1;
            /* T = e_z x b for k = 0 is [-110]: forward, along [1-10], a screw along b moves in the other sense. */
            const dd_ta_screw kind = k == 1 ? DD_TA_110 : sign > 0 ? DD_TA_112AT : DD_TA_112T;
            goes(1e-9, &ta, &screw, &f, VECTOR(0, sign * 10 * screw_stress(kind, u)), 0, sign * u, 0);
            if (edge_stress(u) <= 5e9) {
                goes(1e-9, &ta, &edge, &f, VECTOR(sign * 10 * edge_stress(u)), sign * u, 0, 0);
            }
        }
    }
}

/* The sense of twinning has the crystal's threefold symmetry and reverses with the line. */
TEST(ta_twinning)
{
    const double way[3][3] = {{0, -1, 1}, {1, 0, -1}, {-1, 1, 0}}, b[3] = {1, 1, 1}, back[3] = {-1, -1, -1};
    const double force = 10 * screw_stress(DD_TA_112T, 5);

    for (int k = 0; k < 3; k++) {
        const frame f = frame_of(b, way[k]);
        const star along = line(f.e[0], b, f.e[2]), against = line(f.e[0], back, f.e[2]);
        goes(1e-9, &ta, &along, &f, VECTOR(0, force), 0, 5, 0);
        goes(1e-9, &ta, &against, &f, VECTOR(0, -force), 0, -5, 0);
        goes(1e-9, &ta, &against, &f, VECTOR(0, 10 * screw_stress(DD_TA_112AT, 5)), 0, 5, 0);
    }
}

/* At rest a screw holds e^-5 MPa, 1e-6 m/s wide; beyond 10 and 5 GPa straight lines; no speed exceeds the top. */
TEST(ta_ends)
{
    const frame f = frame_of(VECTOR(1, 1, 1), VECTOR(1, 1, -2));
    const star edge = line(f.e[1], f.e[0], f.e[2]), screw = line(f.e[0], f.e[0], f.e[2]);
    const double slope = 1000 * 0.5 / 4 + 2 + 0.005 * exp(-5);
    dd_mobility m = ta;
    double w[3];

    goes(1e-15, &ta, &screw, &f, VECTOR(0, 5e6 * exp(-5)), 0, 0.5 * exp(-5) / (1e6 * exp(-5) + slope), 0);
    moves(&ta, &screw, &f, VECTOR(0, 10e10), w);
    assert_near(screw_stress(DD_TA_110, w[1]), 1e10, 10);
    goes(1e-9, &ta, &screw, &f, VECTOR(0, 10e10 + 10e6 * 200 * 7), 0, w[1] + 7, 0);
    moves(&ta, &edge, &f, VECTOR(10 * 5e9), w);
    goes(1e-9, &ta, &edge, &f, VECTOR(10 * (5e9 + 91.96e6 * 7)), w[0] + 7, 0, 0);
    m.top_speed = 1e10;
    goes(1e-9, &m, &edge, &f, VECTOR(1e18), 10, 0, 0);
}

/* BCC_Ta_linear, and the junctions common to both laws. */
TEST(ta_linear)
{
    const frame b = frame_of(VECTOR(1, 1, 1), VECTOR(1, -1, 0));
    const dd_mobility m = by_law(ta, DD_BCC_TA_LINEAR);
    const double c = sqrt(0.75), s = 0.5;

    for (int k = 0; k < 2; k++) {
        const frame f = frame_of(b.e[0], b.e[1 + k]);
        double t[3];
        from_frame(&f, VECTOR(c, s, 0), t);
        const star mixed = line(t, f.e[0], f.e[2]), square = line(f.e[1], X, NULL);
        for (int sign = -1; sign <= 1; sign += 2) {
            const double screw = ta.ta_screw[k == 1 ? DD_TA_110 : sign > 0 ? DD_TA_112AT : DD_TA_112T];
            goes(1e-9, &m, &mixed, &f, VECTOR(3e9, sign * 5e9, 7e9), 3 / (10 * (c * 1e-2 + s * ta.ta_edge[1 - k])),
                 sign * 5 / (10 * (c * screw + s * 1e-2)), 0);
        }
        goes(1e-12, &m, &square, &f, VECTOR(3e9, 5e9), 3 / (10 * 5.0), 5 / (10 * 1e-2), 0);
        goes(1e-12, &ta, &square, &f, VECTOR(3e9, 5e9), 3 / (10 * 5.0), 5 / (10 * 1e-2), 0);
    }
}
