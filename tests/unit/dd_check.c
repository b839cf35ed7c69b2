/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_check.h"

#include "network/vector.h"

#include <equipoise/more/base.h>

#include <stdbool.h>

/* Tolerance of a plane's unit length: some files have four digits. */
#define UNIT 1e-3
/* Tolerance of the difference of the planes of the two arms of one segment, in a component. */
#define SAME_PLANE 1e-3

static bool is_finite(const double x[3])
{
    return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
}

static int refuse(eqp_message *message, dd_tag tag, const char *what)
{
    eqp_message_set(message, "node %u,%u: %s", (unsigned)DD_TAG_DOMAIN(tag), (unsigned)DD_TAG_INDEX(tag), what);
    return EQP_ERR_DATA;
}

static int refuse_arm(eqp_message *message, dd_tag tag, dd_tag arm, const char *what)
{
    eqp_message_set(message, "node %u,%u, arm to %u,%u: %s", (unsigned)DD_TAG_DOMAIN(tag), (unsigned)DD_TAG_INDEX(tag),
                    (unsigned)DD_TAG_DOMAIN(arm), (unsigned)DD_TAG_INDEX(arm), what);
    return EQP_ERR_DATA;
}

static bool is_plane(const double normal[3])
{
    const double length = dd_v3_length(normal);

    return length == 0.0 || fabs(length - 1.0) < UNIT;
}

static bool are_one_plane(const double a[3], const double b[3])
{
    const double sign = dd_v3_dot(a, b) < 0.0 ? -1.0 : 1.0;
    double difference[3];

    dd_v3_along(a, -sign, b, difference);
    return dd_v3_length(difference) < SAME_PLANE;
}

static const char *length_fault(const dd_node *node, const dd_node *neighbour, const double box[3])
{
    double length2 = 0.0, longest = INFINITY;

    for (int k = 0; k < 3; k++) {
        double d = neighbour->x[k] - node->x[k];
        if (box[k] > 0.0) {
            d -= box[k] * rint(d / box[k]);
            longest = fmin(longest, 0.5 * box[k]);
        }
        length2 += d * d;
    }
    if (length2 >= longest * longest) {
        return "is longer than half the periodic box";
    }
    return length2 > 0.0 ? NULL : "has no length";
}

/* NULL: none. */
static const char *arm_fault(const dd_node *node, int i, const dd_node *neighbour, const double box[3])
{
    const dd_arm *arm = &node->arm[i];
    const dd_arm *back = neighbour != NULL ? dd_node_find_arm(neighbour, node->tag) : NULL;
    double sum[3];

    if (arm->tag == node->tag) {
        return "leads to the node itself";
    }
    if (dd_node_find_arm(node, arm->tag) != arm) {
        return "is there twice";
    }
    if (!is_finite(arm->burgers) || !is_finite(arm->normal) || !is_finite(arm->force)) {
        return "holds a number that is not finite";
    }
    if (dd_v3_length(arm->burgers) < DD_CHECK_BURGERS) {
        return "has no Burgers vector";
    }
    if (!is_plane(arm->normal)) {
        return "has a glide plane whose normal is not of unit length";
    }
    if (neighbour == NULL || neighbour->tag != arm->tag) {
        return "leads to no node";
    }
    if (back == NULL) {
        return "has no reverse arm";
    }
    dd_v3_along(arm->burgers, 1.0, back->burgers, sum);
    if (!(dd_v3_length(sum) < DD_CHECK_BURGERS)) {
        return "and the reverse arm have Burgers vectors that are not opposite";
    }
    if (!are_one_plane(arm->normal, back->normal)) {
        return "and the reverse arm have different glide planes";
    }
    return length_fault(node, neighbour, box);
}

static int dd_node_check(const dd_node *node, const dd_node *const *neighbour, const double box[3],
                         eqp_message *message)
{
    double sum[3];

    if (!is_finite(node->x) || !is_finite(node->v)) {
        return refuse(message, node->tag, "holds a number that is not finite");
    }
    if (node->narms > DD_MOST_ARMS) {
        return refuse(message, node->tag, "has too many arms");
    }
    for (int i = 0; i < node->narms; i++) {
        const char *what = arm_fault(node, i, neighbour[i], box);
        if (what != NULL) {
            return refuse_arm(message, node->tag, node->arm[i].tag, what);
        }
    }
    if (node->constraint == DD_FREE) {
        if (node->narms < 2) {
            return refuse(message, node->tag, "is free but has less than two arms");
        }
        dd_node_burgers(node, sum);
        if (dd_v3_length(sum) >= DD_CHECK_BURGERS) {
            return refuse(message, node->tag, "is free but its Burgers vectors do not sum to zero");
        }
    }
    return EQP_OK;
}

int dd_network_check(const dd_network *network, const double box[3], eqp_message *message)
{
    const dd_node *neighbour[DD_MOST_ARMS];
    int code = EQP_OK;

    for (int64_t i = 0; code == EQP_OK && i < network->n; i++) {
        const dd_node *node = &network->node[i];
        if (dd_network_find(network, node->tag) != i) {
            code = refuse(message, node->tag, "is not found by its tag");
        }
        for (int a = 0; code == EQP_OK && a < node->narms && a < DD_MOST_ARMS; a++) {
            const int64_t place = dd_network_find(network, node->arm[a].tag);
            neighbour[a] = place >= 0 ? &network->node[place] : NULL;
        }
        if (code == EQP_OK) {
            code = dd_node_check(node, neighbour, box, message);
        }
    }
    return code;
}
