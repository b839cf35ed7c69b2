/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks for tests: by hand, and random tangles of closed loops and pinned lines. */
#ifndef DD_NETWORKS_H
#define DD_NETWORKS_H

#include <equipoise/more/random.h>

#include "dd_check.h"
#include "dd_serial.h"
#include "unit.h"

#include "network/node.h"
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

/* A new segment; where there is one the Burgers vectors add. normal NULL: none. */
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

/* A network of nodes, a list of SPOTS(), and of segments between them, a list of LINES(). */
typedef struct dd_test_spot {
    dd_tag tag;
    double x, y, z;
    int constraint;
} dd_test_spot;

typedef struct dd_test_line {
    dd_tag from, to;
    const double *burgers, *normal; /* normal NULL: none */
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

/* The tests' boxes: without faces, and with those of DD_TEST_EDGE. */
static const double free_box[3] = {0, 0, 0}, corner[3] = {-50, -50, -50}, cube[3] = {100, 100, 100};

static inline dd_serial dd_test_serial(dd_network *network, const double box[3], dd_rules rules)
{
    dd_serial serial;

    assert_ok(dd_rules_complete(&rules));
    dd_serial_init(&serial, network, corner, box, &rules, 7);
    return serial;
}

/* A mover along the force, divided by half the length of the arms. */
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

static inline double dd_test_distance(const dd_node *a, const dd_node *b, const double box[3])
{
    double d2 = 0.0;

    for (int k = 0; k < 3; k++) {
        double d = b->x[k] - a->x[k];
        d -= box[k] > 0.0 ? box[k] * rint(d / box[k]) : 0.0;
        d2 += d * d;
    }
    return sqrt(d2);
}

#define DD_TEST_EDGE 100.0

/* Nodes 0,0 to 0,(nodes - 1) in a box of DD_TEST_EDGE around the origin, some constrained, joined by `loops` closed
 * loops of short arms with Burgers vectors of type 1/2[110] (not normalised); what stays alone goes. */
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

/* Through every constrained node as much Burgers vector as before (a deleted one held none), at the same place; arms of
 * nodes that a patch does not list are what they were. */
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
