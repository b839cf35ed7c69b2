/* SPDX-License-Identifier: BSD-3-Clause */
#include "operations.h"
#include "rewire.h"
#include "vector.h"

#include <equipoise/error.h>

/* Arms shorter than this share of rann are ignored. */
#define TINY 1e-3
/* Sine of the angle below which two glide planes count as one; smaller angles would put their common line far away. */
#define ONE_PLANE 0.1

/* An end within this times rann is the point of contact. A segment between them would be so short that its ends, if all
 * their other arms are short too, have hardly any drag and force a tiny time step. */
#define NEAR_END 2.0

typedef struct contact {
    dd_patch_node *node;   /* an end; NULL: a point between the ends */
    dd_patch_node *end[2]; /* of the segment */
    double x[3], v[3];
} contact;

/* d(distance^2)/dt / 2 of two points. Points at rest do not part. */
static bool parts(const double xa[3], const double va[3], const double xb[3], const double vb[3])
{
    double gap[3], rate[3];

    dd_v3_minus(xb, xa, gap);
    dd_v3_minus(vb, va, rate);
    return dd_v3_dot(gap, rate) > 0.0;
}

static void between(const double first[3], const double second[3], double s, double at[3])
{
    for (int k = 0; k < 3; k++) {
        at[k] = (1.0 - s) * first[k] + s * second[k];
    }
}

static bool touches(const dd_rules *rules, const double xa[2][3], const double va[2][3], const double xb[2][3],
                    const double vb[2][3], double *s, double *t)
{
    double pa[3], pb[3], ra[3], rb[3];

    if (dd_segments_distance2(xa[0], xa[1], xb[0], xb[1], s, t) >= rules->rann * rules->rann) {
        return false;
    }
    between(xa[0], xa[1], *s, pa);
    between(xb[0], xb[1], *t, pb);
    between(va[0], va[1], *s, ra);
    between(vb[0], vb[1], *t, rb);
    return !parts(pa, ra, pb, rb);
}

bool dd_wants_collide(const dd_rules *rules, const double xa[2][3], const double va[2][3], const double xb[2][3],
                      const double vb[2][3])
{
    double s, t;

    return touches(rules, xa, va, xb, vb, &s, &t);
}

/* u: the end of the shorter arm. */
static bool zips(const dd_rules *rules, const double to_u[3], const double to_w[3], const double vu[3],
                 const double vw[3], const double v[3], double *t)
{
    double point[3], rate[3];

    if (dd_point_distance2(to_u, dd_v3_zero, to_w, t) >= rules->rann * rules->rann ||
        *t * dd_v3_length(to_w) < rules->rann) {
        return false;
    }
    between(dd_v3_zero, to_w, *t, point);
    between(v, vw, *t, rate);
    return !parts(to_u, vu, point, rate);
}

bool dd_wants_zip(const dd_rules *rules, const double to_u[3], const double to_w[3], const double vu[3],
                  const double vw[3], const double v[3])
{
    double t;

    return dd_v3_dot(to_u, to_u) <= dd_v3_dot(to_w, to_w) ? zips(rules, to_u, to_w, vu, vw, v, &t)
                                                          : zips(rules, to_w, to_u, vw, vu, v, &t);
}

static void touch_node(contact *touch, dd_patch_node *node)
{
    touch->node = node;
    dd_v3_copy(touch->x, node->node.x);
    dd_v3_copy(touch->v, node->node.v);
}

/* Point at s of a segment, or its end if nearer than `near`. */
static void touch_segment(const dd_patch *patch, double near, dd_patch_node *const end[2], double s, contact *touch)
{
    double line[3], length;

    dd_patch_offset(patch, end[0]->node.x, end[1]->node.x, line);
    length = dd_v3_length(line);
    touch->end[0] = end[0];
    touch->end[1] = end[1];
    if (fmin(s, 1.0 - s) * length < near) {
        touch_node(touch, end[s > 0.5]);
    } else {
        touch->node = NULL;
        dd_v3_scale(s, line);
        dd__fold(patch, end[0]->node.x, line, touch->x);
        between(end[0]->node.v, end[1]->node.v, s, touch->v);
    }
}

/* Intersection of planes through points: an orthonormal base of the forbidden directions, and a point in it. */
typedef struct affine {
    int n;
    double base[3][3], x[3];
} affine;

static void intersect(affine *common, const double normal[3], const double point[3])
{
    double rest[3], gap[3], length;

    dd_v3_copy(rest, normal);
    for (int i = 0; i < common->n; i++) {
        dd_v3_along(rest, -dd_v3_dot(rest, common->base[i]), common->base[i], rest);
    }
    length = dd_v3_length(rest);
    if (common->n == 3 || length < ONE_PLANE) {
        return;
    }
    dd_v3_minus(point, common->x, gap);
    dd_v3_scale(1.0 / length, rest);
    dd_v3_along(common->x, dd_v3_dot(normal, gap) / length, rest, common->x);
    dd_v3_copy(common->base[common->n++], rest);
}

static void intersect_all(affine *common, const contact *touch, const double point[3])
{
    if (touch->node == NULL) {
        const dd_arm *arm = dd_node_find_arm(&touch->end[0]->node, touch->end[1]->node.tag);
        intersect(common, arm->normal, point);
        return;
    }
    for (int i = 0; i < touch->node->node.narms; i++) {
        intersect(common, touch->node->node.arm[i].normal, point);
    }
}

/* Point of all glide planes nearest to the middle; the middle if that is far away. */
static void meeting_point(const dd_patch *patch, const dd_rules *rules, const contact *a, const contact *b, double x[3])
{
    double gap[3], middle[3], step[3];
    affine common = {0};

    dd_patch_offset(patch, a->x, b->x, gap);
    dd_v3_along(dd_v3_zero, 0.5, gap, middle);
    dd_v3_copy(common.x, middle);
    intersect_all(&common, a, dd_v3_zero);
    intersect_all(&common, b, gap);
    dd_v3_minus(common.x, middle, step);
    dd__fold(patch, a->x, dd_v3_length(step) < 2.0 * rules->rann + dd_v3_length(gap) ? common.x : middle, x);
}

static bool is_fixed(const contact *touch)
{
    return touch->node != NULL && touch->node->node.constraint != DD_FREE;
}

/* True if all present and future arms of the touching point can follow it to x. EQP_ERR_ARGUMENT: an arm to a missing
 * node. */
static int fits(dd_patch *patch, const dd_rules *rules, const contact *touch, const dd_patch_node *partner,
                const double x[3], bool *fit)
{
    const double tiny = TINY * rules->rann;

    if (touch->node == NULL) {
        *fit = *fit && dd__arm_fits(patch, touch->x, x, touch->end[0]->node.x, tiny) &&
               dd__arm_fits(patch, touch->x, x, touch->end[1]->node.x, tiny);
        return EQP_OK;
    }
    for (int i = 0; i < touch->node->node.narms; i++) {
        const dd_patch_node *other = dd_patch_find(patch, touch->node->node.arm[i].tag);
        if (other == NULL) {
            return EQP_ERR_ARGUMENT;
        }
        *fit = *fit && (other == partner || dd__arm_fits(patch, touch->x, x, other->node.x, tiny));
    }
    return EQP_OK;
}

static int arms_of(const contact *touch)
{
    return touch->node != NULL ? touch->node->node.narms : 2;
}

/* Merges a and b into one node, *joint. */
static int unite(dd_patch *patch, contact *a, contact *b, const double x[3], dd_patch_node **joint)
{
    double v[3];
    int code = EQP_OK;

    between(a->v, b->v, 0.5, v);
    if (a->node == NULL && b->node == NULL) {
        code = dd__create(patch, x, v, a->end[0]->node.home, joint);
    } else if (a->node == NULL ||
               (b->node != NULL && !is_fixed(a) && (is_fixed(b) || b->node->node.tag < a->node->node.tag))) {
        *joint = b->node;
    } else {
        *joint = a->node;
    }
    if (code != EQP_OK) {
        return code;
    }
    if ((*joint)->node.constraint == DD_FREE) {
        dd_v3_copy((*joint)->node.x, x);
        dd_v3_copy((*joint)->node.v, v);
    }
    if (a->node != NULL && b->node != NULL) {
        return dd__merge(patch, *joint, *joint == a->node ? b->node : a->node);
    }
    if (a->node == NULL) {
        code = dd__thread(patch, a->end[0], a->end[1], *joint);
    }
    if (code == EQP_OK && b->node == NULL) {
        code = dd__thread(patch, b->end[0], b->end[1], *joint);
    }
    return code;
}

static int join(dd_patch *patch, const dd_rules *rules, contact *a, contact *b, bool *done)
{
    dd_patch_node *joint;
    double x[3];
    bool fit = !(is_fixed(a) && is_fixed(b)) && arms_of(a) + arms_of(b) <= DD_MOST_ARMS;
    int code;

    if (is_fixed(a) || is_fixed(b)) {
        dd_v3_copy(x, is_fixed(a) ? a->x : b->x);
    } else {
        meeting_point(patch, rules, a, b, x);
    }
    code = fits(patch, rules, a, b->node, x, &fit);
    if (code == EQP_OK) {
        code = fits(patch, rules, b, a->node, x, &fit);
    }
    if (code != EQP_OK || !fit) {
        goto end;
    }
    code = unite(patch, a, b, x, &joint);
    if (code == EQP_OK) {
        dd__renew_planes(patch, joint);
        dd__drop_bare(patch);
    }
end:
    if (code == EQP_OK) {
        *done = fit;
    }
    return code;
}

/* Unwrapped positions and velocities of the ends; the second segment's image is the one nearest to the first. */
static void unwrap(const dd_patch *patch, dd_patch_node *const end[2], const double middle[3], double x[2][3],
                   double v[2][3])
{
    double line[3], own_middle[3], gap[3];

    dd_patch_offset(patch, end[0]->node.x, end[1]->node.x, line);
    dd_v3_along(end[0]->node.x, 0.5, line, own_middle);
    dd_patch_offset(patch, middle, own_middle, gap);
    for (int e = 0; e < 2; e++) {
        dd_v3_along(gap, e - 0.5, line, x[e]);
        dd_v3_copy(v[e], end[e]->node.v);
    }
}

/* Takes ends of two segments joined by a third that is too short to move on its own and has hardly any drag. If it
 * waited until its ends do not part, it could oscillate about zero length and force a tiny time step. */
static bool share_short_segment(const dd_patch *patch, const dd_rules *rules, dd_patch_node *const a[2],
                                dd_patch_node *const b[2], contact *first, contact *second)
{
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            double line[3];
            if (a[i]->node.narms < 3 || b[j]->node.narms < 3 || dd_node_find_arm(&a[i]->node, b[j]->node.tag) == NULL) {
                continue;
            }
            dd_patch_offset(patch, a[i]->node.x, b[j]->node.x, line);
            if (dd_v3_length(line) < rules->rann) {
                touch_node(first, a[i]);
                touch_node(second, b[j]);
                return true;
            }
        }
    }
    return false;
}

static int collide(dd_patch *patch, const dd_rules *rules, dd_patch_node *const a[2], dd_patch_node *const b[2],
                   bool *done)
{
    double line[3], middle[3], xa[2][3], va[2][3], xb[2][3], vb[2][3], s, t;
    contact first, second;

    if (share_short_segment(patch, rules, a, b, &first, &second)) {
        return join(patch, rules, &first, &second, done);
    }
    dd_patch_offset(patch, a[0]->node.x, a[1]->node.x, line);
    dd_v3_along(a[0]->node.x, 0.5, line, middle);
    unwrap(patch, a, middle, xa, va);
    unwrap(patch, b, middle, xb, vb);
    if (!touches(rules, xa, va, xb, vb, &s, &t)) {
        *done = false;
        return EQP_OK;
    }
    touch_segment(patch, NEAR_END * rules->rann, a, s, &first);
    touch_segment(patch, NEAR_END * rules->rann, b, t, &second);
    return join(patch, rules, &first, &second, done);
}

static int zip(dd_patch *patch, const dd_rules *rules, dd_patch_node *node, dd_patch_node *u, dd_patch_node *w,
               bool *done)
{
    double to_u[3], to_w[3], t;
    contact end, point;

    dd_patch_offset(patch, node->node.x, u->node.x, to_u);
    dd_patch_offset(patch, node->node.x, w->node.x, to_w);
    if (dd_v3_dot(to_u, to_u) > dd_v3_dot(to_w, to_w)) {
        return zip(patch, rules, node, w, u, done);
    }
    if (!zips(rules, to_u, to_w, u->node.v, w->node.v, node->node.v, &t)) {
        *done = false;
        return EQP_OK;
    }
    touch_node(&end, u);
    touch_segment(patch, rules->rann, (dd_patch_node *const[2]){node, w}, t, &point);
    if (point.node == node) { /* the longer arm is shorter than twice rann */
        touch_node(&point, w);
    }
    return join(patch, rules, &end, &point, done);
}

int dd_collide(dd_patch *patch, const dd_rules *rules, const dd_tag a[2], const dd_tag b[2], bool *done)
{
    dd_patch_node *first[2], *second[2];

    for (int e = 0; e < 2; e++) {
        first[e] = dd_patch_find(patch, a[e]);
        second[e] = dd_patch_find(patch, b[e]);
    }
    if (first[0] == NULL || first[1] == NULL || second[0] == NULL || second[1] == NULL ||
        dd_node_find_arm(&first[0]->node, a[1]) == NULL || dd_node_find_arm(&second[0]->node, b[1]) == NULL) {
        *done = false;
        return EQP_OK;
    }
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            if (first[i] == second[j]) {
                const bool same = first[1 - i] == second[1 - j];
                if (same) {
                    *done = false;
                }
                return same ? EQP_OK : zip(patch, rules, first[i], first[1 - i], second[1 - j], done);
            }
        }
    }
    return collide(patch, rules, first, second, done);
}

/* Square of the sine of the angle below which segments count as parallel, with their least distance at an end. */
#define PARALLEL 1e-12

double dd_point_distance2(const double point[3], const double b1[3], const double b2[3], double *t)
{
    double line[3], to_point[3], length2, at;

    dd_v3_minus(b2, b1, line);
    dd_v3_minus(point, b1, to_point);
    length2 = dd_v3_dot(line, line);
    at = length2 > 0.0 ? dd_v3_dot(to_point, line) / length2 : 0.0;
    *t = fmin(fmax(at, 0.0), 1.0);
    dd_v3_along(to_point, -*t, line, to_point);
    return dd_v3_dot(to_point, to_point);
}

double dd_segments_distance2(const double a1[3], const double a2[3], const double b1[3], const double b2[3], double *s,
                             double *t)
{
    double u[3], v[3], w[3], at[4];
    /* The border: each end against the other segment. */
    const double border[4] = {dd_point_distance2(a1, b1, b2, &at[0]), dd_point_distance2(a2, b1, b2, &at[1]),
                              dd_point_distance2(b1, a1, a2, &at[2]), dd_point_distance2(b2, a1, a2, &at[3])};
    int k = border[1] < border[0] ? 1 : 0;

    k = border[2] < border[k] ? 2 : k;
    k = border[3] < border[k] ? 3 : k;
    *s = k < 2 ? k : at[k];
    *t = k < 2 ? at[k] : k - 2;
    double best = border[k];
    dd_v3_minus(a2, a1, u);
    dd_v3_minus(b2, b1, v);
    dd_v3_minus(b1, a1, w);
    const double uu = dd_v3_dot(u, u), vv = dd_v3_dot(v, v), uv = dd_v3_dot(u, v);
    const double uw = dd_v3_dot(u, w), vw = dd_v3_dot(v, w), det = uu * vv - uv * uv;
    if (det > PARALLEL * uu * vv) {
        const double at_a = (uw * vv - vw * uv) / det, at_b = (uw * uv - vw * uu) / det;
        if (at_a > 0.0 && at_a < 1.0 && at_b > 0.0 && at_b < 1.0) {
            double gap[3];
            dd_v3_along(w, at_b, v, gap);
            dd_v3_along(gap, -at_a, u, gap);
            if (dd_v3_dot(gap, gap) < best) {
                best = dd_v3_dot(gap, gap);
                *s = at_a;
                *t = at_b;
            }
        }
    }
    return best;
}
