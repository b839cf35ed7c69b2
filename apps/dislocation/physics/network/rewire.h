/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal: the elementary moves of all operations on a patch. Each keeps arms reciprocal, and the sum of Burgers
 * vectors zero at every node where it was zero. After an error the patch is good for dd_patch_free() only. */
#ifndef DD_REWIRE_H
#define DD_REWIRE_H

#include "elastic/pairs.h"
#include "node.h"

/* Shorter than any Burgers vector of a lattice; longer than cancelling sums of file values with ten digits. */
#define DD_BURGERS_ZERO 1e-4

/* Values of both arms of a segment; burgers and the forces as at `from`. */
typedef struct dd_link {
    double burgers[3], normal[3];
    double force_from[3], force_to[3];
} dd_link;

/* x + offset, folded into the box. */
void dd__fold(const dd_patch *patch, const double x[3], const double offset[3], double folded[3]);

/* Takes the next new tag. EQP_OK or EQP_ERR_OVERFLOW: no tag or no room left. */
int dd__create(dd_patch *patch, const double x[3], const double v[3], int home, dd_patch_node **created);

/* Adds both arms. If the nodes are joined already, Burgers vectors and forces add, and arms whose Burgers vectors
 * cancel are removed. EQP_OK or EQP_ERR_MEMORY. */
int dd__link(dd_patch *patch, dd_patch_node *from, dd_patch_node *to, const dd_link *link);
/* Removes both arms and returns their values. EQP_ERR_ARGUMENT: no such segment, or no reverse arm. */
int dd__unlink(dd_patch_node *from, dd_patch_node *to, dd_link *link);
/* Segment u - v becomes u - through - v; its forces are halved and the other halves go to `through`. */
int dd__thread(dd_patch *patch, dd_patch_node *u, dd_patch_node *v, dd_patch_node *through);
/* All arms of `gone` go to `keep` (one between the two disappears); `gone` is deleted. */
int dd__merge(dd_patch *patch, dd_patch_node *keep, dd_patch_node *gone);
/* Renews the plane of a segment from its present one and `other` (NULL: none). Without the segment a no-op. */
void dd__renew_plane(dd_patch *patch, dd_patch_node *from, dd_patch_node *to, const double other[3]);
/* The same for all arms, after the node moved. */
void dd__renew_planes(dd_patch *patch, dd_patch_node *node);
void dd__drop_bare(dd_patch *patch);

/* The glide plane of a segment: `first` or `second` if it holds line and Burgers vector (to about a degree), else their
 * cross product, else (a screw) what comes nearest. 0 0 0 if neither `first` nor `second` is a plane. */
void dd__plane(const double line[3], const double burgers[3], const double first[3], const double second[3],
               double normal[3]);

/* True if a node of the patch can move from `from` to `x`: its arm to a node at `to` stays distinguishable from its
 * periodic images and longer than `tiny`. */
bool dd__arm_fits(const dd_patch *patch, const double from[3], const double x[3], const double to[3], double tiny);

/* ---- Internal: forces of the segments around a node on themselves and on each other, for operations that need the
 * change of a node's force with its position. */

/* Arms and a junction. */
#define DD_LOCAL_SEGMENTS (DD_MOST_ARMS + 1)

dd_segment dd__segment(const double from[3], const double to[3], const double burgers[3]);

/* force: [n] on both ends of each, by the same kernel on every machine. n <= DD_LOCAL_SEGMENTS. */
void dd__local_forces(const dd_medium *medium, int n, const dd_segment *segment, double (*force)[6]);

#endif
