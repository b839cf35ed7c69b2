/* SPDX-License-Identifier: BSD-3-Clause */
/* Topology changes of the network: their conditions, and operations on a patch. Lengths in units of b. */
#ifndef DD_OPERATIONS_H
#define DD_OPERATIONS_H

#include "elastic/pairs.h"
#include "node.h"

#include <stdbool.h>

/* The crystal with its slip systems; its axes are the axes of the box. */
typedef enum dd_crystal { DD_NO_CRYSTAL, DD_FCC, DD_BCC } dd_crystal;

typedef struct dd_rules {
    double max_seg;        /* longer segments are cut; required */
    double min_seg;        /* nodes with shorter arms go; <= max_seg / 2 */
    double area_min;       /* nodes whose triangle with their two neighbours is smaller go */
    double area_max;       /* arms of nodes with a larger triangle are cut */
    double r_tol;          /* error of a position in one step; required unless rann is given */
    double rann;           /* segments that come closer touch */
    bool planes;           /* segments keep their glide planes: a node where two meet stays */
    dd_crystal cross_slip; /* screws change planes as in this crystal; DD_NO_CRYSTAL: they do not */
} dd_rules;

/* Fills members that are 0 with ParaDiS' defaults: rann = 2 r_tol, area_min = min(2 r_tol max_seg, sqrt(3)/4
 * min_seg^2), area_max = (4 area_min + sqrt(3)/4 max_seg^2) / 2; without min_seg that of an equilateral triangle of
 * area 2 r_tol max_seg, half of max_seg at most. Returns EQP_OK, or EQP_ERR_ARGUMENT for values that are not
 * finite and positive, min_seg > max_seg / 2 or area_min >= area_max; *rules is unchanged on error. */
int dd_rules_complete(dd_rules *rules);

/* ---- Keeps segments between min_seg and max_seg, and short where the line bends: what ParaDiS calls remesh rule 2. A
 * wish is a pure function of a node or segment; the operation checks it again, because other operations may have
 * changed the network since the wish, and sets *done if it changed anything. *done is unchanged on error, and after an
 * error the patch is good for dd_patch_free() only. Where *done is false nothing in the patch has changed. */

/* Area of the triangle that a node makes with its neighbours if it has two arms and no pinned direction, and the area
 * does not shrink; else 0. to1, to2: from the node to its neighbours; v1, v2: these neighbours' velocities. */
double dd_bend_area(const dd_node *node, const double to1[3], const double to2[3], const double v1[3],
                    const double v2[3]);

/* True if a segment is cut: it is longer than max_seg, or longer than 2 min_seg where the line bends by more than
 * area_max. bend: the larger dd_bend_area() of its ends. */
bool dd_wants_refine(const dd_rules *rules, double length, double bend);

/* Cuts segment a - b in the middle. Patch: a, b, in any order; one new tag. Changes arm b of a and arm a of b; creates
 * a free node with the segment's Burgers vector and plane, the ends' mean velocity, the home of a and half of each
 * end's force by the segment. Not done: a or b or their segment is no more. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW
 * (no new tag), EQP_ERR_ARGUMENT (only one of the two arms is there). */
int dd_refine(dd_patch *patch, dd_tag a, dd_tag b, bool *done);

/* True if a node is taken out: it is free with two arms; an arm is shorter than min_seg, or the triangle with its
 * neighbours is smaller than area_min and does not grow; the neighbours are nearer than max_seg to each other; and,
 * with rules->planes, the arms have one glide plane, or one is shorter than b, or both are shorter than a fifth of
 * min_seg. to1, to2: from the node to the neighbour of arm[0] and of arm[1]; v1, v2: these neighbours' velocities. */
bool dd_wants_coarsen(const dd_rules *rules, const dd_node *node, const double to1[3], const double to2[3],
                      const double v1[3], const double v2[3]);

/* Joins the neighbours of a node and deletes it. Patch: the node and its two neighbours, in any order. Changes the
 * neighbours' arms towards the node and towards each other: where they are joined already, the Burgers vectors add, and
 * where these cancel the neighbours part; one that is left without arms is deleted. Not done: the node is no more or
 * does not wish it, or the neighbours are so far apart or so near that their arm would be none.
 * EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT (a neighbour or a reverse arm is missing). */
int dd_coarsen(dd_patch *patch, const dd_rules *rules, dd_tag tag, bool *done);

/* ---- How near two segments come. Pure geometry: the caller chooses the periodic images. */

/* True if two segments are certainly farther apart than `reach`: the balls around them are farther apart. `between`:
 * from one middle to the other by the nearest image; half1, half2: half lengths. No branches: loops over candidates
 * vectorise. */
static inline bool dd_segments_are_far(const double between[3], double half1, double half2, double reach)
{
    const double sum = half1 + half2 + reach;

    return between[0] * between[0] + between[1] * between[1] + between[2] * between[2] > sum * sum;
}

/* Square of the least distance of two segments a1 - a2 and b1 - b2, and where it is: a1 + s (a2 - a1) and
 * b1 + t (b2 - b1), 0 <= s, t <= 1. Where many pairs of points come equally near (parallel segments) one of them.
 * Segments without length are points. The stationary point of the quadratic form in s and t, else the least value on
 * the border of the square (V. J. Lumelsky, Inf. Process. Lett. 21 (1985) 55). */
double dd_segments_distance2(const double a1[3], const double a2[3], const double b1[3], const double b2[3], double *s,
                             double *t);

/* The same for a point and a segment b1 - b2. */
double dd_point_distance2(const double point[3], const double b1[3], const double b2[3], double *t);

/* ---- Joins segments that touch: two segments nearer than rann that do not part. Where Burgers vectors of arms that
 * come to lie between the same two nodes cancel, lines annihilate; else they are a junction. *done as for remeshing. */

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

/* ---- A node of many arms comes apart where that dissipates more: the arms part in two groups, each with its node,
 * joined by a junction segment if the groups' Burgers vectors want one. The criterion is that of V. V. Bulatov et al.,
 * Nature 440 (2006) 1174 (supplement) and A. Arsenlis et al., MSMSE 15 (2007) 553, section 3: the power sum F.v of all
 * nodes concerned. *done as for remeshing. */

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

/* ---- A screw dislocation lies in several glide planes at once, and goes on in the one where the force on it is
 * largest: the conditions and thresholds of ParaDiS 4.0 (its user guide, enableCrossSlip), the crystal's axes those of
 * the box. FCC: b along <110>, two {111} planes, screw within 2 degrees. BCC: b along <111>, three {110} planes, within
 * 0.5. *done as for remeshing. */

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

/* ---- The area that an operation on a patch sweeps. Of the segments before and after it those that differ bound a
 * surface: Burgers vectors are conserved at every node, so the sum over segments of b (x) A, A the triangle of a
 * segment and any one point, old ones minus new ones, is that of the surface whatever the point. Segments are straight,
 * so it is exact. The sense is that of dd_strain_sweep(). */

/* Owner first. */
typedef struct dd_slip_segment {
    dd_tag tag[2];
    double burgers[3], x[2][3];
} dd_slip_segment;

/* Room for the segments of a patch before and after, which operations can share. Zero it before use. */
typedef struct dd_slip {
    int64_t nold, n, room;
    dd_slip_segment *segment; /* [n]: nold of before, then those of after; owned */
    double (*place)[2][3];    /* [n] their ends around the first one's, without jumps at the box's faces; owned */
    int64_t *queue;           /* [n] owned */
    int64_t place_room, queue_room;
} dd_slip;

void dd_slip_free(dd_slip *slip);

/* Notes the segments between nodes of a patch, before an operation. EQP_OK or EQP_ERR_MEMORY. */
int dd_slip_begin(dd_slip *slip, dd_patch *patch);

/* After the operation: area[3 i + j] += sum of b_i A_j, in b^3. No segment and no way of a node may reach half through
 * a periodic box. EQP_OK or EQP_ERR_MEMORY, and area is unchanged. O(arms^2). */
int dd_slip_end(dd_slip *slip, dd_patch *patch, double area[9]);

#endif
