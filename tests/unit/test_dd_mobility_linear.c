/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_star.h"
#include "unit.h"

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

/* Every slip system by its own drags: edges along n x b with a glide drag of 2 + k, screws with 20 + k, for system k.
 */
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
