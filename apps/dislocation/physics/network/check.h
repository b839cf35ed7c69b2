/* SPDX-License-Identifier: BSD-3-Clause */
/* What must be true of a network between any two operations. */
#ifndef DD_CHECK_H
#define DD_CHECK_H

#include "node.h"

#include <equipoise/error.h>

/* Sum of Burgers vectors that is none: files hold ten digits. */
#define DD_CHECK_BURGERS 1e-4

/* One node with its neighbours, which may live anywhere: no self arm, no double arm, no more than DD_MOST_ARMS, no arm
 * without Burgers vector; planes of unit length or none; reverse arms with the negative Burgers vector and the same
 * plane (either sign); no arm of no length or longer than half a periodic edge; finite numbers; at a free node two
 * arms or more whose Burgers vectors sum to zero (constrained nodes may have any number and any sum).
 * \param[in]  neighbour  [node->narms] the node at the other end of each arm; NULL: there is none (borrowed)
 * \param[in]  box        [3] periodic edges; 0: free
 * \param[out] message    says what is wrong with which tag ("dom,idx"); NULL: not wanted
 * \return EQP_OK, EQP_ERR_DATA */
int dd_node_check(const dd_node *node, const dd_node *const *neighbour, const double box[3], eqp_message *message);

/* All nodes of a whole network, in the order of their places, and that each is found by its tag. */
int dd_network_check(const dd_network *network, const double box[3], eqp_message *message);

#endif
