/* SPDX-License-Identifier: BSD-3-Clause */
/* A screw dislocation lies in several glide planes at once, and goes on in the one where the force on it is largest:
 * the conditions and thresholds of ParaDiS 4.0 (its user guide, enableCrossSlip), the crystal's axes those of the box.
 * FCC: b along <110>, two {111} planes, screw within 2 degrees. BCC: b along <111>, three {110} planes, within 0.5.
 * *done as in remesh.h. */
#ifndef DD_CROSS_SLIP_H
#define DD_CROSS_SLIP_H

#include "patch.h"
#include "rules.h"
#include "split.h"

/* True if a node wishes to slip: it is free, has two arms with glide planes, and of the force F of both arms along the
 * glide direction g of each plane, |F . g| is larger in another plane than in the plane of an arm, by more than 1e-4 mu
 * |b| times half of their length. Either both arms (within twice the angle) and the line between their ends are screw
 * and have one plane, or one arm is screw and the other one lies in the better plane already. to1, to2: from the node
 * to the neighbour of arm[0] and of arm[1]; mu: in the unit of the arms' forces over b^2. */
bool dd_wants_cross_slip(dd_crystal crystal, double mu, const dd_node *node, const double to1[3], const double to2[3]);

/* Slips a node, or leaves it. Patch: the node and its two neighbours (tag[0]; those of its arms, in any order), and all
 * neighbours of each. The crystal is rules->cross_slip. Where both arms have one plane, one neighbour goes to where
 * both are in line with b, the node follows and goes on along the force in the new plane, so that the three make a
 * triangle a little larger than area_min, and both arms get the new plane. Where one arm lies in the better plane
 * already, the other one gets it, and its end goes in line. Neighbours go only where they are free and all their arms
 * lie in the old plane; that of arm[0] goes first. Changes positions, planes and velocities of these nodes, no arms.
 * Forces stay. Not done: the node is no more or does not wish it; neither neighbour may go and they are not in line;
 * the force at the new place, which changes by what both arms do to themselves and to each other, would drive the node
 * back; the force on a single arm is not larger in the new plane by that threshold; or an arm would have no length or
 * reach half through the periodic box. EQP_OK, EQP_ERR_ARGUMENT (a neighbour or a reverse arm is missing). O(arms of
 * the three). */
int dd_cross_slip(dd_patch *patch, const dd_rules *rules, const dd_mover *mover, dd_tag tag, bool *done);

#endif
