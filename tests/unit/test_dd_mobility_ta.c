/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_star.h"
#include "unit.h"

/* Pa, of a screw at u m/s below 10 GPa. */
static double screw_stress(const dd_ta_fit *fit, double u)
{
    return 1e6 * (fit->k * (1 / (1 + exp(-fit->b * u)) - 0.5) + fit->alpha * u + exp(0.005 * (u - 1000)));
}

/* Frames are b, the direction of edges, the plane. Half lengths sum to 10: a force of 10 s. */
TEST(ta_straight)
{
    const frame b = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const double speeds[] = {1e-3, 1, 30, 1000, 1500};

    for (int k = 0; k < 2; k++) {
        /* k 0: edges [1-10] of (11-2); 1: edges [11-2] of (-110). */
        const frame f = frame_of(b.e[0], b.e[1 + k]);
        const star edge = line(f.e[1], f.e[0], f.e[2]), screw = line(f.e[0], f.e[0], f.e[2]);
        /* No force, no speed; out of the plane nothing goes. */
        goes_under(1e-12, &ta, &screw, &f, 0, 0, 0, 0, 0, 0);
        goes_under(1e-12, &ta, &edge, &f, 0, 0, 1e9, 0, 0, 0);
        /* Along a line there is its drag alone. */
        goes_under(1e-12, &ta, &screw, &f, 1e6, 0, 0, 1e-9 * 1e6 / (10 * 1e-2), 0, 0);
        for (int i = 0; i < 5; i++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                const double u = speeds[i];
                const double s = 1e6 * (0.9196 * u + 22.286 * pow(u / 1105, 28.1015));
                /* T = e_z x b for k = 0 is [-110]: forward, along [1-10], a screw along b moves in the other sense. */
                const dd_ta_fit *fit = &ta.ta_fit[k == 1 ? DD_TA_110 : sign > 0 ? DD_TA_112AT : DD_TA_112T];
                goes_under(1e-9, &ta, &screw, &f, 0, sign * 10 * screw_stress(fit, u), 0, 0, sign * u, 0);
                if (s <= 5e9) {
                    goes_under(1e-9, &ta, &edge, &f, sign * 10 * s, 0, 0, sign * u, 0, 0);
                }
            }
        }
    }
}

/* The sense of twinning has the crystal's threefold axis, and turns with the line's sense. */
TEST(ta_twinning)
{
    const double way[3][3] = {{0, -1, 1}, {1, 0, -1}, {-1, 1, 0}}, b[3] = {1, 1, 1}, back[3] = {-1, -1, -1};
    const double force = 10 * screw_stress(&ta.ta_fit[DD_TA_112T], 5);

    for (int k = 0; k < 3; k++) {
        const frame f = frame_of(b, way[k]);
        const star along = line(f.e[0], b, f.e[2]), against = line(f.e[0], back, f.e[2]);
        goes_under(1e-9, &ta, &along, &f, 0, force, 0, 0, 5, 0);
        goes_under(1e-9, &ta, &against, &f, 0, -force, 0, 0, -5, 0);
        goes_under(1e-9, &ta, &against, &f, 0, 10 * screw_stress(&ta.ta_fit[DD_TA_112AT], 5), 0, 0, 5, 0);
    }
}

/* At rest a screw holds e^-5 MPa, 1e-6 m/s wide; beyond 10 and 5 GPa straight lines; no speed exceeds the top. */
TEST(ta_ends)
{
    const frame f = frame_of((double[]){1, 1, 1}, (double[]){1, 1, -2});
    const star edge = line(f.e[1], f.e[0], f.e[2]), screw = line(f.e[0], f.e[0], f.e[2]);
    dd_mobility m = ta;
    double w[3], far[3];

    const double slope = 1000 * 0.5 / 4 + 2 + 0.005 * exp(-5);
    goes_under(1e-15, &ta, &screw, &f, 0, 5e6 * exp(-5), 0, 0, 0.5 * exp(-5) / (1e6 * exp(-5) + slope), 0);
    moves(&ta, &screw, &f, 0, 10e10, 0, w);
    moves(&ta, &screw, &f, 0, 10e10 + 10e6 * 200 * 7, 0, far);
    assert_near(far[1], w[1] + 7, 1e-9 * far[1]);
    assert_near(screw_stress(&ta.ta_fit[DD_TA_110], w[1]), 1e10, 10);
    moves(&ta, &edge, &f, 10 * 5e9, 0, 0, w);
    moves(&ta, &edge, &f, 10 * (5e9 + 91.96e6 * 7), 0, 0, far);
    is_to(1e-9, far, w[0] + 7, 0, 0);
    m.top_speed = 1e10;
    goes_under(1e-9, &m, &edge, &f, 1e18, 0, 0, 10, 0, 0);
}

/* BCC_Ta_linear, and junctions, which both have alike. */
TEST(ta_linear)
{
    const frame b = frame_of((double[]){1, 1, 1}, (double[]){1, -1, 0});
    const double c = sqrt(0.75), s = 0.5;
    dd_mobility m = ta;
    double t[3];

    m.law = DD_BCC_TA_LINEAR;
    for (int k = 0; k < 2; k++) {
        const frame f = frame_of(b.e[0], b.e[1 + k]);
        const star mixed = line(in(&f, c, s, 0, t), f.e[0], f.e[2]);
        const double edge = ta.ta_edge[1 - k], forth = ta.ta_screw[k == 1 ? DD_TA_110 : DD_TA_112AT],
                     back = ta.ta_screw[k == 1 ? DD_TA_110 : DD_TA_112T];
        goes_under(1e-9, &m, &mixed, &f, 3e9, 5e9, 7e9, 3 / (10 * (c * 1e-2 + s * edge)),
                   5 / (10 * (c * forth + s * 1e-2)), 0);
        goes_under(1e-9, &m, &mixed, &f, 3e9, -5e9, 7e9, 3 / (10 * (c * 1e-2 + s * edge)),
                   -5 / (10 * (c * back + s * 1e-2)), 0);
        const star square = line(f.e[1], X, NULL);
        for (int law = 0; law < 2; law++) {
            m.law = law == 0 ? DD_BCC_TA : DD_BCC_TA_LINEAR;
            goes_under(1e-12, &m, &square, &f, 3e9, 5e9, 0, 3 / (10 * 5.0), 5 / (10 * 1e-2), 0);
        }
        m.law = DD_BCC_TA_LINEAR;
    }
}

/* Any force has a velocity that its drag undoes: power grows with the force along a ray, and nothing is no number. */
TEST(ta_any_force)
{
    const double to[3][3] = {{10, -10, 3}, {0, 9, -9}, {-8, -2, 10}};
    const double b[3][3] = {{1, 1, 1}, {1, -1, 1}, {-2, 0, -2}};
    double v[3];

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
