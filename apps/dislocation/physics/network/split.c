/* SPDX-License-Identifier: BSD-3-Clause */
#include "split.h"

#include "rewire.h"
#include "vector.h"

#include <equipoise/error.h>

/* More arms than this: only groups of two against the rest. 2^9 partitions are quick, 2^23 are not. */
#define ALL_PARTITIONS 10
/* Power over that of the whole node: less is noise of the forces and of the tension. */
#define GAIN 1.05
/* Relative speed over the larger speed: nodes that hardly part would have to go far to be apart. */
#define PARTING 0.2
/* A little more than what touches. */
#define APART 1.1
/* Arms shorter than this share of rann are none. */
#define TINY 1e-3

typedef struct dd_cluster {
    const dd_node *node;
    double to[DD_MOST_ARMS][3];
} dd_cluster;

/* One group of arms as a node of its own, perhaps with the junction as its last arm. */
typedef struct dd_group {
    dd_node node;
    dd_arm arm[DD_MOST_ARMS + 1];
    double to[DD_MOST_ARMS + 1][3];
    double force[3], v[3];
} dd_group;

typedef struct dd_partition {
    uint32_t second; /* bit i: arm i is in the second group */
    double power, burgers[3] /* junction, first to second */, direction[3], normal[3], v[2][3];
    bool junction;
} dd_partition;

bool dd_wants_split(const dd_node *node)
{
    return node->constraint == DD_FREE && node->narms >= 4 && node->narms <= DD_MOST_ARMS;
}

static int count_bits(uint32_t bits)
{
    int n = 0;

    for (; bits != 0; bits &= bits - 1) {
        n++;
    }
    return n;
}

static void take_half(const dd_cluster *whole, uint32_t group, dd_group *half)
{
    half->node = *whole->node;
    half->node.arm = half->arm;
    half->node.narms = 0;
    half->node.room = DD_MOST_ARMS + 1;
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
static void add_junction(dd_group *half, const dd_partition *halves, double sense, double length, double pull)
{
    const int n = half->node.narms++;

    half->arm[n] = (dd_arm){.tag = DD_NO_TAG};
    for (int k = 0; k < 3; k++) {
        half->arm[n].burgers[k] = sense * halves->burgers[k];
        half->arm[n].normal[k] = halves->normal[k];
        half->to[n][k] = sense * length * halves->direction[k];
        half->force[k] += sense * pull * halves->direction[k];
    }
}

/* Whether the two nodes part, and where to. */
static bool part(const dd_group *one, const dd_group *two, double direction[3])
{
    const double speed = fmax(dd_v3_length(one->v), dd_v3_length(two->v));
    double relative;

    dd_v3_minus(two->v, one->v, direction);
    relative = dd_v3_length(direction);
    if (!(relative > PARTING * speed) || !isfinite(relative)) {
        return false;
    }
    dd_v3_scale(1.0 / relative, direction);
    return true;
}

/* Whether the two nodes would part, and with what power. */
static bool try_partition(const dd_cluster *whole, const dd_rules *rules, const dd_mover *mover, uint32_t second,
                          dd_partition *halves)
{
    dd_group one, two;
    double size2;

    halves->second = second;
    take_half(whole, ~second, &one);
    take_half(whole, second, &two);
    dd_node_burgers(&two.node, halves->burgers);
    size2 = dd_v3_dot(halves->burgers, halves->burgers);
    halves->junction = size2 > DD_BURGERS_ZERO * DD_BURGERS_ZERO;
    move(mover, &one);
    move(mover, &two);
    if (!part(&one, &two, halves->direction)) {
        return false;
    }
    if (halves->junction) {
        double direction[3];
        dd__plane(halves->direction, halves->burgers, one.arm[0].normal, two.arm[0].normal, halves->normal);
        add_junction(&one, halves, 1.0, APART * rules->rann, mover->tension * size2);
        add_junction(&two, halves, -1.0, APART * rules->rann, mover->tension * size2);
        move(mover, &one);
        move(mover, &two);
        if (!part(&one, &two, direction) || dd_v3_dot(direction, halves->direction) <= 0.0) {
            return false;
        }
        dd_v3_copy(halves->direction, direction);
    }
    dd_v3_copy(halves->v[0], one.v);
    dd_v3_copy(halves->v[1], two.v);
    halves->power = dd_v3_dot(one.force, one.v) + dd_v3_dot(two.force, two.v);
    return true;
}

static bool best_partition(const dd_cluster *whole, const dd_rules *rules, const dd_mover *mover, dd_partition *best)
{
    const int n = whole->node->narms;
    dd_group together;
    bool found = false;

    take_half(whole, UINT32_MAX, &together);
    move(mover, &together);
    best->power = GAIN * dd_v3_dot(together.force, together.v);
    /* Arm 0 is in the first group: every partition once. */
    for (uint32_t group = 2; group < (uint32_t)1 << n; group += 2) {
        const int size = count_bits(group);
        dd_partition halves;
        if (size < 2 || n - size < 2 || (n > ALL_PARTITIONS && size != 2 && n - size != 2)) {
            continue;
        }
        if (try_partition(whole, rules, mover, group, &halves) && halves.power > best->power) {
            *best = halves;
            found = true;
        }
    }
    return found;
}

/* Where the two nodes go: along their velocities, so that both stay in their glide planes. */
static bool places(const dd_patch *patch, const dd_rules *rules, const dd_cluster *whole, const dd_partition *halves,
                   double x[2][3])
{
    double relative[3], time;
    bool fit = true;

    dd_v3_minus(halves->v[1], halves->v[0], relative);
    time = APART * rules->rann / dd_v3_length(relative);
    for (int h = 0; h < 2; h++) {
        double step[3] = {0.0, 0.0, 0.0};
        dd_v3_along(step, time, halves->v[h], step);
        dd__fold(patch, whole->node->x, step, x[h]);
    }
    for (int i = 0; i < whole->node->narms; i++) {
        double to[3];
        dd_v3_along(whole->node->x, 1.0, whole->to[i], to);
        fit = fit && dd__arm_fits(patch, whole->node->x, x[halves->second >> i & 1], to, TINY * rules->rann);
    }
    return fit;
}

/* The arms of the second group go to a new node. */
static int carry_out(dd_patch *patch, dd_patch_node *at, const dd_partition *halves, double x[2][3])
{
    dd_patch_node *created;
    dd_tag tag[DD_MOST_ARMS];
    const int n = at->node.narms;
    dd_link link = {.burgers = {0.0}};
    int code;

    for (int i = 0; i < n; i++) {
        tag[i] = at->node.arm[i].tag;
    }
    code = dd__create(patch, x[1], halves->v[1], at->node.home, &created);
    if (code != EQP_OK) {
        return code;
    }
    dd_v3_copy(at->node.x, x[0]);
    dd_v3_copy(at->node.v, halves->v[0]);
    for (int i = 0; code == EQP_OK && i < n; i++) {
        if (halves->second >> i & 1) {
            dd_patch_node *other = dd_patch_find(patch, tag[i]);
            code = dd__unlink(at, other, &link);
            if (code == EQP_OK) {
                code = dd__link(patch, created, other, &link);
            }
        }
    }
    if (code == EQP_OK && halves->junction) {
        link = (dd_link){.burgers = {0.0}};
        dd_v3_copy(link.burgers, halves->burgers);
        dd_v3_copy(link.normal, halves->normal);
        code = dd__link(patch, at, created, &link);
    }
    if (code == EQP_OK) {
        dd__renew_planes(patch, at);
        dd__renew_planes(patch, created);
    }
    return code;
}

int dd_split(dd_patch *patch, const dd_rules *rules, const dd_mover *mover, dd_tag tag, bool *done)
{
    dd_patch_node *at = dd_patch_find(patch, tag);
    bool splits;
    double x[2][3];
    dd_partition best;
    dd_cluster whole;
    int code = EQP_OK;

    if (at == NULL || !dd_wants_split(&at->node)) {
        *done = false;
        return EQP_OK;
    }
    whole.node = &at->node;
    for (int i = 0; i < at->node.narms; i++) {
        const dd_patch_node *other = dd_patch_find(patch, at->node.arm[i].tag);
        if (other == NULL) {
            return EQP_ERR_ARGUMENT;
        }
        dd_patch_offset(patch, at->node.x, other->node.x, whole.to[i]);
    }
    splits = best_partition(&whole, rules, mover, &best) && places(patch, rules, &whole, &best, x);
    if (splits) {
        code = carry_out(patch, at, &best, x);
    }
    if (code == EQP_OK) {
        *done = splits;
    }
    return code;
}
