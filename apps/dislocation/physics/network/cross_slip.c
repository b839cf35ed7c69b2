/* SPDX-License-Identifier: BSD-3-Clause */
#include "operations.h"

#include "rewire.h"
#include "vector.h"

#include <equipoise/error.h>

/* Squares of the sines of 2 and of 0.5 degrees. */
#define SCREW_FCC 1.2179748700878974e-3
#define SCREW_BCC 7.6152421009273e-5
/* Forces below this times mu b length are noise. */
#define NOISE 1e-4
/* Tolerance for equal components of a Burgers vector's direction. */
#define SAME 1e-4
/* Sine of the angle below which glide planes count as one. */
#define ONE_PLANE 0.02
/* Distance that counts as on a screw line, b. */
#define IN_LINE 1e-6
/* Area of the nucleus over area_min, so that coarsening keeps it. */
#define LARGER 1.000001
/* Arms shorter than this share of min_seg are ignored. */
#define TINY 1e-4

typedef struct slip {
    int n;
    double along[3];                 /* of b, unit */
    double glide[3][3], plane[3][3]; /* [n] glide direction and normal of each, unit */
    double screw;                    /* square of a sine */
} slip;

/* Candidate slips of a node. */
typedef struct wish {
    slip slip;
    int plane;  /* the better one */
    int old[2]; /* of the arms */
    int arm;    /* arm that gets the other arm's plane; -1: both get a new one */
    double force[3];
} wish;

static bool find_slip(dd_crystal crystal, const double burgers[3], slip *s)
{
    const double length = dd_v3_length(burgers);
    double largest = 0.0;
    int zeros = 0;

    *s = (slip){.screw = crystal == DD_BCC ? SCREW_BCC : SCREW_FCC};
    for (int k = 0; k < 3; k++) {
        s->along[k] = burgers[k] / length;
        largest = fmax(largest, fabs(s->along[k]));
    }
    for (int k = 0; k < 3; k++) {
        const double size = fabs(s->along[k]);
        zeros += size < SAME;
        if (size >= SAME && largest - size > SAME) {
            return false;
        }
    }
    if (!(length > 0.0) || zeros != (crystal == DD_BCC ? 0 : 1)) {
        return false;
    }
    for (int axis = 0; axis < 3; axis++) {
        double *glide = s->glide[s->n], e[3] = {axis == 0, axis == 1, axis == 2}, sign = 1.0;
        if (crystal == DD_BCC) { /* <112>: what of an axis is across b */
            dd_v3_along(e, -s->along[axis], s->along, glide);
        } else if (fabs(s->along[axis]) >= SAME) { /* <112>: (p, -q, 2) and (p, -q, -2) for b = (p, q, 0) */
            for (int k = 0; k < 3; k++) {
                const bool in_b = fabs(s->along[k]) >= SAME;
                glide[k] = in_b ? copysign(sign, sign * s->along[k]) : (s->n == 0 ? 2.0 : -2.0);
                sign = in_b ? -1.0 : sign;
            }
        } else {
            continue;
        }
        dd_v3_scale(1.0 / dd_v3_length(glide), glide);
        dd_v3_cross(s->along, glide, s->plane[s->n]);
        s->n++;
    }
    return true;
}

static int plane_of(const slip *s, const double normal[3])
{
    int best = 0;

    for (int k = 1; k < s->n; k++) {
        if (fabs(dd_v3_dot(s->glide[k], normal)) < fabs(dd_v3_dot(s->glide[best], normal))) {
            best = k;
        }
    }
    return best;
}

static double along_glide(const slip *s, int plane, const double force[3])
{
    return fabs(dd_v3_dot(s->glide[plane], force));
}

/* Square of the sine between a line and b. */
static double off_screw(const slip *s, const double line[3])
{
    double cross[3];

    dd_v3_cross(line, s->along, cross);
    return dd_v3_dot(cross, cross) / dd_v3_dot(line, line);
}

static bool find_wish(dd_crystal crystal, double mu, const dd_node *node, const double to[2][3], wish *w)
{
    double chord[3], off[2], threshold;

    if (crystal == DD_NO_CRYSTAL || node->constraint != DD_FREE || node->narms != 2 ||
        dd_v3_dot(node->arm[0].normal, node->arm[0].normal) == 0.0 ||
        dd_v3_dot(node->arm[1].normal, node->arm[1].normal) == 0.0 ||
        !find_slip(crystal, node->arm[0].burgers, &w->slip)) {
        return false;
    }
    const slip *s = &w->slip;
    dd_v3_along(node->arm[0].force, 1.0, node->arm[1].force, w->force);
    w->plane = 0;
    for (int k = 1; k < s->n; k++) {
        w->plane = along_glide(s, k, w->force) > along_glide(s, w->plane, w->force) ? k : w->plane;
    }
    for (int i = 0; i < 2; i++) {
        w->old[i] = plane_of(s, node->arm[i].normal);
        off[i] = off_screw(s, to[i]);
    }
    threshold = NOISE * mu * dd_v3_length(node->arm[0].burgers) * 0.5 * (dd_v3_length(to[0]) + dd_v3_length(to[1]));
    dd_v3_minus(to[1], to[0], chord);
    if (w->old[0] == w->old[1]) {
        w->arm = -1;
        return w->old[0] != w->plane && off[0] < 4.0 * s->screw && off[1] < 4.0 * s->screw &&
               off_screw(s, chord) < s->screw &&
               along_glide(s, w->plane, w->force) > along_glide(s, w->old[0], w->force) + threshold;
    }
    for (w->arm = 0; w->arm < 2; w->arm++) {
        if (off[w->arm] < s->screw && w->old[1 - w->arm] == w->plane &&
            along_glide(s, w->plane, w->force) > along_glide(s, w->old[w->arm], w->force) + threshold) {
            return true;
        }
    }
    return false;
}

bool dd_wants_cross_slip(dd_crystal crystal, double mu, const dd_node *node, const double to1[3], const double to2[3])
{
    const double to[2][3] = {{to1[0], to1[1], to1[2]}, {to2[0], to2[1], to2[2]}};
    wish w;

    return find_wish(crystal, mu, node, to, &w);
}

/* A node with its arms, and their new positions relative to the node. */
typedef struct move {
    dd_patch *patch;
    const dd_mover *mover;
    double tiny;
    dd_patch_node *at, *end[2];
    double to[2][3]; /* the ends now */
    double x[3][3];  /* of the node and its ends, afterwards */
    wish wish;
} move;

static bool may_go(const dd_patch_node *end, const double plane[3])
{
    for (int i = 0; i < end->node.narms; i++) {
        double cross[3];
        dd_v3_cross(end->node.arm[i].normal, plane, cross);
        if (dd_v3_length(end->node.arm[i].normal) < 0.5 || dd_v3_length(cross) > ONE_PLANE) {
            return false;
        }
    }
    return end->node.constraint == DD_FREE;
}

/* Point next to x on the screw line through `through`. */
static void into_line(const slip *s, const double through[3], const double x[3], double point[3])
{
    double way[3];

    dd_v3_minus(x, through, way);
    dd_v3_along(through, dd_v3_dot(way, s->along), s->along, point);
}

static bool in_line(const slip *s, const double a[3], const double b[3])
{
    double way[3], cross[3];

    dd_v3_minus(a, b, way);
    dd_v3_cross(way, s->along, cross);
    return dd_v3_length(cross) < IN_LINE;
}

/* Places both arms; false if an end may not go there. */
static bool place_both(move *m, const dd_rules *rules)
{
    const slip *s = &m->wish.slip;
    const double *plane = s->plane[m->wish.old[0]], *glide = s->glide[m->wish.plane];
    int goes = 0;
    double chord[3], height;

    while (goes < 2 && !may_go(m->end[goes], plane)) {
        goes++;
    }
    if (goes == 2 && !in_line(s, m->to[0], m->to[1])) {
        return false;
    }
    if (goes < 2) {
        into_line(s, m->to[1 - goes], m->to[goes], m->x[1 + goes]);
    }
    into_line(s, m->to[goes == 0 ? 1 : 0], dd_v3_zero, m->x[0]);
    dd_v3_minus(m->to[1], m->to[0], chord);
    height = 2.0 * LARGER * rules->area_min / fabs(dd_v3_dot(chord, s->along));
    dd_v3_along(m->x[0], copysign(height, dd_v3_dot(m->wish.force, glide)), glide, m->x[0]);
    return true;
}

/* Places one arm: its end moves in line with the node. */
static bool place_one(move *m)
{
    const slip *s = &m->wish.slip;
    const int arm = m->wish.arm;
    const dd_arm *back = dd_node_find_arm(&m->end[arm]->node, m->at->node.tag);
    const double threshold = NOISE * m->mover->medium->mu * dd_v3_length(back->burgers) * dd_v3_length(m->to[arm]);
    double force[3];

    dd_v3_along(m->at->node.arm[arm].force, 1.0, back->force, force);
    if (along_glide(s, m->wish.plane, force) <= along_glide(s, m->wish.old[arm], force) + threshold) {
        return false;
    }
    if (may_go(m->end[arm], s->plane[m->wish.old[arm]])) {
        into_line(s, dd_v3_zero, m->to[arm], m->x[1 + arm]);
        return true;
    }
    return in_line(s, m->to[arm], dd_v3_zero);
}

/* True if the forces at the new and old positions along the new glide direction agree in sign, so that the node does
 * not return. */
static bool goes_on(const move *m)
{
    const double *glide = m->wish.slip.glide[m->wish.plane];
    dd_medium medium = *m->mover->medium;
    dd_segment segment[2];
    double before[2][6], after[2][6], force[3];

    dd_v3_copy(medium.box, m->patch->box);
    for (int i = 0; i < 2; i++) {
        segment[i] = dd__segment(dd_v3_zero, m->to[i], m->at->node.arm[i].burgers);
    }
    dd__local_forces(&medium, 2, segment, before);
    for (int i = 0; i < 2; i++) {
        segment[i] = dd__segment(m->x[0], m->x[1 + i], m->at->node.arm[i].burgers);
    }
    dd__local_forces(&medium, 2, segment, after);
    dd_v3_copy(force, m->wish.force);
    for (int i = 0; i < 2; i++) {
        dd_v3_along(force, 1.0, after[i], force);
        dd_v3_along(force, -1.0, before[i], force);
    }
    return dd_v3_dot(force, glide) * dd_v3_dot(m->wish.force, glide) > 0.0;
}

/* Checks all arms of a node that moves to x, both relative to the slipping node. EQP_ERR_ARGUMENT: a missing
 * neighbour. */
static int fits(const move *m, const dd_patch_node *node, const double from[3], const double x[3], bool *fit)
{
    double start[3], goal[3];

    dd_v3_along(m->at->node.x, 1.0, from, start);
    dd_v3_along(m->at->node.x, 1.0, x, goal);
    for (int i = 0; i < node->node.narms; i++) {
        const dd_patch_node *other = dd_patch_find(m->patch, node->node.arm[i].tag);
        if (other == NULL) {
            return EQP_ERR_ARGUMENT;
        }
        *fit = *fit && dd__arm_fits(m->patch, start, goal, other->node.x, m->tiny);
    }
    return EQP_OK;
}

static int all_fit(const move *m, bool *fit)
{
    EQP_CHECK(fits(m, m->at, dd_v3_zero, m->x[0], fit));
    EQP_CHECK(fits(m, m->end[0], m->to[0], m->x[1], fit));
    return fits(m, m->end[1], m->to[1], m->x[2], fit);
}

static void renew_velocity(const move *m, dd_patch_node *node)
{
    double to[DD_MOST_ARMS][3], force[3] = {0.0, 0.0, 0.0};

    for (int i = 0; i < node->node.narms && i < DD_MOST_ARMS; i++) {
        dd_patch_offset(m->patch, node->node.x, dd_patch_find(m->patch, node->node.arm[i].tag)->node.x, to[i]);
        dd_v3_along(force, 1.0, node->node.arm[i].force, force);
    }
    m->mover->velocity(m->mover->user, &node->node, (const double(*)[3])to, force, node->node.v);
}

static void carry_out(const move *m)
{
    dd_patch_node *const node[3] = {m->at, m->end[0], m->end[1]};
    double x[3][3];

    for (int i = 0; i < 3; i++) {
        dd__fold(m->patch, m->at->node.x, m->x[i], x[i]);
    }
    for (int i = 0; i < 3; i++) {
        const double *from = i == 0 ? dd_v3_zero : m->to[i - 1];
        double way[3];
        dd_v3_minus(m->x[i], from, way);
        if (dd_v3_length(way) > 0.0) { /* ends that stay keep all bits */
            dd_v3_copy(node[i]->node.x, x[i]);
        }
        node[i]->changed = true;
    }
    for (int i = 0; i < 2; i++) {
        if (m->wish.arm < 0 || m->wish.arm == i) {
            const double *plane = m->wish.slip.plane[m->wish.plane];
            dd_v3_copy(m->at->node.arm[i].normal, plane);
            dd_v3_copy(dd_node_find_arm(&m->end[i]->node, m->at->node.tag)->normal, plane);
        }
    }
    for (int i = 0; i < 3; i++) {
        renew_velocity(m, node[i]);
    }
}

/* The ends of its arms. */
static int gather(move *m)
{
    for (int i = 0; i < 2; i++) {
        m->end[i] = dd_patch_find(m->patch, m->at->node.arm[i].tag);
        if (m->end[i] == NULL || dd_node_find_arm(&m->end[i]->node, m->at->node.tag) == NULL) {
            return EQP_ERR_ARGUMENT;
        }
        dd_patch_offset(m->patch, m->at->node.x, m->end[i]->node.x, m->to[i]);
        dd_v3_copy(m->x[1 + i], m->to[i]);
    }
    return EQP_OK;
}

int dd_cross_slip(dd_patch *patch, const dd_rules *rules, const dd_mover *mover, dd_tag tag, bool *done)
{
    move m = {.patch = patch, .mover = mover, .tiny = TINY * rules->min_seg, .at = dd_patch_find(patch, tag)};
    bool slips = false;

    if (m.at != NULL && m.at->node.narms == 2) {
        EQP_CHECK(gather(&m));
        slips = find_wish(rules->cross_slip, mover->medium->mu, &m.at->node, (const double(*)[3])m.to, &m.wish);
        slips = slips && (m.wish.arm < 0 ? place_both(&m, rules) && goes_on(&m) : place_one(&m));
    }
    if (slips) {
        EQP_CHECK(all_fit(&m, &slips));
    }
    if (slips) {
        carry_out(&m);
    }
    *done = slips;
    return EQP_OK;
}
