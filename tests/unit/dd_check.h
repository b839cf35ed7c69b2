/* SPDX-License-Identifier: BSD-3-Clause */
/* What every network must obey, whoever made it. Include after cmocka.h. */
#ifndef DD_CHECK_H
#define DD_CHECK_H

#include "network/node.h"

#include <math.h>

#define assert_near(value, wanted, by) check_near((value), (wanted), (by), __LINE__)
static inline void check_near(double value, double wanted, double by, int line)
{
    if (!(fabs(value - wanted) <= by)) {
        fail_msg("line %d: %.17g is not %.17g to %g", line, value, wanted, by);
    }
}

/* to - from, by the nearest image. */
static inline double check_offset(const double from[3], const double to[3], const double box[3], double offset[3])
{
    for (int i = 0; i < 3; i++) {
        offset[i] = to[i] - from[i];
        offset[i] -= box[i] > 0.0 ? box[i] * round(offset[i] / box[i]) : 0.0;
    }
    return sqrt(offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2]);
}

static inline void check_arm(const dd_network *network, const dd_node *node, const dd_arm *arm, const double box[3],
                             double maxseg, double in_plane)
{
    double offset[3], along = 0.0, slip = 0.0;
    int64_t place = dd_network_find(network, arm->tag);

    assert_true(place >= 0);
    const dd_arm *back = dd_node_find_arm(&network->node[place], node->tag);
    assert_non_null(back);
    double length = check_offset(node->x, network->node[place].x, box, offset);
    assert_true(length > 0.0 && length <= maxseg * (1.0 + 1e-9));
    for (int i = 0; i < 3; i++) {
        assert_true(back->burgers[i] == -arm->burgers[i]);
        assert_true(back->normal[i] == arm->normal[i]);
        along += arm->normal[i] * offset[i];
        slip += arm->normal[i] * arm->burgers[i];
    }
    assert_true(fabs(along) <= in_plane * length);
    assert_true(fabs(slip) <= in_plane);
}

/* Reciprocal arms, one between any two nodes, of lengths (0, maxseg]; Burgers vectors sum to 0 at free nodes and nodes
 * with one arm are pinned; positions inside the box; segments and Burgers vectors in their glide planes to in_plane
 * (a sine). Returns the total length. */
static inline double check_network(const dd_network *network, const double low[3], const double box[3], double maxseg,
                                   double in_plane)
{
    double total = 0.0;

    for (int64_t n = 0; n < network->n; n++) {
        const dd_node *node = &network->node[n];
        double sum[3], offset[3];

        for (int i = 0; i < 3; i++) {
            assert_true(isfinite(node->x[i]));
            assert_true(!(box[i] > 0.0) || (node->x[i] >= low[i] && node->x[i] < low[i] + box[i]));
        }
        assert_true(node->narms > 0);
        assert_true(node->narms > 1 || node->constraint == DD_PINNED);
        dd_node_burgers(node, sum);
        for (int i = 0; i < 3 && node->constraint == DD_FREE; i++) {
            assert_true(fabs(sum[i]) < 1e-9);
        }
        for (int j = 0; j < node->narms; j++) {
            check_arm(network, node, &node->arm[j], box, maxseg, in_plane);
            assert_ptr_equal(dd_node_find_arm(node, node->arm[j].tag), &node->arm[j]);
            total +=
                0.5 * check_offset(node->x, network->node[dd_network_find(network, node->arm[j].tag)].x, box, offset);
        }
    }
    return total;
}

#endif
