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

typedef enum dd_mobility_law {
    DD_FCC_0,
    DD_FCC_0B,
    DD_FCC_LINEAR,
    DD_FCC_CLIMB,
    DD_BCC_0,
    DD_BCC_0B,
    DD_BCC_LINEAR,
    DD_BCC_GLIDE,
    DD_BCC_TA,
    DD_BCC_TA_LINEAR,
    DD_BCC_TA_PENCIL,
    DD_BCC_TA_NL,
    DD_BCC_TA_NL_B,
    DD_BCC_TA_NL_B_PLANAR,
    DD_BCC_VA_NL,
    DD_BCC_VA_NL_PLANAR,
    DD_HCP_LINEAR,
    DD_RELAX,
    DD_RELAX_GLIDE,
    DD_MOBILITY_NLAWS
} dd_mobility_law;

/* Their names in this order, as ParaDiS has them. */
#define DD_MOBILITY_NAMES                                                                                              \
    "|FCC_0|FCC_0b|FCC_linear|FCC_climb|BCC_0|BCC_0b|BCC_linear|BCC_glide|BCC_Ta|BCC_Ta_linear|BCC_Ta_pencil"          \
    "|BCC_Ta_nl|BCC_Ta_nl_b|BCC_Ta_nl_b_planar|BCC_Va_nl|BCC_Va_nl_planar|HCP_linear|Relax|Relax_Glide"

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
 * docs/dislocation.md has the formulas of all laws and their sources. In a law with curves sum L s(v . g) g + D v = F
 * is solved by Newton's method with a line search from rest, until the force is right to 1e-12 or the rest is rounding;
 * after 100 steps the last velocity counts.
 * \param[in]  to_neighbour  [node->narms] from the node to each neighbour by the nearest image (borrowed)
 * \param[in]  force         on the node, of all arms together
 * \param[out] velocity      0 where the drag is 0 or no number */
void dd_mobility_velocity(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                          const double force[3], double velocity[3]);

#endif
