/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins segments that touch: two segments nearer than rann that do not part. Where Burgers vectors of arms that come to
 * lie between the same two nodes cancel, lines annihilate; else they are a junction. *done as in remesh.h. */
#ifndef DD_COLLIDE_H
#define DD_COLLIDE_H

#include "distance.h"
#include "patch.h"
#include "rules.h"

/* True if two segments without a common node are nearer than rann, and their nearest points do not part. Positions and
 * velocities of their ends, by one choice of images. */
bool dd_wants_collide(const dd_rules *rules, const double xa[2][3], const double va[2][3], const double xb[2][3],
                      const double vb[2][3]);

/* True if two arms of one node close like a zip: the end of the shorter is nearer than rann to the longer, but not to
 * the node, and does not part from it. to_u, to_w: from the node to the other ends; vu, vw, v: velocities of the ends
 * and of the node. */
bool dd_wants_zip(const dd_rules *rules, const double to_u[3], const double to_w[3], const double vu[3],
                  const double vw[3], const double v[3]);

/* Joins segments a[0] - a[1] and b[0] - b[1]; with a common node (any of a equal to any of b) zips them. Patch: these
 * nodes, each once, in any order, and all neighbours of each; one new tag. Each segment brings the end that is nearer
 * than twice rann (zips: rann) to the nearest point, else a new node in it, and the two become one (or, where a segment
 * shorter than rann joins ends of three arms or more, its two ends, whether they part or not): the constrained one,
 * else that with the lower tag. It stands where the constrained one stands, else as near to the middle as the glide
 * planes of its arms allow. May change every node of the patch, but positions only of a and b; deletes one of a and b,
 * and nodes that are left without arms (also constrained ones). Half of the force on each end of a cut segment goes to
 * the new arms; where arms merge their forces add. Not done: nodes or segments are no more, they do not wish it, both
 * are constrained, the node would have more than DD_MOST_ARMS, or an arm would have no length or reach half through the
 * periodic box. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW (no new tag), EQP_ERR_ARGUMENT (a neighbour or a reverse arm
 * is missing). */
int dd_collide(dd_patch *patch, const dd_rules *rules, const dd_tag a[2], const dd_tag b[2], bool *done);

#endif
