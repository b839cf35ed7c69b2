/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps segments between min_seg and max_seg, and short where the line bends: what ParaDiS calls remesh rule 2. A wish
 * is a pure function of a node or segment; the operation checks it again, because other operations may have changed the
 * network since the wish, and sets *done if it changed anything. *done is unchanged on error, and after an error the
 * patch is good for dd_patch_free() only. Where *done is false nothing in the patch has changed. */
#ifndef DD_REMESH_H
#define DD_REMESH_H

#include "patch.h"
#include "rules.h"

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

#endif
