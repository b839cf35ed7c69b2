/* SPDX-License-Identifier: BSD-3-Clause */
/* Topology changes of the network: their conditions, and operations on a patch. Lengths in units of b.
 *
 * A wish (dd_wants_...) is a pure function of a node or segment. The operation checks it again, because other
 * operations may have changed the network since the wish, and sets *done if it changed anything; it does nothing where
 * its node or segment is gone, or where an arm would have no length or reach half through the periodic box. All return
 * EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW (no new tag is left), or EQP_ERR_ARGUMENT (a neighbour or a reverse arm is
 * missing); after an error *done is unchanged and the patch is good for dd_patch_free() only. */
#ifndef DD_OPERATIONS_H
#define DD_OPERATIONS_H

#include "elastic/pairs.h"
#include "node.h"

#include <stdbool.h>

/* The crystal with its slip systems; its axes are the axes of the box. */
typedef enum dd_crystal { DD_NO_CRYSTAL, DD_FCC, DD_BCC } dd_crystal;

typedef struct dd_rules {
    double max_seg;        /* longer segments are cut */
    double min_seg;        /* nodes with shorter arms go; <= max_seg / 2 */
    double area_min;       /* nodes whose triangle with their two neighbours is smaller go */
    double area_max;       /* arms of nodes with a larger triangle are cut */
    double r_tol;          /* error of a position in one step */
    double rann;           /* segments that come closer touch */
    bool planes;           /* segments keep their glide planes: a node where two meet stays */
    dd_crystal cross_slip; /* screws change planes as in this crystal; DD_NO_CRYSTAL: they do not */
} dd_rules;

/* ---- Remeshing keeps segments between min_seg and max_seg, and short where the line bends (ParaDiS' rule 2). */

/* Area of the triangle of a node and its neighbours if it has two arms and no pinned direction, and the area does not
 * shrink; else 0. to1, to2: from the node to its neighbours; v1, v2: their velocities. */
double dd_bend_area(const dd_node *node, const double to1[3], const double to2[3], const double v1[3],
                    const double v2[3]);

/* True if a segment is longer than max_seg, or longer than 2 min_seg where the line bends by more than area_max. bend:
 * the larger dd_bend_area() of its ends. */
bool dd_wants_refine(const dd_rules *rules, double length, double bend);

/* Cuts segment a - b in the middle. Patch: a and b, one new tag. The new node is free and has the segment's Burgers
 * vector and plane, the mean velocity of the ends, the home of a and half of the segment's force on each end. */
int dd_refine(dd_patch *patch, dd_tag a, dd_tag b, bool *done);

/* True if a free node with two arms is taken out: an arm is shorter than min_seg, or the triangle with its neighbours
 * is smaller than area_min and does not grow. The neighbours must be nearer than max_seg to each other. With
 * rules->planes the arms must have one glide plane, unless an arm is shorter than b or both are shorter than a fifth of
 * min_seg. to1, to2: from the node to the neighbours of arm[0] and arm[1]; v1, v2: their velocities. */
bool dd_wants_coarsen(const dd_rules *rules, const dd_node *node, const double to1[3], const double to2[3],
                      const double v1[3], const double v2[3]);

/* Deletes a node and joins its two neighbours. Patch: all three. Where the neighbours are joined already, Burgers
 * vectors add; where these cancel, the neighbours part, and one without arms is deleted. */
int dd_coarsen(dd_patch *patch, const dd_rules *rules, dd_tag tag, bool *done);

/* ---- Distances of segments. The caller chooses the periodic images. */

/* True if the balls around two segments are farther apart than `reach`. `between`: from one middle to the other by the
 * nearest image; half1, half2: half lengths. No branches: loops over candidates vectorise. */
static inline bool dd_segments_are_far(const double between[3], double half1, double half2, double reach)
{
    const double sum = half1 + half2 + reach;

    return between[0] * between[0] + between[1] * between[1] + between[2] * between[2] > sum * sum;
}

/* Square of the least distance of two segments, at a1 + s (a2 - a1) and b1 + t (b2 - b1), 0 <= s, t <= 1; of parallel
 * segments one of the places. Segments without length are points. The stationary point of the quadratic form in s and
 * t, else the least value on the border of the square (V. J. Lumelsky, Inf. Process. Lett. 21 (1985) 55). */
double dd_segments_distance2(const double a1[3], const double a2[3], const double b1[3], const double b2[3], double *s,
                             double *t);

/* The same for a point and a segment. */
double dd_point_distance2(const double point[3], const double b1[3], const double b2[3], double *t);

/* ---- Collisions join segments that touch: lines whose Burgers vectors cancel between two nodes annihilate, and form a
 * junction otherwise. */

/* True if two segments without a common node are nearer than rann, and their nearest points do not part. Positions and
 * velocities of the ends, by one choice of images. */
bool dd_wants_collide(const dd_rules *rules, const double xa[2][3], const double va[2][3], const double xb[2][3],
                      const double vb[2][3]);

/* True if two arms of a node close like a zip: the end of the shorter arm is nearer than rann to the longer one, but
 * not to the node, and does not part from it. to_u, to_w: from the node to the ends; vu, vw, v: velocities of the ends
 * and of the node. */
bool dd_wants_zip(const dd_rules *rules, const double to_u[3], const double to_w[3], const double vu[3],
                  const double vw[3], const double v[3]);

/* Joins segments a[0] - a[1] and b[0] - b[1], or zips them if they have a common node. Patch: these nodes and all
 * neighbours of each, one new tag. On each segment the point of contact is an end nearer than 2 rann (zips: rann), else
 * a new node; where a segment shorter than rann joins ends of three arms or more, these two ends are, whether they part
 * or not. Both points become one node: the constrained one, else the one with the lower tag. It stands where the
 * constrained one stands, else as near to the middle as the glide planes of its arms allow. Half of the force on each
 * end of a cut segment goes to the new arms; where arms merge, forces add. Nodes that lose all arms are deleted, and
 * only a and b move. Not done if both are constrained or the node would have more than DD_MOST_ARMS. */
int dd_collide(dd_patch *patch, const dd_rules *rules, const dd_tag a[2], const dd_tag b[2], bool *done);

/* ---- A node of many arms comes apart into two groups of arms where that dissipates more, with a junction between them
 * if the groups' Burgers vectors need one. The criterion is the power sum F.v of all nodes concerned: V. V. Bulatov et
 * al., Nature 440 (2006) 1174 (supplement); A. Arsenlis et al., MSMSE 15 (2007) 553, section 3. */

/* Velocity of a node under a force: the arguments of dd_mobility_velocity(). */
typedef void (*dd_velocity)(const void *user, const dd_node *node, const double (*to_neighbour)[3],
                            const double force[3], double velocity[3]);

typedef struct dd_mover {
    dd_velocity velocity;
    const void *user;        /* (borrowed) */
    const dd_medium *medium; /* shear modulus in the unit of the arms' forces over b^2; the patch's box counts
                              * (borrowed) */
    double noise;            /* speeds below it mean nothing: a split has to gain |F| noise of both nodes */
} dd_mover;

/* True if a node is free and has four arms or more. */
bool dd_wants_split(const dd_node *node);

/* Splits a node. Patch: the node and all its neighbours, one new tag; the arms' forces must belong to the node's place.
 * Every partition into groups of two arms or more is tried (with more than ten arms: every group of two) with its nodes
 * 2 rann apart: the faster one goes there along its first velocity, or both go half the way if their velocities are
 * opposite. The forces there are the old ones, except that the arms' and the junction's forces on themselves and on
 * each other are computed anew by dd_pairs_plain, so that lines which attract each other once they are apart stay
 * together. The partition of most power is taken if it beats the whole node by more than mover->noise and its nodes go
 * on parting. Then a node that moves goes on until line tension holds it, as in ParaDiS 4.0 (user guide, "Dissociation
 * of Multi-arm Nodes"): to the root of the core forces of its arms and the junction before an arm is longer than
 * max_seg, else to the end with the smaller force. Both nodes get their velocities of 2 rann apart; the group without
 * arm[0] goes to the new node. Forces of arms stay, that of the junction is 0. O(partitions x arms^2), some
 * microseconds each for four arms. */
int dd_split(dd_patch *patch, const dd_rules *rules, const dd_mover *mover, dd_tag tag, bool *done);

/* ---- A screw lies in several glide planes and goes on in the one with the largest force, by the conditions and
 * thresholds of ParaDiS 4.0 (user guide, enableCrossSlip). FCC: b along <110>, two {111} planes, screw within 2
 * degrees. BCC: b along <111>, three {110} planes, within 0.5. */

/* True if a free node with two arms that have glide planes wishes to slip: the force F of both arms along the glide
 * direction g of another plane is larger than in an arm's plane, by more than 1e-4 mu |b| times half of their length.
 * Either both arms (within twice the angle) and the line between their ends are screw and have one plane, or one arm is
 * screw and the other one lies in the better plane. to1, to2: from the node to the neighbours of arm[0] and arm[1]; mu:
 * in the unit of the arms' forces over b^2. */
bool dd_wants_cross_slip(dd_crystal crystal, double mu, const dd_node *node, const double to1[3], const double to2[3]);

/* Slips a node. Patch: the node, its two neighbours, and all neighbours of each. Where both arms have one plane, one
 * neighbour goes to where both are in line with b; the node follows and goes on along the force in the new plane until
 * the three make a triangle a little larger than area_min; both arms get the new plane. Where one arm lies in the
 * better plane, the other one gets it and its end goes in line. Neighbours go only where they are free and all their
 * arms lie in the old plane; arm[0]'s goes first. Positions, planes and velocities change, arms and forces stay. Not
 * done if neither neighbour may go and they are not in line, if the force at the new place (changed by what both arms
 * do to themselves and to each other) would drive the node back, or if the force on a single arm does not pass the
 * threshold. */
int dd_cross_slip(dd_patch *patch, const dd_rules *rules, const dd_mover *mover, dd_tag tag, bool *done);

/* ---- The area that an operation sweeps. Segments that differ before and after it bound a surface. Burgers vectors are
 * conserved at every node, so the sum of b (x) A over the old segments minus the new ones, A the triangle of a segment
 * and any one point, is that of the surface, exactly. The sense is that of dd_strain_sweep(). */

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
