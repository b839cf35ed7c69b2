/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_check.h"

#include "network/vector.h"

#include <equipoise/more/base.h>

#include <stdbool.h>

/* Tolerances for the unit length of planes (some files have four digits) and for the planes of a segment's two
 * arms. */
#define UNIT 1e-3
#define SAME_PLANE 1e-3

static bool is_finite(const double x[3])
{
    return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
}

static bool is_plane(const double normal[3])
{
    const double length = dd_v3_length(normal);

    return length == 0.0 || fabs(length - 1.0) < UNIT;
}

static bool are_one_plane(const double a[3], const double b[3])
{
    double difference[3];

    dd_v3_along(a, dd_v3_dot(a, b) < 0.0 ? 1.0 : -1.0, b, difference);
    return dd_v3_length(difference) < SAME_PLANE;
}

static bool has_length(const dd_node *node, const dd_node *neighbour, const double box[3])
{
    double length2 = 0.0, longest = INFINITY;

    for (int k = 0; k < 3; k++) {
        double d = neighbour->x[k] - node->x[k];
        d -= box[k] > 0.0 ? box[k] * rint(d / box[k]) : 0.0;
        longest = box[k] > 0.0 ? fmin(longest, 0.5 * box[k]) : longest;
        length2 += d * d;
    }
    return length2 > 0.0 && length2 < longest * longest;
}

/* NULL if the arm is valid. */
static const char *arm_fault(const dd_network *network, const dd_node *node, const dd_arm *arm, const double box[3])
{
    const int64_t place = dd_network_find(network, arm->tag);
    const dd_node *neighbour = place >= 0 ? &network->node[place] : NULL;
    const dd_arm *back = neighbour != NULL ? dd_node_find_arm(neighbour, node->tag) : NULL;
    double sum[3] = {0.0};

    if (back != NULL) {
        dd_v3_along(arm->burgers, 1.0, back->burgers, sum);
    }
    return arm->tag == node->tag                                                           ? "leads to the node itself"
           : dd_node_find_arm(node, arm->tag) != arm                                       ? "is there twice"
           : !is_finite(arm->burgers) || !is_finite(arm->normal) || !is_finite(arm->force) ? "is not finite"
           : dd_v3_length(arm->burgers) < DD_CHECK_BURGERS                                 ? "has no Burgers vector"
           : !is_plane(arm->normal)                                                        ? "has no unit normal"
           : neighbour == NULL || neighbour->tag != arm->tag                               ? "leads to no node"
           : back == NULL                                                                  ? "has no reverse arm"
           : !(dd_v3_length(sum) < DD_CHECK_BURGERS) ? "and the reverse arm have Burgers vectors that are not opposite"
           : !are_one_plane(arm->normal, back->normal) ? "and the reverse arm have different glide planes"
           : !has_length(node, neighbour, box)         ? "has no length or more than half the periodic box"
                                                       : NULL;
}

static const char *node_fault(const dd_network *network, int64_t i)
{
    const dd_node *node = &network->node[i];
    double sum[3];

    dd_node_burgers(node, sum);
    return dd_network_find(network, node->tag) != i     ? "is not found by its tag"
           : !is_finite(node->x) || !is_finite(node->v) ? "is not finite"
           : node->narms > DD_MOST_ARMS                 ? "has too many arms"
           : node->constraint != DD_FREE                ? NULL
           : node->narms < 2                            ? "is free but has less than two arms"
           : !(dd_v3_length(sum) < DD_CHECK_BURGERS)    ? "is free but its Burgers vectors do not sum to zero"
                                                        : NULL;
}

int dd_network_check(const dd_network *network, const double box[3], eqp_message *message)
{
    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        const char *fault = node_fault(network, i);
        dd_tag arm = node->tag;
        for (int a = 0; fault == NULL && a < node->narms; a++) {
            arm = node->arm[a].tag;
            fault = arm_fault(network, node, &node->arm[a], box);
        }
        if (fault != NULL) {
            eqp_message_set(message, "node %u,%u, arm to %u,%u: %s", (unsigned)DD_TAG_DOMAIN(node->tag),
                            (unsigned)DD_TAG_INDEX(node->tag), (unsigned)DD_TAG_DOMAIN(arm),
                            (unsigned)DD_TAG_INDEX(arm), fault);
            return EQP_ERR_DATA;
        }
    }
    return EQP_OK;
}
