/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast a node moves under the force on it. Lengths in b, forces in Pa b^2, mobilities in 1/(Pa s), velocities in
 * b/s. */
#ifndef DD_MOBILITY_H
#define DD_MOBILITY_H

#include "network/node.h"

#include <stdbool.h>

typedef enum dd_mobility_law { DD_FCC_0, DD_BCC_0 } dd_mobility_law;

typedef struct dd_mobility {
    dd_mobility_law law;
    double edge, screw, climb; /* > 0; climb: BCC_0 only */
} dd_mobility;

/* The law of a name as ParaDiS writes it: FCC_0 (FCC_0b is read as the same), BCC_0. EQP_OK or EQP_ERR_UNKNOWN, and
 * *law is unchanged. */
int dd_mobility_find(const char *name, dd_mobility_law *law);

/* Every mobility that the law uses is positive and finite. */
bool dd_mobility_is_valid(const dd_mobility *mobility);

/* Velocity of a node. A pure function of its arguments, O(arms). Arms of no length have no say; pinned directions do
 * not move, and a node of the surface does not move at all.
 *
 * FCC_0: v = F / (1/2 sum_j L_j / M_j), M_j = M_edge + (M_screw - M_edge) |b_j . t_j| with the Burgers vector's
 * direction b_j, of which that part stays which all glide planes of the arms allow: with one plane a velocity in it,
 * with two along their common line, with three independent ones none. An arm whose normal is 0 restricts nothing.
 *
 * BCC_0: (1/2 sum_j L_j B_j) v = F with the drag tensors of W. Cai, V. V. Bulatov, Mater. Sci. Eng. A 387-389 (2004)
 * 277: B = c_m m m + c_n n n + B_line t t, where n = b x t / |b x t|, m = n x t, c_m^-2 = B_edge^-2 |b x t|^2 +
 * B_screw^-2 (b . t)^2, c_n^2 = B_climb^2 |b x t|^2 + B_screw^2 (b . t)^2, each B the inverse of a mobility. Motion of
 * a node along its own line changes nothing: B_line is small, but not 0.
 * \param[in]  to_neighbour  [node->narms] from the node to each neighbour by the nearest image (borrowed)
 * \param[in]  force         on the node, of all arms together
 * \param[out] velocity      0 where the drag is 0 or no number */
void dd_mobility_velocity(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                          const double force[3], double velocity[3]);

#endif
