/* SPDX-License-Identifier: BSD-3-Clause */
/* Invariants of every generated or tiled network. */
#ifndef DD_VALID_H
#define DD_VALID_H

#include "dd_check.h"
#include "network/node.h"
#include "unit.h"

static inline double check_offset(const double from[3], const double to[3], const double box[3], double offset[3])
{
    for (int i = 0; i < 3; i++) {
        offset[i] = to[i] - from[i];
        offset[i] -= box[i] > 0.0 ? box[i] * round(offset[i] / box[i]) : 0.0;
    }
    return sqrt(offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2]);
}

/* Returns the length of an arm, in (0, maxseg]; its line and Burgers vector lie in its glide plane up to the sine
 * in_plane. */
static inline double check_arm(const dd_network *network, const dd_node *node, const dd_arm *arm, const double box[3],
                               double maxseg, double in_plane)
{
    double offset[3], along = 0.0, slip = 0.0;
    double length = check_offset(node->x, network->node[dd_network_find(network, arm->tag)].x, box, offset);

    assert_true(length > 0.0 && length <= maxseg * (1.0 + 1e-9));
    for (int i = 0; i < 3; i++) {
        along += arm->normal[i] * offset[i];
        slip += arm->normal[i] * arm->burgers[i];
    }
    assert_true(fabs(along) <= in_plane * length);
    assert_true(fabs(slip) <= in_plane);
    return length;
}

/* dd_network_check() and check_arm() hold, nodes with one arm are pinned, positions lie in the box. Returns the total
 * length. */
static inline double check_network(const dd_network *network, const double low[3], const double box[3], double maxseg,
                                   double in_plane)
{
    eqp_message message = {""};
    double total = 0.0;

    if (dd_network_check(network, box, &message) != EQP_OK) {
        fail_msg("%s", message.text);
    }
    for (int64_t n = 0; n < network->n; n++) {
        const dd_node *node = &network->node[n];
        for (int i = 0; i < 3; i++) {
            assert_true(!(box[i] > 0.0) || (node->x[i] >= low[i] && node->x[i] < low[i] + box[i]));
        }
        assert_true(node->narms > 1 || node->constraint == DD_PINNED);
        for (int j = 0; j < node->narms; j++) {
            total += 0.5 * check_arm(network, node, &node->arm[j], box, maxseg, in_plane);
        }
    }
    return total;
}

#endif
