/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks for tests: hand-made ones, and random tangles of closed loops and pinned lines; and operations on a network
 * that is not divided among ranks, with candidates by brute force. */
#ifndef DD_NETWORKS_H
#define DD_NETWORKS_H

#include <equipoise/more/random.h>

#include "dd_check.h"
#include "failing_malloc.h"
#include "unit.h"

#include "network/node.h"
#include "network/operations.h"
#include "network/vector.h"

static inline dd_node *dd_test_find(const dd_network *network, dd_tag tag)
{
    const int64_t place = dd_network_find(network, tag);

    return place < 0 ? NULL : &network->node[place];
}

static inline void dd_test_node(dd_network *network, dd_tag tag, const double x[3], int constraint)
{
    dd_node node = {.tag = tag, .x = {x[0], x[1], x[2]}, .constraint = constraint};

    assert_ok(dd_network_add(network, &node));
}

/* Adds a segment; on an existing one the Burgers vectors add. normal: NULL allowed. */
static inline void dd_test_join(dd_network *network, dd_tag from, dd_tag to, const double burgers[3],
                                const double *normal)
{
    for (int side = 0; side < 2; side++) {
        dd_node *node = dd_test_find(network, side ? to : from);
        const dd_tag other = side ? from : to;
        dd_arm *arm = dd_node_find_arm(node, other);
        if (arm == NULL) {
            assert_ok(dd_node_add_arm(node, other, &arm));
            dd_v3_copy(arm->normal, normal != NULL ? normal : arm->normal);
        }
        dd_v3_along(arm->burgers, side ? -1.0 : 1.0, burgers, arm->burgers);
        if (dd_v3_length(arm->burgers) < 1e-6) {
            dd_node_remove_arm(node, arm);
        }
    }
}

/* A network of nodes (SPOTS()) and segments between them (LINES()). */
typedef struct dd_test_spot {
    dd_tag tag;
    double x[3];
    int constraint;
} dd_test_spot;

typedef struct dd_test_line {
    dd_tag from, to;
    const double *burgers, *normal; /* normal: NULL allowed */
} dd_test_line;

#define SPOTS(...) ((const dd_test_spot[]){__VA_ARGS__, {.tag = DD_NO_TAG}})
#define LINES(...) ((const dd_test_line[]){__VA_ARGS__, {.burgers = NULL}})

static inline dd_network dd_test_network(const dd_test_spot *spot, const dd_test_line *line)
{
    dd_network network;

    dd_network_init(&network);
    for (; spot->tag != DD_NO_TAG; spot++) {
        dd_test_node(&network, spot->tag, spot->x, spot->constraint);
    }
    for (; line->burgers != NULL; line++) {
        dd_test_join(&network, line->from, line->to, line->burgers, line->normal);
    }
    return network;
}

/* Both arms of a segment. */
static inline void dd_test_plane(const dd_network *network, dd_tag from, dd_tag to, const double normal[3])
{
    dd_v3_copy(dd_node_find_arm(dd_test_find(network, from), to)->normal, normal);
    dd_v3_copy(dd_node_find_arm(dd_test_find(network, to), from)->normal, normal);
}

/* A box without faces, and a cube of edge DD_TEST_EDGE. */
#define DD_TEST_EDGE 100.0
static const double free_box[3] = {0, 0, 0}, corner[3] = {-50, -50, -50}, cube[3] = {100, 100, 100},
                    origin[3] = {0, 0, 0};

/* b - a by nearest images; returns its length. */
static inline double dd_test_offset(const double a[3], const double b[3], const double box[3], double offset[3])
{
    for (int k = 0; k < 3; k++) {
        offset[k] = b[k] - a[k];
        offset[k] -= box[k] > 0.0 ? box[k] * rint(offset[k] / box[k]) : 0.0;
    }
    return dd_v3_length(offset);
}

static inline double dd_test_distance(const dd_node *a, const dd_node *b, const double box[3])
{
    return dd_test_offset(a->x, b->x, box, (double[3]){0});
}

static inline void dd_test_valid(const dd_network *network, const double box[3])
{
    eqp_message message = {""};

    if (dd_network_check(network, box, &message) != EQP_OK) {
        fail_msg("%s", message.text);
    }
}

static inline void dd_test_copy(dd_network *to, const dd_network *from)
{
    dd_network_init(to);
    for (int64_t i = 0; i < from->n; i++) {
        dd_node node = {0};
        assert_ok(dd_node_copy(&node, &from->node[i]));
        assert_ok(dd_network_add(to, &node));
    }
}

static inline void dd_test_force(const dd_network *network, double sum[3])
{
    for (int64_t i = 0; i < network->n; i++) {
        double force[3];
        dd_node_force(&network->node[i], force);
        dd_v3_along(sum, 1.0, force, sum);
    }
}

typedef enum dd_kind { DD_REFINE, DD_COARSEN, DD_COLLIDE, DD_SPLIT, DD_SLIP, DD_KINDS } dd_kind;

typedef struct dd_serial {
    dd_network *network; /* borrowed */
    const double *box;
    dd_rules rules;
    uint32_t next;          /* index of the next new tag in domain 7 */
    double area[9];         /* swept so far, see dd_slip_end() */
    bool starved[DD_KINDS]; /* was tried without memory */
} dd_serial;

/* Areas, and rann, are ParaDiS' defaults where they are 0. */
static inline dd_serial dd_test_serial(dd_network *network, const double box[3], dd_rules rules)
{
    const double triangle = sqrt(3) / 4, area = fmin(2 * rules.r_tol * rules.max_seg, triangle * pow(rules.min_seg, 2));

    rules.rann = rules.rann > 0 ? rules.rann : 2 * rules.r_tol;
    rules.area_min = rules.area_min > 0 ? rules.area_min : area;
    rules.area_max = rules.area_max > 0 ? rules.area_max : (4 * rules.area_min + triangle * pow(rules.max_seg, 2)) / 2;
    return (dd_serial){.network = network, .box = box, .rules = rules};
}

static inline int dd_test_add(dd_patch *patch, const dd_node *node)
{
    dd_patch_node *at = &patch->at[patch->n];

    *at = (dd_patch_node){.changed = false};
    const int code = dd_node_copy(&at->node, node);
    patch->n += code == EQP_OK;
    return code;
}

/* Fills a patch with copies of the tagged nodes, each once, optionally followed by all their neighbors. Tags without a
 * node are skipped. */
static inline int dd_serial_gather(const dd_serial *s, const dd_tag *tag, int n, bool neighbours, dd_patch *patch)
{
    int code = EQP_OK;

    dd_patch_init(patch, corner, s->box);
    for (int i = 0; i < DD_PATCH_NEW; i++) {
        patch->new_tag[i] = DD_TAG(7, s->next + (uint32_t)i);
    }
    for (int i = 0; i < n; i++) {
        const dd_node *node = dd_test_find(s->network, tag[i]);
        if (node != NULL && dd_patch_find(patch, tag[i]) == NULL) {
            EQP_TRY(dd_test_add(patch, node));
        }
    }
    for (int i = 0, asked = patch->n; neighbours && i < asked; i++) {
        for (int a = 0; a < patch->at[i].node.narms; a++) {
            const dd_tag other = patch->at[i].node.arm[a].tag;
            if (dd_patch_find(patch, other) == NULL) {
                EQP_TRY(dd_test_add(patch, dd_test_find(s->network, other)));
            }
        }
    }
done:
    return code;
}

/* One operation. tag: the segment, the node, two segments, the node, the node and its neighbors. */
typedef struct dd_call {
    const dd_serial *serial;
    dd_kind kind;
    const dd_mover *mover;
    const dd_tag *tag;
} dd_call;

/* Runs the operation in its own patch and adds the swept area to `area`. */
static inline int dd_serial_try(const dd_call *c, dd_patch *patch, double area[9], bool *changed)
{
    static const int tags[DD_KINDS] = {2, 1, 4, 1, 3};
    const dd_rules *rules = &c->serial->rules;
    const dd_tag *tag = c->tag;
    FREED_BY(dd_slip_free) dd_slip slip = {0};
    int code;

    EQP_TRY(dd_serial_gather(c->serial, tag, tags[c->kind], c->kind != DD_REFINE, patch));
    EQP_TRY(dd_slip_begin(&slip, patch));
    EQP_TRY(c->kind == DD_REFINE    ? dd_refine(patch, tag[0], tag[1], changed)
            : c->kind == DD_COARSEN ? dd_coarsen(patch, rules, tag[0], changed)
            : c->kind == DD_COLLIDE ? dd_collide(patch, rules, tag, tag + 2, changed)
            : c->kind == DD_SPLIT   ? dd_split(patch, rules, c->mover, tag[0], changed)
                                    : dd_cross_slip(patch, rules, c->mover, tag[0], changed));
    if (*changed) {
        EQP_TRY(dd_slip_end(&slip, patch, area));
    }
done:
    return code;
}

static inline int dd_serial_starve(void *call)
{
    FREED_BY(dd_patch_free) dd_patch patch;
    double area[9] = {0};
    bool changed = false;
    const int code = dd_serial_try(call, &patch, area, &changed);

    assert_true(code == EQP_OK ? changed : memcmp(area, (double[9]){0}, sizeof area) == 0);
    return code;
}

/* Runs an operation and writes the patch back into the network; the first one of a kind that has an effect also with
 * failing allocations. */
static inline bool dd_serial_do(dd_serial *s, dd_kind kind, const dd_mover *mover, const dd_tag *tag)
{
    dd_call call = {s, kind, mover, tag};
    FREED_BY(dd_patch_free) dd_patch patch;
    bool changed = false;

    assert_ok(dd_serial_try(&call, &patch, s->area, &changed));
    if (changed && !s->starved[kind]) {
        assert_true(failing_malloc_sweep(dd_serial_starve, &call, EQP_ERR_MEMORY) > 3);
        s->starved[kind] = true;
    }
    for (int i = 0; changed && i < patch.n; i++) {
        dd_patch_node *at = &patch.at[i];
        if (at->created && !at->deleted) {
            assert_ok(dd_network_add(s->network, &at->node));
        } else if (!at->created && (at->changed || at->deleted)) {
            const int64_t place = dd_network_find(s->network, at->node.tag);
            const dd_node old = s->network->node[place];
            s->network->node[place] = at->node;
            at->node = old;
            if (at->deleted) {
                dd_network_remove(s->network, place);
            }
        }
    }
    s->next += changed ? (uint32_t)patch.nnew : 0;
    return changed;
}

static inline double dd_serial_bend(const dd_serial *s, const dd_node *node)
{
    const dd_node *end[2];
    double to[2][3];

    for (int e = 0; e < 2 && node->narms == 2; e++) {
        end[e] = dd_test_find(s->network, node->arm[e].tag);
        dd_test_offset(node->x, end[e]->x, s->box, to[e]);
    }
    return node->narms == 2 ? dd_bend_area(node, to[0], to[1], end[0]->v, end[1]->v) : 0.0;
}

/* False if either segment is gone or they are too far apart to touch. */
static inline bool dd_serial_near(const dd_serial *s, const dd_tag tag[4])
{
    const dd_node *node[4];
    double line[2][3], half[2], middle[2][3], between[3];

    for (int i = 0; i < 4; i++) {
        node[i] = dd_test_find(s->network, tag[i]);
        if (node[i] == NULL) {
            return false;
        }
    }
    for (int i = 0; i < 2; i++) {
        half[i] = 0.5 * dd_test_offset(node[2 * i]->x, node[2 * i + 1]->x, s->box, line[i]);
        dd_v3_along(node[2 * i]->x, 0.5, line[i], middle[i]);
    }
    dd_test_offset(middle[0], middle[1], s->box, between);
    return !dd_segments_are_far(between, half[0], half[1], s->rules.rann);
}

/* Constrained nodes keep their position and the sum of their Burgers vectors (zero for deleted ones), a sound network
 * stays one, refining and splitting keep the sum of forces, and without an operation nothing changes. */
static inline void dd_serial_check(const dd_serial *s, dd_kind kind, const dd_network *before, int64_t changes)
{
    double sum[2][3] = {{0}};

    for (int64_t i = 0; i < before->n; i++) {
        const dd_node *old = &before->node[i], *now = dd_test_find(s->network, old->tag);
        double was[3], is[3] = {0.0, 0.0, 0.0}, gap[3];
        const bool same = now != NULL && memcmp(now->x, old->x, sizeof now->x) == 0 && now->narms == old->narms &&
                          memcmp(now->arm, old->arm, (size_t)now->narms * sizeof *now->arm) == 0;
        assert_true(changes > 0 || same);
        dd_node_burgers(old, was);
        if (now != NULL && old->constraint != DD_FREE) {
            dd_node_burgers(now, is);
            assert_memory_equal(now->x, old->x, sizeof now->x);
            assert_int_equal(now->constraint, old->constraint);
        }
        dd_v3_minus(is, was, gap);
        assert_true(old->constraint == DD_FREE || dd_v3_length(gap) < 1e-9);
    }
    if (dd_network_check(before, s->box, NULL) == EQP_OK) {
        dd_test_valid(s->network, s->box);
    }
    dd_test_force(before, sum[0]);
    dd_test_force(s->network, sum[1]);
    for (int k = 0; k < 3 && (kind == DD_REFINE || kind == DD_SPLIT); k++) {
        assert_near(sum[1][k], sum[0][k], 1e-9);
    }
}

/* One pass over the nodes, segments or pairs present at its start, with all checks; returns the number of effective
 * operations. Refinement decides for all segments first, since cutting one arm shrinks its neighbor's triangle. */
static inline int64_t dd_serial_pass(dd_serial *s, dd_kind kind, const dd_mover *mover)
{
    const bool segments = kind == DD_REFINE || kind == DD_COLLIDE;
    int64_t n = 0, most = 1, changes = 0;
    FREED_BY(dd_network_free) dd_network before;

    dd_network_sort(s->network);
    dd_test_copy(&before, s->network);
    for (int64_t i = 0; i < before.n; i++) {
        most += 1 + before.node[i].narms;
    }
    HEAP dd_tag(*item)[3] = calloc((size_t)most, sizeof *item);
    for (int64_t i = 0; i < before.n; i++) {
        const dd_node *node = &before.node[i];
        item[n][0] = node->tag;
        n += !segments;
        for (int a = 0; segments && a < node->narms; a++) {
            const dd_node *end = dd_test_find(&before, node->arm[a].tag);
            const double bend = fmax(dd_serial_bend(s, node), dd_serial_bend(s, end));
            if (node->tag < end->tag &&
                (kind == DD_COLLIDE || dd_wants_refine(&s->rules, dd_test_distance(node, end, s->box), bend))) {
                item[n][0] = node->tag;
                item[n++][1] = end->tag;
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const dd_node *node = dd_test_find(s->network, item[i][0]);
        for (int64_t j = i + 1; kind == DD_COLLIDE && j < n; j++) {
            const dd_tag tag[4] = {item[i][0], item[i][1], item[j][0], item[j][1]};
            changes += dd_serial_near(s, tag) && dd_serial_do(s, kind, mover, tag);
        }
        if (kind == DD_SLIP && node != NULL && node->narms == 2) {
            item[i][1] = node->arm[0].tag;
            item[i][2] = node->arm[1].tag;
        }
        if (kind == DD_REFINE || (kind != DD_COLLIDE && node != NULL && (kind != DD_SLIP || node->narms == 2))) {
            changes += dd_serial_do(s, kind, mover, item[i]);
        }
    }
    dd_serial_check(s, kind, &before, changes);
    return changes;
}

static inline int64_t dd_test_pass(dd_network *network, const double box[3], dd_rules rules, dd_kind kind,
                                   const dd_mover *mover)
{
    dd_serial serial = dd_test_serial(network, box, rules);

    return dd_serial_pass(&serial, kind, mover);
}

/* Velocity along the force, divided by half the length of the arms. */
static inline void dd_test_drag(const void *user, const dd_node *node, const double (*to_neighbour)[3],
                                const double force[3], double velocity[3])
{
    double length = 0.0;

    (void)user;
    for (int i = 0; i < node->narms; i++) {
        length += 0.5 * dd_v3_length(to_neighbour[i]);
    }
    dd_v3_along(origin, 1.0 / length, force, velocity);
}

static inline uint64_t dd_test_draw(uint64_t seed, uint64_t *counter, uint64_t n)
{
    return eqp_random_below(seed, 1, (*counter)++, n);
}

static inline double dd_test_real(uint64_t seed, uint64_t *counter)
{
    return 2.0 * eqp_random_uniform(seed, 2, (*counter)++) - 1.0;
}

static inline void dd_test_reals(uint64_t seed, uint64_t *counter, double size, double x[3])
{
    for (int k = 0; k < 3; k++) {
        x[k] = size * dd_test_real(seed, counter);
    }
}

/* Draws up to `wanted` different nodes of a loop of short arms; returns their number. */
static inline int dd_test_draw_loop(const dd_network *network, uint64_t seed, uint64_t *counter, int wanted,
                                    const double box[3], dd_tag chosen[6])
{
    const int64_t nodes = network->n;
    int n = 0;

    for (int tries = 0; tries < 400 && n < wanted; tries++) {
        const dd_tag tag = DD_TAG(0, dd_test_draw(seed, counter, (uint64_t)nodes));
        const dd_node *node = dd_test_find(network, tag);
        bool fits = true;
        for (int i = 0; i < n; i++) {
            const bool joined = i == n - 1 || (i == 0 && n == wanted - 1);
            fits = fits && chosen[i] != tag &&
                   !(joined && dd_test_distance(node, dd_test_find(network, chosen[i]), box) >= 0.35 * DD_TEST_EDGE);
        }
        chosen[n] = tag;
        n += fits;
    }
    return n;
}

/* Nodes 0,0 to 0,(nodes - 1) in a box of DD_TEST_EDGE around the origin, some constrained, joined by `loops` closed
 * loops of short arms with Burgers vectors 1/2[110] (not normalized); isolated nodes are removed. */
static inline void dd_test_random(dd_network *network, uint64_t seed, int nodes, int loops, const double box[3])
{
    static const double slip[6][3] = {{1, 1, 0}, {1, -1, 0}, {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1}};
    const double third = 0.57735026918962576;
    uint64_t counter = 0;
    double x[3];

    dd_network_init(network);
    for (int i = 0; i < nodes; i++) {
        dd_test_reals(seed, &counter, 0.5 * DD_TEST_EDGE, x);
        dd_test_node(network, DD_TAG(0, i), x, dd_test_draw(seed, &counter, 10) == 0 ? DD_PINNED : 0);
        dd_test_reals(seed, &counter, 1.0, network->node[i].v);
    }
    for (int l = 0; l < loops; l++) {
        dd_tag chosen[6];
        const int wanted = 3 + (int)dd_test_draw(seed, &counter, 4);
        const int n = dd_test_draw_loop(network, seed, &counter, wanted, box, chosen);
        const double *b = slip[dd_test_draw(seed, &counter, 6)];
        /* Of {111}, the signs such that b lies in it. */
        const double normal[3] = {third, b[1] * b[0] != 0.0 ? -b[0] * b[1] * third : third,
                                  b[2] * (b[0] + b[1]) != 0.0 ? -b[2] * (b[0] + b[1]) * third : third};
        for (int i = 0; n == wanted && i < n; i++) {
            dd_test_join(network, chosen[i], chosen[(i + 1) % n], b, normal);
        }
    }
    for (int64_t i = network->n; i-- > 0;) {
        if (network->node[i].narms == 0) {
            dd_network_remove(network, i);
        }
    }
    for (int64_t i = 0; i < network->n; i++) {
        for (int a = 0; a < network->node[i].narms; a++) {
            dd_test_reals(seed, &counter, 1.0, network->node[i].arm[a].force);
        }
    }
}

#endif
