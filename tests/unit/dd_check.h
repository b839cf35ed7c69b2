/* SPDX-License-Identifier: BSD-3-Clause */
/* Network invariants between any two operations. */
#ifndef DD_CHECK_H
#define DD_CHECK_H

#include "network/node.h"
#include "network/vector.h"

#include <equipoise/more/base.h>

#include <stdbool.h>

/* Smaller sums of Burgers vectors count as zero: files hold ten digits. Planes of some files have four. */
#define DD_CHECK_BURGERS 1e-4
#define DD_CHECK_PLANE 1e-3

static inline bool dd_check_finite(const double x[3])
{
    return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
}

static inline bool dd_check_length(const dd_node *node, const dd_node *neighbour, const double box[3])
{
    double way[3], longest = INFINITY;

    dd_v3_minus(neighbour->x, node->x, way);
    for (int k = 0; k < 3; k++) {
        way[k] -= box[k] > 0.0 ? box[k] * rint(way[k] / box[k]) : 0.0;
        longest = box[k] > 0.0 ? fmin(longest, 0.5 * box[k]) : longest;
    }
    return dd_v3_length(way) > 0.0 && dd_v3_length(way) < longest;
}

/* NULL if the arm is valid. */
static inline const char *dd_check_arm(const dd_network *network, const dd_node *node, const dd_arm *arm,
                                       const double box[3])
{
    const int64_t place = dd_network_find(network, arm->tag);
    const dd_node *neighbour = place >= 0 ? &network->node[place] : NULL;
    const dd_arm *back = neighbour != NULL ? dd_node_find_arm(neighbour, node->tag) : NULL;
    const double size = dd_v3_length(arm->normal);
    double sum[3] = {0.0}, turn[3] = {0.0};

    if (back != NULL) {
        dd_v3_along(arm->burgers, 1.0, back->burgers, sum);
        dd_v3_along(arm->normal, dd_v3_dot(arm->normal, back->normal) < 0.0 ? 1.0 : -1.0, back->normal, turn);
    }
    return arm->tag == node->tag                             ? "leads to the node itself"
           : dd_node_find_arm(node, arm->tag) != arm         ? "is there twice"
           : !dd_check_finite(arm->burgers)                  ? "has no finite Burgers vector"
           : !dd_check_finite(arm->force)                    ? "has no finite force"
           : dd_v3_length(arm->burgers) < DD_CHECK_BURGERS   ? "has no Burgers vector"
           : !(size == 0 || fabs(size - 1) < DD_CHECK_PLANE) ? "has no unit normal"
           : neighbour == NULL || neighbour->tag != arm->tag ? "leads to no node"
           : back == NULL                                    ? "has no reverse arm"
           : !(dd_v3_length(sum) < DD_CHECK_BURGERS)         ? "and the reverse arm have no opposite Burgers vectors"
           : !(dd_v3_length(turn) < DD_CHECK_PLANE)          ? "and the reverse arm have different glide planes"
           : !dd_check_length(node, neighbour, box)          ? "has no length or more than half the periodic box"
                                                             : NULL;
}

static inline const char *dd_check_node(const dd_network *network, int64_t i)
{
    const dd_node *node = &network->node[i];
    double sum[3];

    dd_node_burgers(node, sum);
    return dd_network_find(network, node->tag) != i                 ? "is not found by its tag"
           : !dd_check_finite(node->x) || !dd_check_finite(node->v) ? "is not finite"
           : node->narms > DD_MOST_ARMS                             ? "has too many arms"
           : node->constraint != DD_FREE                            ? NULL
           : node->narms < 2                                        ? "is free but has less than two arms"
           : !(dd_v3_length(sum) < DD_CHECK_BURGERS) ? "is free but its Burgers vectors do not sum to zero"
                                                     : NULL;
}

/* Tags find their nodes. No self arm, no double arm, at most DD_MOST_ARMS, no arm with zero Burgers vector; planes of
 * unit length or none; reverse arms have the negative Burgers vector and the same plane up to sign; arms are longer
 * than 0 and at most half a periodic edge; numbers are finite; free nodes have at least two arms whose Burgers vectors
 * sum to zero (constrained nodes may have any). box: [3] periodic edges; 0: free. Returns EQP_OK or EQP_ERR_DATA with
 * a message; message: NULL allowed. */
static inline int dd_network_check(const dd_network *network, const double box[3], eqp_message *message)
{
    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        const char *fault = dd_check_node(network, i);
        dd_tag arm = node->tag;
        for (int a = 0; fault == NULL && a < node->narms; a++) {
            arm = node->arm[a].tag;
            fault = dd_check_arm(network, node, &node->arm[a], box);
        }
        if (fault != NULL) {
            eqp_message_set(message, "node %u,%u, arm to %u,%u: %s", DD_TAG_DOMAIN(node->tag), DD_TAG_INDEX(node->tag),
                            DD_TAG_DOMAIN(arm), DD_TAG_INDEX(arm), fault);
            return EQP_ERR_DATA;
        }
    }
    return EQP_OK;
}

#endif
