/* SPDX-License-Identifier: BSD-3-Clause */
/* A node of many arms comes apart where that dissipates more: the arms part in two groups, each with its node, joined
 * by a junction segment if the groups' Burgers vectors want one. The criterion is that of V. V. Bulatov et al., Nature
 * 440 (2006) 1174 (supplement) and A. Arsenlis et al., MSMSE 15 (2007) 553, section 3: the power sum F.v of all nodes
 * concerned. *done as in remesh.h. */
#ifndef DD_SPLIT_H
#define DD_SPLIT_H

#include "elastic/segment.h"
#include "patch.h"
#include "rules.h"

/* Velocity of a node under a force: the arguments of dd_mobility_velocity(). */
typedef void (*dd_velocity)(const void *user, const dd_node *node, const double (*to_neighbour)[3],
                            const double force[3], double velocity[3]);

typedef struct dd_mover {
    dd_velocity velocity;
    const void *user;        /* handed to it (borrowed) */
    const dd_medium *medium; /* shear modulus in the unit of the arms' forces over b^2; the patch's box counts
                              * (borrowed) */
    double noise;            /* speeds that mean nothing, >= 0: a split has to gain |F| times that of both nodes */
} dd_mover;

/* True if a node may come apart: it is free, with four arms or more. */
bool dd_wants_split(const dd_node *node);

/* Splits a node, or leaves it. Patch: the node and all its neighbours, in any order; one new tag. The arms' forces must
 * belong to the node's place. Every partition into two groups of two arms or more is tried (with more than ten arms:
 * each one with a group of two) with its nodes 2 rann apart: the faster one goes there along its first velocity, the
 * other stays, or both go half the way if their velocities are opposite. There forces are the forces at the node's
 * place, but for the forces of the arms and the junction on themselves and on each other: these are computed anew
 * (dd_pairs_plain), so that lines which attract each other once they are apart stay together. The partition of most
 * power is taken if it beats the node as it is by more than mover->noise, and its nodes go on parting. Then a node that
 * moves goes on along its way until line tension holds it, as in ParaDiS 4.0 (user guide, "Dissociation of Multi-arm
 * Nodes"): the root of the core forces of its arms and of the junction along that way, if there is one before an arm is
 * longer than max_seg, else the end with the smaller force. Both nodes get the velocities that they have 2 rann apart;
 * the group without arm[0] goes to the created node. Changes arms of all nodes of the patch, the position of no
 * neighbour; deletes none. Forces of arms stay, that of the junction is 0. O(partitions x arms^2), a few microseconds
 * each for four arms. Not done: the node is no more or does not wish it, no partition gains, or an arm would have no
 * length or reach half through the periodic box. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW (no new tag),
 * EQP_ERR_ARGUMENT (a neighbour or a reverse arm is missing). */
int dd_split(dd_patch *patch, const dd_rules *rules, const dd_mover *mover, dd_tag tag, bool *done);

#endif
