/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks for tests: hand-made ones, and random tangles of closed loops and pinned lines. */
#ifndef DD_NETWORKS_H
#define DD_NETWORKS_H

#include <equipoise/more/random.h>

#include "dd_check.h"
#include "failing_malloc.h"
#include "unit.h"

#include "network/node.h"
#include "network/operations.h"
#include "network/vector.h"

static inline void dd_test_node(dd_network *network, dd_tag tag, double x, double y, double z, int constraint)
{
    dd_node node = {.tag = tag, .x = {x, y, z}, .constraint = constraint};

    assert_ok(dd_network_add(network, &node));
}

static inline dd_node *dd_test_find(const dd_network *network, dd_tag tag)
{
    const int64_t place = dd_network_find(network, tag);

    return place < 0 ? NULL : &network->node[place];
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
            if (normal != NULL) {
                dd_v3_copy(arm->normal, normal);
            }
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
    double x, y, z;
    int constraint;
} dd_test_spot;

typedef struct dd_test_line {
    dd_tag from, to;
    const double *burgers, *normal; /* normal: NULL allowed */
} dd_test_line;

#define SPOTS(...)                                                                                                     \
    (const dd_test_spot[])                                                                                             \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            .tag = DD_NO_TAG                                                                                           \
        }                                                                                                              \
    }
#define LINES(...)                                                                                                     \
    (const dd_test_line[])                                                                                             \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            .burgers = NULL                                                                                            \
        }                                                                                                              \
    }

static inline dd_network dd_test_network(const dd_test_spot *spot, const dd_test_line *line)
{
    dd_network network;

    dd_network_init(&network);
    for (; spot->tag != DD_NO_TAG; spot++) {
        dd_test_node(&network, spot->tag, spot->x, spot->y, spot->z, spot->constraint);
    }
    for (; line->burgers != NULL; line++) {
        dd_test_join(&network, line->from, line->to, line->burgers, line->normal);
    }
    return network;
}

/* A box without faces, and a cube of edge DD_TEST_EDGE. */
static const double free_box[3] = {0, 0, 0}, corner[3] = {-50, -50, -50}, cube[3] = {100, 100, 100};

static inline double dd_test_image(double d, double edge)
{
    return edge > 0.0 ? d - edge * rint(d / edge) : d;
}

static inline double dd_test_distance(const dd_node *a, const dd_node *b, const double box[3])
{
    double d[3];

    for (int k = 0; k < 3; k++) {
        d[k] = dd_test_image(b->x[k] - a->x[k], box[k]);
    }
    return dd_v3_length(d);
}

/* Operations on an undivided network; candidates by brute force. */
typedef enum dd_kind { DD_REFINE, DD_COARSEN, DD_COLLIDE, DD_SPLIT, DD_SLIP, DD_KINDS } dd_kind;

typedef struct dd_serial {
    dd_network *network; /* borrowed */
    const double *box;
    dd_rules rules;
    uint32_t next;  /* index of the next new tag in domain 7 */
    double area[9]; /* swept so far, see dd_slip_end() */
} dd_serial;

static inline dd_serial dd_test_serial(dd_network *network, const double box[3], dd_rules rules)
{
    assert_ok(dd_rules_complete(&rules));
    return (dd_serial){.network = network, .box = box, .rules = rules};
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
            EQP_TRY(dd_patch_add(patch, node));
        }
    }
    for (int i = 0, asked = patch->n; neighbours && i < asked; i++) {
        for (int a = 0; a < patch->at[i].node.narms; a++) {
            const dd_tag other = patch->at[i].node.arm[a].tag;
            if (dd_patch_find(patch, other) == NULL) {
                EQP_TRY(dd_patch_add(patch, dd_test_find(s->network, other)));
            }
        }
    }
done:
    return code;
}

/* Runs one operation in its own patch and adds the swept area to `area`. tag: the segment, the node, two segments, the
 * node, the node and its neighbors. */
static inline int dd_serial_try(const dd_serial *s, dd_kind kind, const dd_mover *mover, const dd_tag *tag,
                                dd_patch *patch, double area[9], bool *changed)
{
    static const int tags[DD_KINDS] = {2, 1, 4, 1, 3};
    FREED_BY(dd_slip_free) dd_slip slip = {0};
    int code;

    EQP_TRY(dd_serial_gather(s, tag, tags[kind], kind != DD_REFINE, patch));
    EQP_TRY(dd_slip_begin(&slip, patch));
    EQP_TRY(kind == DD_REFINE    ? dd_refine(patch, tag[0], tag[1], changed)
            : kind == DD_COARSEN ? dd_coarsen(patch, &s->rules, tag[0], changed)
            : kind == DD_COLLIDE ? dd_collide(patch, &s->rules, tag, tag + 2, changed)
            : kind == DD_SPLIT   ? dd_split(patch, &s->rules, mover, tag[0], changed)
                                 : dd_cross_slip(patch, &s->rules, mover, tag[0], changed));
    if (*changed) {
        EQP_TRY(dd_slip_end(&slip, patch, area));
    }
done:
    return code;
}

/* The same, and writes the patch back into the network. */
static inline bool dd_serial_do(dd_serial *s, dd_kind kind, const dd_mover *mover, const dd_tag *tag)
{
    FREED_BY(dd_patch_free) dd_patch patch;
    bool changed = false;

    assert_ok(dd_serial_try(s, kind, mover, tag, &patch, s->area, &changed));
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
        for (int k = 0; k < 3; k++) {
            to[e][k] = dd_test_image(end[e]->x[k] - node->x[k], s->box[k]);
        }
    }
    return node->narms == 2 ? dd_bend_area(node, to[0], to[1], end[0]->v, end[1]->v) : 0.0;
}

/* False if either segment is gone or they are too far apart to touch. */
static inline bool dd_serial_near(const dd_serial *s, const dd_tag tag[4])
{
    const dd_node *node[4];
    double line[2][3], between[3];

    for (int i = 0; i < 4; i++) {
        node[i] = dd_test_find(s->network, tag[i]);
        if (node[i] == NULL) {
            return false;
        }
    }
    for (int k = 0; k < 3; k++) {
        line[0][k] = dd_test_image(node[1]->x[k] - node[0]->x[k], s->box[k]);
        line[1][k] = dd_test_image(node[3]->x[k] - node[2]->x[k], s->box[k]);
        between[k] = dd_test_image(node[2]->x[k] - node[0]->x[k] + 0.5 * (line[1][k] - line[0][k]), s->box[k]);
    }
    return !dd_segments_are_far(between, 0.5 * dd_v3_length(line[0]), 0.5 * dd_v3_length(line[1]), s->rules.rann);
}

/* One pass over the nodes, segments or pairs present at its start; returns the number of effective operations.
 * Refinement decides for all segments first, since cutting one arm shrinks its neighbor's triangle. */
static inline int64_t dd_serial_pass(dd_serial *s, dd_kind kind, const dd_mover *mover)
{
    const bool segments = kind == DD_REFINE || kind == DD_COLLIDE;
    int64_t n = 0, most = 1, changes = 0;

    dd_network_sort(s->network);
    for (int64_t i = 0; i < s->network->n; i++) {
        most += 1 + s->network->node[i].narms;
    }
    HEAP dd_tag(*item)[2] = calloc((size_t)most, sizeof *item);
    for (int64_t i = 0; i < s->network->n; i++) {
        const dd_node *node = &s->network->node[i];
        item[n][0] = node->tag;
        n += !segments;
        for (int a = 0; segments && a < node->narms; a++) {
            const dd_node *end = dd_test_find(s->network, node->arm[a].tag);
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
        if (kind == DD_REFINE) {
            changes += dd_serial_do(s, kind, mover, item[i]);
        } else if (kind != DD_COLLIDE && node != NULL && (kind != DD_SLIP || node->narms == 2)) {
            const dd_tag tag[3] = {node->tag, kind == DD_SLIP ? node->arm[0].tag : 0,
                                   kind == DD_SLIP ? node->arm[1].tag : 0};
            changes += dd_serial_do(s, kind, mover, tag);
        }
    }
    return changes;
}

/* Arguments of an operation for tests of failing allocations. */
typedef struct dd_call {
    const dd_serial *serial;
    dd_kind kind;
    const dd_mover *mover;
    dd_tag tag[4];
} dd_call;

static inline int dd_serial_call(void *user)
{
    const dd_call *call = user;
    FREED_BY(dd_patch_free) dd_patch patch;
    double area[9] = {0};
    bool changed = false;
    const int code = dd_serial_try(call->serial, call->kind, call->mover, call->tag, &patch, area, &changed);

    assert_true(code == EQP_OK ? changed : memcmp(area, (double[9]){0}, sizeof area) == 0);
    return code;
}

static inline void dd_test_without_memory(const dd_serial *serial, dd_kind kind, const dd_mover *mover,
                                          const dd_tag tag[4])
{
    dd_call call = {serial, kind, mover, {tag[0], tag[1], tag[2], tag[3]}};

    assert_true(failing_malloc_sweep(dd_serial_call, &call, EQP_ERR_MEMORY) > 3);
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
    for (int k = 0; k < 3; k++) {
        velocity[k] = force[k] / length;
    }
}

static inline uint64_t dd_test_draw(uint64_t seed, uint64_t *counter, uint64_t n)
{
    return eqp_random_below(seed, 1, (*counter)++, n);
}

static inline double dd_test_real(uint64_t seed, uint64_t *counter)
{
    return 2.0 * eqp_random_uniform(seed, 2, (*counter)++) - 1.0;
}

#define DD_TEST_EDGE 100.0

/* Nodes 0,0 to 0,(nodes - 1) in a box of DD_TEST_EDGE around the origin, some constrained, joined by `loops` closed
 * loops of short arms with Burgers vectors 1/2[110] (not normalized); isolated nodes are removed. */
static inline void dd_test_random(dd_network *network, uint64_t seed, int nodes, int loops, const double box[3])
{
    static const double slip[6][3] = {{1, 1, 0}, {1, -1, 0}, {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1}};
    uint64_t counter = 0;

    dd_network_init(network);
    for (int i = 0; i < nodes; i++) {
        double x[3];
        for (int k = 0; k < 3; k++) {
            x[k] = 0.5 * DD_TEST_EDGE * dd_test_real(seed, &counter);
        }
        dd_test_node(network, DD_TAG(0, i), x[0], x[1], x[2], dd_test_draw(seed, &counter, 10) == 0 ? DD_PINNED : 0);
        for (int k = 0; k < 3; k++) {
            network->node[i].v[k] = dd_test_real(seed, &counter);
        }
    }
    for (int l = 0; l < loops; l++) {
        dd_tag chosen[6];
        int n = 0;
        const int wanted = 3 + (int)dd_test_draw(seed, &counter, 4);
        for (int tries = 0; tries < 400 && n < wanted; tries++) {
            const dd_tag tag = DD_TAG(0, dd_test_draw(seed, &counter, (uint64_t)nodes));
            const dd_node *node = dd_test_find(network, tag);
            bool fits =
                n == 0 || dd_test_distance(node, dd_test_find(network, chosen[n - 1]), box) < 0.35 * DD_TEST_EDGE;
            fits = fits && (n < wanted - 1 ||
                            dd_test_distance(node, dd_test_find(network, chosen[0]), box) < 0.35 * DD_TEST_EDGE);
            for (int i = 0; i < n; i++) {
                fits = fits && chosen[i] != tag;
            }
            if (fits) {
                chosen[n++] = tag;
            }
        }
        const double *burgers = slip[dd_test_draw(seed, &counter, 6)];
        for (int i = 0; n == wanted && i < n; i++) {
            static const double third = 0.57735026918962576;
            const double normal[3] = {third, burgers[1] * burgers[0] != 0.0 ? -burgers[0] * burgers[1] * third : third,
                                      burgers[2] * burgers[0] != 0.0   ? -burgers[0] * burgers[2] * third
                                      : burgers[2] * burgers[1] != 0.0 ? -burgers[1] * burgers[2] * third
                                                                       : third};
            dd_test_join(network, chosen[i], chosen[(i + 1) % n], burgers, normal);
        }
    }
    for (int64_t i = network->n; i-- > 0;) {
        if (network->node[i].narms == 0) {
            dd_network_remove(network, i);
        }
    }
    for (int64_t i = 0; i < network->n; i++) {
        for (int a = 0; a < network->node[i].narms; a++) {
            for (int k = 0; k < 3; k++) {
                network->node[i].arm[a].force[k] = dd_test_real(seed, &counter);
            }
        }
    }
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

/* Constrained nodes keep their position and the sum of their Burgers vectors (zero for deleted ones); arms of nodes
 * outside the patch are unchanged. */
static inline void dd_test_conserved(const dd_network *before, const dd_network *after)
{
    for (int64_t i = 0; i < before->n; i++) {
        const dd_node *old = &before->node[i], *now = dd_test_find(after, old->tag);
        double was[3], is[3] = {0.0, 0.0, 0.0};
        if (old->constraint == DD_FREE) {
            continue;
        }
        dd_node_burgers(old, was);
        if (now != NULL) {
            dd_node_burgers(now, is);
            assert_memory_equal(now->x, old->x, sizeof now->x);
            assert_int_equal(now->constraint, old->constraint);
        }
        for (int k = 0; k < 3; k++) {
            assert_true(fabs(is[k] - was[k]) < 1e-9);
        }
    }
}

static inline double dd_test_force(const dd_network *network, int k)
{
    double sum = 0.0;

    for (int64_t i = 0; i < network->n; i++) {
        for (int a = 0; a < network->node[i].narms; a++) {
            sum += network->node[i].arm[a].force[k];
        }
    }
    return sum;
}

#endif
