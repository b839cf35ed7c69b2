/* SPDX-License-Identifier: BSD-3-Clause */
#include "rewire.h"

#include "elastic/pairs.h"
#include "vector.h"

#include <equipoise/error.h>

#include <math.h>

/* Sine of the angle below which a vector lies in a plane: glide planes of files have 6 digits and more, nodes leave
 * their planes by rounding and by merging. */
#define IN_PLANE 0.02
/* Sine of the angle between line and Burgers vector below which their cross product has no meaning (a screw). */
#define SCREW 0.02
/* Share of a periodic edge that an arm may span: less than half, so that it has one nearest image. */
#define LONGEST 0.4999

void dd__fold(const dd_patch *patch, const double x[3], const double offset[3], double folded[3])
{
    for (int k = 0; k < 3; k++) {
        const double low = patch->low[k], box = patch->box[k];
        folded[k] = x[k] + offset[k];
        if (box > 0.0) {
            folded[k] -= box * floor((folded[k] - low) / box);
            if (folded[k] < low || folded[k] >= low + box) { /* by rounding */
                folded[k] = low;
            }
        }
    }
}

int dd__create(dd_patch *patch, const double x[3], const double v[3], int home, dd_patch_node **created)
{
    dd_patch_node *at = &patch->at[patch->n];

    if (patch->n == DD_PATCH_NODES || patch->nnew == DD_PATCH_NEW || patch->new_tag[patch->nnew] == DD_NO_TAG) {
        return EQP_ERR_OVERFLOW;
    }
    *at = (dd_patch_node){.created = true, .changed = true};
    at->node.tag = patch->new_tag[patch->nnew++];
    at->node.home = home;
    dd_v3_copy(at->node.x, x);
    dd_v3_copy(at->node.v, v);
    patch->n++;
    *created = at;
    return EQP_OK;
}

static double share_outside(const double plane[3], const double line[3])
{
    const double length = dd_v3_length(line);

    return length > 0.0 ? fabs(dd_v3_dot(plane, line)) / length : 0.0;
}

void dd__plane(const double line[3], const double burgers[3], const double first[3], const double second[3],
               double normal[3])
{
    const double *old[2] = {first, second}, *nearest = NULL;
    double least = 0.0, cross[3], sine;
    const double scale = dd_v3_length(line) * dd_v3_length(burgers);

    for (int i = 0; i < 2; i++) {
        if (dd_v3_dot(old[i], old[i]) > 0.25) {
            const double outside = fmax(share_outside(old[i], line), share_outside(old[i], burgers));
            if (nearest == NULL || outside < least) {
                nearest = old[i];
                least = outside;
            }
        }
    }
    if (nearest == NULL) {
        normal[0] = normal[1] = normal[2] = 0.0;
        return;
    }
    dd_v3_cross(line, burgers, cross);
    sine = scale > 0.0 ? dd_v3_length(cross) / scale : 0.0;
    if (least <= IN_PLANE || sine <= SCREW) {
        double copy[3]; /* normal may be first or second */
        dd_v3_copy(copy, nearest);
        dd_v3_copy(normal, copy);
    } else {
        dd_v3_scale(1.0 / dd_v3_length(cross), cross);
        dd_v3_copy(normal, cross);
    }
}

static void set_planes(dd_patch *patch, dd_patch_node *from, dd_arm *arm, dd_patch_node *to, dd_arm *back,
                       const double other[3])
{
    double line[3], normal[3];

    dd_patch_offset(patch, from->node.x, to->node.x, line);
    dd__plane(line, arm->burgers, arm->normal, other, normal);
    if (dd_v3_dot(normal, arm->normal) < 0.0) { /* either side will do: no flips without need */
        dd_v3_scale(-1.0, normal);
    }
    dd_v3_copy(arm->normal, normal);
    dd_v3_copy(back->normal, normal);
}

static int add_arms(dd_patch_node *from, dd_patch_node *to, const dd_link *link)
{
    dd_arm *arm, *back;

    EQP_CHECK(dd_node_add_arm(&from->node, to->node.tag, &arm));
    EQP_CHECK(dd_node_add_arm(&to->node, from->node.tag, &back));
    for (int k = 0; k < 3; k++) {
        arm->burgers[k] = link->burgers[k];
        back->burgers[k] = -link->burgers[k];
        arm->normal[k] = back->normal[k] = link->normal[k];
        arm->force[k] = link->force_from[k];
        back->force[k] = link->force_to[k];
    }
    arm->home = to->node.home;
    back->home = from->node.home;
    return EQP_OK;
}

int dd__link(dd_patch *patch, dd_patch_node *from, dd_patch_node *to, const dd_link *link)
{
    dd_arm *arm = dd_node_find_arm(&from->node, to->node.tag);
    dd_arm *back = dd_node_find_arm(&to->node, from->node.tag);

    from->changed = to->changed = true;
    if (arm == NULL && back == NULL) {
        return add_arms(from, to, link);
    }
    if (arm == NULL || back == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    for (int k = 0; k < 3; k++) {
        arm->burgers[k] += link->burgers[k];
        back->burgers[k] = -arm->burgers[k];
        arm->force[k] += link->force_from[k];
        back->force[k] += link->force_to[k];
    }
    if (dd_v3_length(arm->burgers) < DD_BURGERS_ZERO) {
        dd_node_remove_arm(&from->node, arm);
        dd_node_remove_arm(&to->node, back);
    } else {
        set_planes(patch, from, arm, to, back, link->normal);
    }
    return EQP_OK;
}

int dd__unlink(dd_patch_node *from, dd_patch_node *to, dd_link *link)
{
    dd_arm *arm = dd_node_find_arm(&from->node, to->node.tag);
    dd_arm *back = dd_node_find_arm(&to->node, from->node.tag);

    if (arm == NULL || back == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    dd_v3_copy(link->burgers, arm->burgers);
    dd_v3_copy(link->normal, arm->normal);
    dd_v3_copy(link->force_from, arm->force);
    dd_v3_copy(link->force_to, back->force);
    dd_node_remove_arm(&from->node, arm);
    dd_node_remove_arm(&to->node, back);
    from->changed = to->changed = true;
    return EQP_OK;
}

int dd__thread(dd_patch *patch, dd_patch_node *u, dd_patch_node *v, dd_patch_node *through)
{
    dd_link whole, half;

    EQP_CHECK(dd__unlink(u, v, &whole));
    half = whole;
    dd_v3_scale(0.5, half.force_from);
    dd_v3_copy(half.force_to, half.force_from);
    EQP_CHECK(dd__link(patch, u, through, &half));
    half = whole;
    dd_v3_scale(0.5, half.force_to);
    dd_v3_copy(half.force_from, half.force_to);
    return dd__link(patch, through, v, &half);
}

int dd__merge(dd_patch *patch, dd_patch_node *keep, dd_patch_node *gone)
{
    int code = EQP_OK;

    while (code == EQP_OK && gone->node.narms > 0) {
        dd_patch_node *other = dd_patch_find(patch, gone->node.arm[0].tag);
        dd_link link;
        code = other != NULL ? dd__unlink(gone, other, &link) : EQP_ERR_ARGUMENT;
        if (code == EQP_OK && other != keep) {
            code = dd__link(patch, keep, other, &link);
        }
    }
    keep->changed = gone->changed = true;
    gone->deleted = true;
    return code;
}

void dd__renew_plane(dd_patch *patch, dd_patch_node *from, dd_patch_node *to, const double other[3])
{
    dd_arm *arm = dd_node_find_arm(&from->node, to->node.tag);
    dd_arm *back = dd_node_find_arm(&to->node, from->node.tag);

    if (arm != NULL && back != NULL) {
        set_planes(patch, from, arm, to, back, other != NULL ? other : arm->normal);
        from->changed = to->changed = true;
    }
}

void dd__renew_planes(dd_patch *patch, dd_patch_node *node)
{
    for (int i = 0; i < node->node.narms; i++) {
        dd_patch_node *other = dd_patch_find(patch, node->node.arm[i].tag);
        if (other != NULL) {
            dd__renew_plane(patch, node, other, NULL);
        }
    }
    node->changed = true;
}

void dd__drop_bare(dd_patch *patch)
{
    for (int i = 0; i < patch->n; i++) {
        dd_patch_node *at = &patch->at[i];
        if (at->changed && at->node.narms == 0) {
            at->deleted = true;
        }
    }
}

bool dd__arm_fits(const dd_patch *patch, const double from[3], const double x[3], const double to[3], double tiny)
{
    double arm[3], step[3], length, longest = INFINITY;

    dd_patch_offset(patch, from, to, arm);
    dd_patch_offset(patch, from, x, step);
    dd_v3_minus(arm, step, arm);
    for (int k = 0; k < 3; k++) {
        if (patch->box[k] > 0.0) {
            longest = fmin(longest, LONGEST * patch->box[k]);
        }
    }
    length = dd_v3_length(arm);
    return length > tiny && length < longest;
}

void dd__local_forces(const dd_medium *medium, int n, const dd_segment *segment, double (*force)[6])
{
    double column[15][DD_LOCAL_SEGMENTS + DD_LANES] = {{0.0}};
    dd_columns sources;
    dd_pair_counts counts = {0, 0};

    for (int c = 0; c < 9; c++) {
        sources.at[c] = column[c];
    }
    for (int c = 0; c < 6; c++) {
        sources.force[c] = column[9 + c];
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            column[k][i] = segment[i].x1[k];
            column[3 + k][i] = segment[i].x2[k];
            column[6 + k][i] = segment[i].burgers[k];
        }
    }
    for (int i = 0; i < n; i++) {
        dd_self_force(medium, &segment[i], force[i]);
        if (i + 1 < n) {
            const dd_run rest = {i + 1, n - i - 1};
            dd_pairs_plain(medium, &segment[i], &sources, 1, &rest, force[i], &counts);
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 6; k++) {
            force[i][k] += column[9 + k][i];
        }
    }
}

dd_segment dd__segment(const double from[3], const double to[3], const double burgers[3])
{
    dd_segment segment;

    dd_v3_copy(segment.x1, from);
    dd_v3_copy(segment.x2, to);
    dd_v3_copy(segment.burgers, burgers);
    return segment;
}
