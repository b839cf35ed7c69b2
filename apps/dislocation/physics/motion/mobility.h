/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast a node moves under the force on it. Lengths in b, forces in Pa b^2, mobilities in 1/(Pa s), drags in Pa s,
 * velocities in b/s. Laws and names are those of ParaDiS 4.0 (user guide, "Available Mobility Modules"), without mass;
 * none is for a rotated crystal: Burgers vectors and normals are in the crystal's axes. */
#ifndef DD_MOBILITY_H
#define DD_MOBILITY_H

#include "network/node.h"

#include <stdbool.h>

/* Parameters that a law reads: bits. */
enum {
    DD_READS_MOBILITIES = 1,
    DD_READS_CLIMB = 2,
    DD_READS_HCP = 4,
    DD_READS_TA = 8,
    DD_READS_TA_DRAGS = 16,
    DD_READS_TA_FIT = 32,
    DD_READS_TEMPERATURE = 64,
    DD_READS_MODULUS = 128,
    DD_READS_BURGERS = 256
};

/* The laws: LAW(id, name, drag, in_planes, reads). `drag` fills the node's drag tensor; in_planes restricts the
 * velocity to the glide planes of all arms. */
#define DD_MOBILITY_LAWS(LAW)                                                                                          \
    LAW(DD_FCC_0, "FCC_0", dd__drag_fcc_0, true, DD_READS_MOBILITIES)                                                  \
    LAW(DD_FCC_0B, "FCC_0b", dd__drag_fcc_0b, true, DD_READS_MOBILITIES | DD_READS_CLIMB)                              \
    LAW(DD_FCC_LINEAR, "FCC_linear", dd__drag_fcc_linear, true, DD_READS_MOBILITIES | DD_READS_CLIMB)                  \
    LAW(DD_FCC_CLIMB, "FCC_climb", dd__drag_fcc_climb, true, DD_READS_MOBILITIES)                                      \
    LAW(DD_BCC_0, "BCC_0", dd__drag_bcc_0, false, DD_READS_MOBILITIES | DD_READS_CLIMB)                                \
    LAW(DD_BCC_0B, "BCC_0b", dd__drag_bcc_0b, false, DD_READS_MOBILITIES | DD_READS_CLIMB)                             \
    LAW(DD_BCC_LINEAR, "BCC_linear", dd__drag_bcc_linear, true, DD_READS_MOBILITIES | DD_READS_CLIMB)                  \
    LAW(DD_BCC_GLIDE, "BCC_glide", dd__drag_bcc_glide, true, DD_READS_MOBILITIES)                                      \
    LAW(DD_BCC_TA, "BCC_Ta", dd__drag_bcc_ta, true, DD_READS_TA | DD_READS_TA_FIT | DD_READS_BURGERS)                  \
    LAW(DD_BCC_TA_LINEAR, "BCC_Ta_linear", dd__drag_bcc_ta_linear, true, DD_READS_TA | DD_READS_TA_DRAGS)              \
    LAW(DD_BCC_TA_PENCIL, "BCC_Ta_pencil", dd__drag_bcc_ta_pencil, false,                                              \
        DD_READS_MOBILITIES | DD_READS_CLIMB | DD_READS_BURGERS)                                                       \
    LAW(DD_BCC_TA_NL, "BCC_Ta_nl", dd__drag_bcc_ta_nl, false, DD_READS_TEMPERATURE | DD_READS_BURGERS)                 \
    LAW(DD_BCC_TA_NL_B, "BCC_Ta_nl_b", dd__drag_bcc_ta_nl_b, false, DD_READS_TEMPERATURE | DD_READS_BURGERS)           \
    LAW(DD_BCC_TA_NL_B_PLANAR, "BCC_Ta_nl_b_planar", dd__drag_bcc_ta_nl_b_planar, true,                                \
        DD_READS_TEMPERATURE | DD_READS_BURGERS)                                                                       \
    LAW(DD_BCC_VA_NL, "BCC_Va_nl", dd__drag_bcc_va_nl, false,                                                          \
        DD_READS_TEMPERATURE | DD_READS_MODULUS | DD_READS_BURGERS)                                                    \
    LAW(DD_BCC_VA_NL_PLANAR, "BCC_Va_nl_planar", dd__drag_bcc_va_nl_planar, true,                                      \
        DD_READS_TEMPERATURE | DD_READS_MODULUS | DD_READS_BURGERS)                                                    \
    LAW(DD_HCP_LINEAR, "HCP_linear", dd__drag_hcp_linear, true, DD_READS_HCP)                                          \
    LAW(DD_RELAX, "Relax", dd__drag_relax, true, 0)                                                                    \
    LAW(DD_RELAX_GLIDE, "Relax_Glide", dd__drag_relax, true, 0)

#define DD_MOBILITY_ID(id, name, drag, in_planes, reads) id,
#define DD_MOBILITY_WORD(id, name, drag, in_planes, reads) "|" name

typedef enum dd_mobility_law { DD_MOBILITY_LAWS(DD_MOBILITY_ID) DD_MOBILITY_NLAWS } dd_mobility_law;

/* "|FCC_0|FCC_0b|..." */
#define DD_MOBILITY_NAMES DD_MOBILITY_LAWS(DD_MOBILITY_WORD)

/* Slip systems of HCP_linear with drags of their own: Burgers vector and type of plane. */
typedef enum dd_hcp_system {
    DD_HCP_A_BASAL,
    DD_HCP_A_PRISMATIC,
    DD_HCP_A_PYRAMIDAL, /* first order, {10-11} */
    DD_HCP_C_PRISMATIC,
    DD_HCP_CPA_PRISMATIC,
    DD_HCP_CPA_PYRAMIDAL,
    DD_HCP_CPA_PYRAMIDAL_2, /* second order, {11-22} */
    DD_HCP_SYSTEMS
} dd_hcp_system;

/* Screws of BCC_Ta with curves of their own: by plane and sense. */
typedef enum dd_ta_screw { DD_TA_110, DD_TA_112T, DD_TA_112AT, DD_TA_SCREWS } dd_ta_screw;

typedef struct dd_ta_fit {
    double k, b, alpha; /* MPa, s/m, MPa s/m */
} dd_ta_fit;

typedef struct dd_mobility {
    dd_mobility_law law;
    double edge, screw, climb;
    double climb_junction; /* climb of nodes with more than two arms, where positive; 0: `climb` (BCC_0b, FCC_0b) */
    double relax[3];       /* along x, y, z; >= 0 (Relax) */
    bool relax_total;      /* Relax: by the force, not by the force per length */
    double hcp_edge[DD_HCP_SYSTEMS], hcp_screw[DD_HCP_SYSTEMS], hcp_climb, hcp_line; /* drags (HCP_linear) */
    double c_over_a;                                                                 /* (HCP_linear) 1.05 .. 1.95 */
    dd_ta_fit ta_fit[DD_TA_SCREWS];                                                  /* (BCC_Ta) */
    double ta_edge[2], ta_screw[DD_TA_SCREWS];     /* drags on {110} and {112}, (BCC_Ta_linear) */
    double ta_climb_edge, ta_climb_screw, ta_line; /* drags (both) */
    double burgers;                                /* m (all but the linear laws) */
    double temperature;                            /* K (BCC_Ta_nl, BCC_Va_nl and their variants) */
    double pressure, modulus_0;                    /* Pa; the shear modulus without pressure (BCC_Va_nl, likewise) */
    double top_speed;                              /* b/s, of shear waves; 0: none. It bounds every law */
} dd_mobility;

/* Finds a law by ParaDiS' name, in any case. EQP_OK or EQP_ERR_UNKNOWN with *law unchanged. */
int dd_mobility_find(const char *name, dd_mobility_law *law);

/* True if nodes stay in the glide planes of their arms under this law. */
bool dd_mobility_glides(dd_mobility_law law);

/* Key of the first parameter that the law reads and that is not positive and finite (cOVERa: out of range); NULL: all
 * are valid. */
const char *dd_mobility_lacks(const dd_mobility *mobility);

/* DD_READS_... of a law. */
unsigned dd_mobility_reads(dd_mobility_law law);

/* Velocity of a node. A pure function of its arguments, O(arms). Arms of no length do not count; pinned directions do
 * not move, and a node of the surface does not move at all.
 *
 * A linear law (every law but the laws with curves below) is a drag tensor D, sum_j L_j / 2 of its arms' drags per
 * length, and D v = F. A pinned direction leaves the system. Then, in laws that glide, of v stays the part that all
 * glide planes of the arms allow: with one plane a velocity in it, with two along their common line, with three
 * independent ones none. An arm whose normal is 0 restricts nothing. At last |v| becomes |v| / (1 + (|v| /
 * top_speed)^10)^(1/10).
 *
 * Below, b is the direction of an arm's Burgers vector, t the direction of its line, c = b . t, s = |b x t|, B_x the
 * inverse of mobility x, and I the unit tensor.
 *
 * BCC_0, as W. Cai, V. V. Bulatov, Mater. Sci. Eng. A 387-389 (2004) 277 derive it: D = B_g m m + B_c n n + B_l t t,
 * n = b x t / s, m = n x t, B_g^-2 = B_edge^-2 s^2 + B_screw^-2 c^2, B_c^2 = B_climb^2 s^2 + B_screw^2 c^2,
 * B_l = min(B_edge, B_screw) / 100; a screw (s < 1e-6) has B_screw for m and n. Junctions of <100> and <110>, a
 * component of whose Burgers vector is 0, do not glide: D = B_climb (I - t t) + B_l t t.
 *
 * BCC_0b: BCC_0, but B_climb is 1 / climb_junction in nodes of more than two arms, and junctions at nodes of two arms
 * have D = B_climb I.
 *
 * BCC_glide: BCC_0 with n the arm's plane and no climb at all, B_climb infinite (1e10 in ParaDiS): nodes of two arms do
 * not move if one is a junction, other nodes along it only.
 *
 * FCC_0: D = I / M, M = M_edge + (M_screw - M_edge) |c|.
 *
 * FCC_0b: BCC_0b with n the arm's plane and B_l = min(B_edge, B_screw). Its junctions are the arms whose plane is not
 * {111}: a component of the normal is 0.
 *
 * FCC_climb: D = B_g m m + 1e4 B_edge n n + min(B_edge, B_screw) t t with n the arm's plane. Junctions are as in FCC_0b
 * with that climb; a plane is not {111} if |n_x n_y n_z| < 0.13608.
 *
 * BCC_linear, FCC_linear, HCP_linear: a line is taken for |c| L of screw along b and for edges along the edge
 * directions e = p x b of two of b's slip planes p, that of the arm and that with the next longest projection. Screw: D
 * = B_screw g g + B_climb n n + B_l b b, g = n x b. Edge: D = B_edge b b + B_climb p p + B_l e e. Junction: D = B_climb
 * (I - t t) + B_l t t.
 *
 * Of BCC_linear the planes are {110} and {112}, a b that is not nearest to <111> is a junction's, and
 * B_l = min(B_edge, B_screw) / 1e4. Of FCC_linear the planes are {111}, a junction has a b that is not nearest to <110>
 * or a plane that is nearer to {100}, and B_l = min(B_edge, B_screw) / 100. Of HCP_linear the Burgers vectors are a, c,
 * c + a with |a| = 1 in the axes x = a, z = c, the planes are basal, prismatic, first and second pyramidal ones, each
 * with drags of its own. Other vectors, and planes nearer to one that a reaction of two slip systems leaves, are of
 * junctions. B_climb = hcp_climb, B_l = hcp_line.
 *
 * BCC_Ta, BCC_Ta_linear, fits to molecular dynamics of tantalum (source: ParaDiS 4.0, MobilityLaw_Ta.cc; its user guide
 * leaves them out): as BCC_linear, with B_climb = ta_climb_edge, of screws and junctions ta_climb_screw, and B_l =
 * ta_line, but edges are no longer than their arm, a screw glides along the edges of its slip plane, and one without a
 * plane in {110}. Glide along g at u = v . g costs s(u). On {112} a screw moves in the twinning sense where b . t and u
 * T . g have the same sign, T = b_i e_i x b, i the axis at right angles to g.
 *
 * BCC_Ta_linear: s = ta_edge u, ta_screw u. BCC_Ta, odd in u, here in MPa and m/s: edge s = 0.9196 u + 22.286 (u /
 * 1105)^28.1015, screw s = k (1 / (1 + e^(-b u)) - 1/2) + alpha u + e^(0.005 u - 5); from 5 and 10 GPa on a straight
 * line of slope 92 and 100 alpha. The screw's curve jumps at rest by 2 e^-5 MPa: it crosses that linearly between -1e-6
 * and 1e-6 m/s, so that every force has a velocity. (ParaDiS has none there, and takes that of BCC_Ta_linear.)
 *
 * BCC_Ta_pencil, BCC_Ta_nl, BCC_Va_nl and their variants take a line for s L of edge along e = (t - c b) / s, whose
 * glide v . b costs s(u) b, and |c| L of screw. Climb is a drag along e x b. (Sources: ParaDiS 4.0,
 * MobilityLaw_Ta_pencil.cc, Mobility_BCC_Ta_nl.cc, ..._b.cc, ..._b_planar.cc, MobilityLaw_BCC_Va_nl.cc, ..._planar.cc.)
 *
 * BCC_Ta_pencil: edges as in BCC_Ta, B_climb = 1 / climb, B_l = 2e-5. Junctions are as in BCC_linear; a node of more
 * than two arms moves by BCC_0b where climb_junction > 0. Screws glide in every direction across b. Directions of
 * twinning, T above, and of antitwinning take turns 60 degrees apart, and a is the angle from half way between the two
 * that are nearest to v, towards antitwinning. The drag is (1 - w) s_T(u) + w s_AT(u), w = sin(a) + 1/2, at the angle
 * -log(A / (a + A / 2) - 1) / 15 in place of a, A = pi / 3 + 0.00081. s_T and s_AT are curves of BCC_Ta with (K, B,
 * alpha) = (2200, 0.12, 1.7) and (10600, 0.5, 3) and e^(0.012 u - 9.6).
 *
 * BCC_Ta_nl, r = u b / 2000 m/s, T the temperature, P = 525 MPa, times |b|: edges s = P (2.9146 + 14.027 e^(-T /
 * 434.5)) ((r + h)^1.6 - h^1.6) / (1 - r^2)^(1/2), h = 1e-8; screws s = P (x^5 + y^5)^(1/5), x = max(0, 37.166 r -
 * 1.14286) / (1 - r^2)^(1/2), y = 2.3643 e^(T / 1127) ((r + h)^q - h^q), q = 0.2757 + T / 2548. From r = 0.9 on s of
 * edges and x go straight on. Screws glide alike in all directions across b. Edges climb with 1000 B, B = s(r = 0.9)
 * / (2000 m/s); B_l = B / 1000, of screws 37.166 P / (2000 m/s) / 1000. Nodes at a junction, a component of whose
 * Burgers vector is 0, move along its line alone, and by other arms alone; nodes of more than three arms do not move.
 * In BCC_Ta_nl_b B_l u is 1e-4 of s of the other character; in BCC_Ta_nl_b_planar edges and screws glide and climb by
 * the arm's plane, if it has one, where screws climb with 37.166 P / (2000 m/s).
 *
 * BCC_Va_nl: f = |b| s has the speed x y / (x^n + y^n)^(1/n) where x = M s + 1e-6 C and y is thermally activated, C =
 * 5077 m/s. Edges: n = 3, y = v e^-H sinh(H s / P), straight on from y = C. Screws: n = 5, y = v e^-H ((0.14 + s / P)^k
 * - (0.14 - s / P)^k), k = H / log 1.14, the last term constant from s = 0.133 P on. H, v, M depend on the temperature,
 * P and H on the pressure by polynomials of pressure / modulus_0. Screws glide alike in all directions across b. Edges
 * climb with 1000 / M; B_l is 1e-3 ds/du at the speed of glide. A junction, a component of whose Burgers vector is 0,
 * has B = 100 / M of screws across and 1e-6 of that along its line. In BCC_Va_nl_planar a screw's v across b is u_1 g_1
 * + u_2 g_2, g_i = (e_i - b_i b) / 2^(1/2) of the two axes i whose e_i x b is less near to the force than the third,
 * and costs s(u_1) g_1 + s(u_2) g_2; B_l is 5e-3 of the sum of both slopes.
 *
 * Of BCC_Ta, BCC_Ta_linear, BCC_Ta_nl and BCC_Ta_nl_b sum L s(v . g) g + D v = F is the gradient of a convex function
 * and has one solution. Newton's method with a line search finds it from rest, until the force is right to 1e-12 or the
 * rest is rounding. In BCC_Ta_pencil the slope jumps between sectors: where that stops a search, it begins again in
 * each sector. The answer after 100 steps, if ever, is that of the last.
 *
 * Relax, Relax_Glide: v_i = relax_i F_i / (sum_j L_j / 2), or v_i = relax_i F_i.
 * \param[in]  to_neighbour  [node->narms] from the node to each neighbour by the nearest image (borrowed)
 * \param[in]  force         on the node, of all arms together
 * \param[out] velocity      0 where the drag is 0 or no number */
void dd_mobility_velocity(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                          const double force[3], double velocity[3]);

#endif
