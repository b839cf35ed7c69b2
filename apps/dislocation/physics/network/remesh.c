/* SPDX-License-Identifier: BSD-3-Clause */
#include "operations.h"
#include "rewire.h"
#include "vector.h"

#include <equipoise/error.h>

#include <math.h>

/* Square of the sine of the angle below which glide planes count as one. */
#define ONE_PLANE 1e-3
/* A node with an arm shorter than this, in b, or both shorter than this share of min_seg, is debris. */
#define DEBRIS 1.0
#define DEBRIS_SHARE 0.2
/* Relative growth of an area that counts as rounding. */
#define NO_GROWTH 1e-9
/* Arms shorter than this share of min_seg are ignored. */
#define TINY 1e-4

static double area_of(const double to1[3], const double to2[3])
{
    double cross[3];

    dd_v3_cross(to1, to2, cross);
    return 0.5 * dd_v3_length(cross);
}

/* Sign of the growth of the triangle's area; 0 within rounding. A triangle without area grows as soon as the node
 * leaves the line. */
static int growth_of(const dd_node *node, const double to1[3], const double to2[3], const double v1[3],
                     const double v2[3])
{
    double cross[3], rate1[3], rate2[3], part1[3], part2[3], growth[3], size, rate, scale, least;

    dd_v3_minus(v1, node->v, rate1);
    dd_v3_minus(v2, node->v, rate2);
    dd_v3_cross(to1, to2, cross);
    dd_v3_cross(rate1, to2, part1);
    dd_v3_cross(to1, rate2, part2);
    dd_v3_along(part1, 1.0, part2, growth);
    size = dd_v3_length(cross);
    scale = dd_v3_length(to1) * dd_v3_length(to2);
    rate = size > NO_GROWTH * scale ? dd_v3_dot(cross, growth) / size : dd_v3_length(growth);
    least = NO_GROWTH * (dd_v3_length(rate1) * dd_v3_length(to2) + dd_v3_length(rate2) * dd_v3_length(to1));
    return (rate > least) - (rate < -least);
}

double dd_bend_area(const dd_node *node, const double to1[3], const double to2[3], const double v1[3],
                    const double v2[3])
{
    const bool moves = node->narms == 2 && (node->constraint & DD_PINNED) == 0;

    return moves && growth_of(node, to1, to2, v1, v2) >= 0 ? area_of(to1, to2) : 0.0;
}

bool dd_wants_refine(const dd_rules *rules, double length, double bend)
{
    return length > rules->max_seg || (bend > rules->area_max && length > 2.0 * rules->min_seg);
}

int dd_refine(dd_patch *patch, dd_tag a, dd_tag b, bool *done)
{
    dd_patch_node *first = dd_patch_find(patch, a), *second = dd_patch_find(patch, b), *middle;
    double offset[3], x[3], v[3];

    if (first == NULL || second == NULL || dd_node_find_arm(&first->node, b) == NULL) {
        *done = false;
        return EQP_OK;
    }
    dd_patch_offset(patch, first->node.x, second->node.x, offset);
    dd_v3_scale(0.5, offset);
    dd__fold(patch, first->node.x, offset, x);
    dd_v3_along(dd_v3_zero, 0.5, first->node.v, v);
    dd_v3_along(v, 0.5, second->node.v, v);
    EQP_CHECK(dd__create(patch, x, v, first->node.home, &middle));
    EQP_CHECK(dd__thread(patch, first, second, middle));
    *done = true;
    return EQP_OK;
}

static bool share_plane(const dd_arm *arm)
{
    double cross[3];

    dd_v3_cross(arm[0].normal, arm[1].normal, cross); /* 0 if one of them has none */
    return dd_v3_dot(cross, cross) < ONE_PLANE;
}

bool dd_wants_coarsen(const dd_rules *rules, const dd_node *node, const double to1[3], const double to2[3],
                      const double v1[3], const double v2[3])
{
    const double length[2] = {dd_v3_length(to1), dd_v3_length(to2)};
    const bool debris =
        fmin(length[0], length[1]) < DEBRIS || fmax(length[0], length[1]) < DEBRIS_SHARE * rules->min_seg;
    double joint[3];

    if (node->constraint != DD_FREE || node->narms != 2 || (rules->planes && !debris && !share_plane(node->arm))) {
        return false;
    }
    dd_v3_minus(to2, to1, joint);
    return dd_v3_length(joint) < rules->max_seg &&
           (fmin(length[0], length[1]) < rules->min_seg ||
            (area_of(to1, to2) < rules->area_min && growth_of(node, to1, to2, v1, v2) <= 0));
}

/* Replaces first - at - second by first - second; each end takes its own force and half of the node's. */
static int join_over(dd_patch *patch, dd_patch_node *first, dd_patch_node *at, dd_patch_node *second)
{
    dd_link one, two;

    EQP_CHECK(dd__unlink(first, at, &one));
    EQP_CHECK(dd__unlink(at, second, &two));
    for (int k = 0; k < 3; k++) {
        const double half = 0.5 * (one.force_to[k] + two.force_from[k]);
        one.force_from[k] += half;
        one.force_to[k] = two.force_to[k] + half;
    }
    if (dd_v3_dot(one.normal, one.normal) == 0.0) {
        dd_v3_copy(one.normal, two.normal);
    }
    at->deleted = true;
    EQP_CHECK(dd__link(patch, first, second, &one));
    dd__renew_plane(patch, first, second, two.normal);
    return EQP_OK;
}

int dd_coarsen(dd_patch *patch, const dd_rules *rules, dd_tag tag, bool *done)
{
    dd_patch_node *at = dd_patch_find(patch, tag), *first, *second;
    double to1[3], to2[3];

    if (at == NULL || at->node.narms != 2) {
        *done = false;
        return EQP_OK;
    }
    first = dd_patch_find(patch, at->node.arm[0].tag);
    second = dd_patch_find(patch, at->node.arm[1].tag);
    if (first == NULL || second == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    dd_patch_offset(patch, at->node.x, first->node.x, to1);
    dd_patch_offset(patch, at->node.x, second->node.x, to2);
    if (!dd_wants_coarsen(rules, &at->node, to1, to2, first->node.v, second->node.v) ||
        !dd__arm_fits(patch, at->node.x, first->node.x, second->node.x, TINY * rules->min_seg)) {
        *done = false;
        return EQP_OK;
    }
    EQP_CHECK(join_over(patch, first, at, second));
    dd__drop_bare(patch);
    *done = true;
    return EQP_OK;
}
