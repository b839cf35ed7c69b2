/* SPDX-License-Identifier: BSD-3-Clause */
#include "operations.h"

#include "elastic/pairs.h"
#include "rewire.h"
#include "vector.h"

#include <equipoise/error.h>

/* With more arms, only groups of two against the rest are tried: 2^9 partitions are fast, 2^23 are not. */
#define ALL_PARTITIONS 10
/* Least distance of the two nodes, in units of rann. */
#define APART 2.0
/* Cosine below which velocities count as opposite: both nodes move. */
#define OPPOSITE (-0.99)
/* Relative error of a node's displacement. */
#define SHARP 1e-9
/* Arms shorter than this share of rann are ignored. */
#define TINY 1e-3

#define MOST_SEGMENTS DD_LOCAL_SEGMENTS

/* A node with its arms; places are relative to it. */
typedef struct dd_cluster {
    const dd_node *node;
    dd_medium medium;
    double to[DD_MOST_ARMS][3], v[DD_MOST_ARMS][3]; /* neighbours: from the node, velocities */
    double local[DD_MOST_ARMS][3]; /* forces on the node that the arms exert on themselves and on each other */
} dd_cluster;

/* One group of arms as a node of its own, perhaps with the junction as its last arm. */
typedef struct dd_group {
    dd_node node;
    dd_arm arm[MOST_SEGMENTS];
    double to[MOST_SEGMENTS][3];
    double force[3], v[3];
} dd_group;

typedef struct dd_partition {
    uint32_t second; /* bit i: arm i is in the second group */
    double power, burgers[3] /* junction, first to second */, normal[3], x[2][3], v[2][3];
    bool junction;
} dd_partition;

bool dd_wants_split(const dd_node *node)
{
    return node->constraint == DD_FREE && node->narms >= 4 && node->narms <= DD_MOST_ARMS;
}

static void take_half(const dd_cluster *whole, uint32_t group, dd_group *half)
{
    half->node = *whole->node;
    half->node.arm = half->arm;
    half->node.narms = 0;
    half->node.room = MOST_SEGMENTS;
    half->force[0] = half->force[1] = half->force[2] = 0.0;
    for (int i = 0; i < whole->node->narms; i++) {
        if (group >> i & 1) {
            const int n = half->node.narms++;
            half->arm[n] = whole->node->arm[i];
            dd_v3_copy(half->to[n], whole->to[i]);
            dd_v3_along(half->force, 1.0, half->arm[n].force, half->force);
        }
    }
}

static void move(const dd_mover *mover, dd_group *half)
{
    mover->velocity(mover->user, &half->node, (const double(*)[3])half->to, half->force, half->v);
}

/* The junction pulls, and has a say in where the node may go. */
static void add_junction(dd_group *half, const dd_partition *halves, double sense, const double to[3],
                         const double force[3])
{
    const int n = half->node.narms++;

    half->arm[n] = (dd_arm){.tag = DD_NO_TAG};
    for (int k = 0; k < 3; k++) {
        half->arm[n].burgers[k] = sense * halves->burgers[k];
        half->arm[n].normal[k] = halves->normal[k];
        half->to[n][k] = sense * to[k];
        half->force[k] += force[k];
    }
}

/* Where the two nodes stand when they are apart: the faster one has gone along its velocity, or both have, if they go
 * opposite ways. So both stay in their glide planes. False: they do not move, or not at a finite speed. */
static bool stand_apart(const dd_rules *rules, const dd_group *one, const dd_group *two, double x[2][3])
{
    const double speed[2] = {dd_v3_length(one->v), dd_v3_length(two->v)};
    const int fast = speed[1] > speed[0];
    const double cosine = dd_v3_dot(one->v, two->v) / (speed[0] * speed[1]); /* not a number where one stands still */
    const double share = cosine < OPPOSITE ? 0.5 : 1.0, way = APART * rules->rann / speed[fast];

    if (!(speed[fast] > 0.0 && isfinite(speed[fast]) && isfinite(way))) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        const double along = way * (fast == 1 ? two : one)->v[k];
        x[fast][k] = share * along;
        x[1 - fast][k] = (share - 1.0) * along;
    }
    return true;
}

/* First guess of where the nodes go, by the forces at the node's place and the junction's own. */
static bool guess(const dd_cluster *whole, const dd_rules *rules, const dd_mover *mover, dd_partition *halves)
{
    dd_group one, two;
    double gap[3], away[3];

    take_half(whole, ~halves->second, &one);
    take_half(whole, halves->second, &two);
    dd_node_burgers(&two.node, halves->burgers);
    halves->junction = dd_v3_length(halves->burgers) > DD_BURGERS_ZERO;
    move(mover, &one);
    move(mover, &two);
    if (!stand_apart(rules, &one, &two, halves->x)) {
        return false;
    }
    if (halves->junction) {
        const dd_segment junction = dd__segment(halves->x[0], halves->x[1], halves->burgers);
        double force[6];
        dd_v3_minus(halves->x[1], halves->x[0], gap);
        dd__plane(gap, halves->burgers, one.arm[0].normal, two.arm[0].normal, halves->normal);
        dd_self_force(&whole->medium, &junction, force);
        add_junction(&one, halves, 1.0, gap, force);
        add_junction(&two, halves, -1.0, gap, force + 3);
        move(mover, &one);
        move(mover, &two);
        if (!stand_apart(rules, &one, &two, halves->x)) {
            return false;
        }
        dd_v3_minus(halves->x[1], halves->x[0], away);
        return dd_v3_dot(away, gap) > 0.0;
    }
    return true;
}

/* Replaces the group's places and forces by those of the trial. */
static void place(const dd_cluster *whole, uint32_t group, const double x[3], const double (*local)[6], dd_group *half)
{
    int n = 0;

    take_half(whole, group, half);
    for (int i = 0; i < whole->node->narms; i++) {
        if (group >> i & 1) {
            dd_v3_minus(half->to[n], x, half->to[n]);
            dd_v3_along(half->force, 1.0, local[i], half->force);
            dd_v3_along(half->force, -1.0, whole->local[i], half->force);
            n++;
        }
    }
}

/* Velocities and power where the nodes would stand, and whether they part there. */
static bool weigh(const dd_cluster *whole, const dd_mover *mover, dd_partition *halves)
{
    const int n = whole->node->narms;
    dd_segment segment[MOST_SEGMENTS];
    dd_group one, two;
    double local[MOST_SEGMENTS][6], gap[3], relative[3];

    for (int i = 0; i < n; i++) {
        segment[i] = dd__segment(halves->x[halves->second >> i & 1], whole->to[i], whole->node->arm[i].burgers);
    }
    segment[n] = dd__segment(halves->x[0], halves->x[1], halves->burgers);
    dd__local_forces(&whole->medium, n + halves->junction, segment, local);
    place(whole, ~halves->second, halves->x[0], (const double(*)[6])local, &one);
    place(whole, halves->second, halves->x[1], (const double(*)[6])local, &two);
    dd_v3_minus(halves->x[1], halves->x[0], gap);
    if (halves->junction) {
        add_junction(&one, halves, 1.0, gap, local[n]);
        add_junction(&two, halves, -1.0, gap, local[n] + 3);
    }
    move(mover, &one);
    move(mover, &two);
    dd_v3_copy(halves->v[0], one.v);
    dd_v3_copy(halves->v[1], two.v);
    halves->power = dd_v3_dot(one.force, one.v) + dd_v3_dot(two.force, two.v) -
                    mover->noise * (dd_v3_length(one.force) + dd_v3_length(two.force));
    dd_v3_minus(two.v, one.v, relative);
    return dd_v3_dot(relative, gap) > 0.0;
}

/* All arms have a length and stay shorter than half the box. */
static bool fits(const dd_patch *patch, const dd_rules *rules, const dd_cluster *whole, const dd_partition *halves)
{
    bool fit = true;

    for (int i = 0; i < whole->node->narms; i++) {
        double x[3], to[3];
        dd_v3_along(whole->node->x, 1.0, halves->x[halves->second >> i & 1], x);
        dd_v3_along(whole->node->x, 1.0, whole->to[i], to);
        fit = fit && dd__arm_fits(patch, whole->node->x, x, to, TINY * rules->rann);
    }
    return fit;
}

/* Lines that leave one of the two nodes, as they will be: places and velocities of their ends. */
typedef struct dd_lines {
    bool coarse; /* one line, without the node */
    int n;
    double x[DD_MOST_ARMS][2][3], v[DD_MOST_ARMS][2][3];
} dd_lines;

/* A node of two arms that coarsening takes out will leave a straight line, which bends less than the trial. */
static void take_lines(const dd_rules *rules, const dd_cluster *whole, const dd_partition *halves, int half,
                       dd_lines *lines)
{
    const uint32_t group = half == 1 ? halves->second : ~halves->second;
    dd_group as_node;

    take_half(whole, group, &as_node);
    dd_v3_copy(as_node.node.v, halves->v[half]);
    lines->n = 0;
    for (int i = 0; i < whole->node->narms; i++) {
        if (group >> i & 1) {
            const int n = lines->n++;
            dd_v3_copy(lines->x[n][0], halves->x[half]);
            dd_v3_copy(lines->v[n][0], halves->v[half]);
            dd_v3_copy(lines->x[n][1], whole->to[i]);
            dd_v3_copy(lines->v[n][1], whole->v[i]);
            dd_v3_minus(as_node.to[n], halves->x[half], as_node.to[n]);
        }
    }
    lines->coarse =
        lines->n == 2 && !halves->junction &&
        dd_wants_coarsen(rules, &as_node.node, as_node.to[0], as_node.to[1], lines->v[0][1], lines->v[1][1]);
    if (lines->coarse) {
        dd_v3_copy(lines->x[0][0], lines->x[1][1]);
        dd_v3_copy(lines->v[0][0], lines->v[1][1]);
        lines->n = 1;
    }
}

/* True if lines of the two nodes would touch again at once, somewhere along them. Where a line jumps as its node goes,
 * it does not matter where it was heading for. */
static bool meet(const dd_rules *rules, const dd_cluster *whole, const dd_partition *halves)
{
    static const double standing[2][3] = {{0.0}};
    dd_lines one, two;
    bool any = false;

    take_lines(rules, whole, halves, 0, &one);
    take_lines(rules, whole, halves, 1, &two);
    for (int i = 0; i < one.n; i++) {
        for (int j = 0; j < two.n && !any; j++) {
            const bool jumps = one.coarse || two.coarse;
            any = dd_wants_collide(rules, (const double(*)[3])one.x[i], jumps ? standing : (const double(*)[3])one.v[i],
                                   (const double(*)[3])two.x[j], jumps ? standing : (const double(*)[3])two.v[j]);
        }
    }
    return any;
}

/* Along its way, line tension on a node that has gone so far: of its arms, and of the line behind it. */
static double pull(const dd_cluster *whole, const dd_partition *halves, int half, const double along[3], double way)
{
    const dd_medium tension = {.nu = whole->medium.nu, .a = 1.0, .core = 1.0};
    double x[3], force[6], sum;

    dd_v3_along(dd_v3_zero, way, along, x);
    const dd_segment behind = dd__segment(dd_v3_zero, along, halves->burgers);
    dd_self_force(&tension, &behind, force);
    sum = halves->junction ? dd_v3_dot(force + 3, along) : 0.0;
    for (int i = 0; i < whole->node->narms; i++) {
        if ((int)(halves->second >> i & 1) == half) {
            const dd_segment arm = dd__segment(x, whole->to[i], whole->node->arm[i].burgers);
            dd_self_force(&tension, &arm, force);
            sum += dd_v3_dot(force, along);
        }
    }
    return sum;
}

/* To where line tension holds one of the two nodes. */
static void lengthen(const dd_rules *rules, const dd_cluster *whole, dd_partition *halves, int half, double most)
{
    double along[3], low = dd_v3_length(halves->x[half]), high = most, first, last;

    if (low == 0.0) {
        return;
    }
    dd_v3_copy(along, halves->x[half]);
    dd_v3_scale(1.0 / low, along);
    for (int i = 0; i < whole->node->narms; i++) {
        if ((int)(halves->second >> i & 1) == half) {
            high = fmin(high, rules->max_seg - dd_v3_length(whole->to[i]));
        }
    }
    if (high <= low) {
        return;
    }
    first = pull(whole, halves, half, along, low);
    last = pull(whole, halves, half, along, high);
    if (first * last > 0.0) {
        low = high = fabs(first) <= fabs(last) ? low : high;
    }
    while (high - low > SHARP * high) {
        const double middle = 0.5 * (low + high);
        if (pull(whole, halves, half, along, middle) * first > 0.0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    dd_v3_scale(low, along);
    dd_v3_copy(halves->x[half], along);
}

static bool best_partition(const dd_patch *patch, const dd_cluster *whole, const dd_rules *rules, const dd_mover *mover,
                           dd_partition *best)
{
    const int n = whole->node->narms;
    dd_group together;
    bool found = false;

    take_half(whole, UINT32_MAX, &together);
    move(mover, &together);
    best->power = dd_v3_dot(together.force, together.v);
    /* Arm 0 is in the first group: every partition once. */
    for (uint32_t group = 2; group < (uint32_t)1 << n; group += 2) {
        const int size = __builtin_popcount(group);
        dd_partition halves = {.second = group};
        if (size < 2 || n - size < 2 || (n > ALL_PARTITIONS && size != 2 && n - size != 2)) {
            continue;
        }
        if (guess(whole, rules, mover, &halves) && fits(patch, rules, whole, &halves) && weigh(whole, mover, &halves) &&
            halves.power > best->power && !meet(rules, whole, &halves)) {
            *best = halves;
            found = true;
        }
    }
    if (found) {
        const bool both = dd_v3_length(best->x[0]) > 0.0 && dd_v3_length(best->x[1]) > 0.0;
        dd_partition longer = *best;
        lengthen(rules, whole, &longer, 0, both ? 0.5 * rules->max_seg : rules->max_seg);
        lengthen(rules, whole, &longer, 1, both ? 0.5 * rules->max_seg : rules->max_seg);
        *best = fits(patch, rules, whole, &longer) ? longer : *best;
    }
    return found;
}

/* The node with its arms as they are. EQP_ERR_ARGUMENT: an arm leads nowhere. */
static int gather(dd_patch *patch, const dd_node *node, const dd_medium *medium, dd_cluster *whole)
{
    dd_segment segment[DD_MOST_ARMS];
    double local[DD_MOST_ARMS][6];

    whole->node = node;
    whole->medium = *medium;
    dd_v3_copy(whole->medium.box, patch->box);
    for (int i = 0; i < node->narms; i++) {
        const dd_patch_node *other = dd_patch_find(patch, node->arm[i].tag);
        if (other == NULL) {
            return EQP_ERR_ARGUMENT;
        }
        dd_patch_offset(patch, node->x, other->node.x, whole->to[i]);
        dd_v3_copy(whole->v[i], other->node.v);
        segment[i] = dd__segment(dd_v3_zero, whole->to[i], node->arm[i].burgers);
    }
    dd__local_forces(&whole->medium, node->narms, segment, local);
    for (int i = 0; i < node->narms; i++) {
        dd_v3_copy(whole->local[i], local[i]);
    }
    return EQP_OK;
}

/* The arms of the second group go to a new node. */
static int carry_out(dd_patch *patch, dd_patch_node *at, const dd_partition *halves)
{
    dd_patch_node *created;
    dd_tag tag[DD_MOST_ARMS];
    const int n = at->node.narms;
    dd_link link = {.burgers = {0.0}};
    double x[2][3];

    for (int i = 0; i < n; i++) {
        tag[i] = at->node.arm[i].tag;
    }
    dd__fold(patch, at->node.x, halves->x[0], x[0]);
    dd__fold(patch, at->node.x, halves->x[1], x[1]);
    EQP_CHECK(dd__create(patch, x[1], halves->v[1], at->node.home, &created));
    dd_v3_copy(at->node.x, x[0]);
    dd_v3_copy(at->node.v, halves->v[0]);
    for (int i = 0; i < n; i++) {
        if (halves->second >> i & 1) {
            dd_patch_node *other = dd_patch_find(patch, tag[i]);
            EQP_CHECK(dd__unlink(at, other, &link));
            EQP_CHECK(dd__link(patch, created, other, &link));
        }
    }
    if (halves->junction) {
        link = (dd_link){.burgers = {0.0}};
        dd_v3_copy(link.burgers, halves->burgers);
        dd_v3_copy(link.normal, halves->normal);
        EQP_CHECK(dd__link(patch, at, created, &link));
    }
    dd__renew_planes(patch, at);
    dd__renew_planes(patch, created);
    return EQP_OK;
}

int dd_split(dd_patch *patch, const dd_rules *rules, const dd_mover *mover, dd_tag tag, bool *done)
{
    dd_patch_node *at = dd_patch_find(patch, tag);
    dd_partition best;
    dd_cluster whole;
    bool splits = false;

    if (at == NULL || !dd_wants_split(&at->node)) {
        *done = false;
        return EQP_OK;
    }
    EQP_CHECK(gather(patch, &at->node, mover->medium, &whole));
    splits = best_partition(patch, &whole, rules, mover, &best);
    if (splits) {
        EQP_CHECK(carry_out(patch, at, &best));
    }
    *done = splits;
    return EQP_OK;
}
