/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of a network, valid between any two operations. */
#ifndef DD_CHECK_H
#define DD_CHECK_H

#include "network/node.h"

#include <equipoise/more/base.h>

/* A sum of Burgers vectors below this one is zero: files hold ten digits. */
#define DD_CHECK_BURGERS 1e-4

/* Each node is found by its tag. No self arm, no double arm, no more than DD_MOST_ARMS, no arm without Burgers vector;
 * planes of unit length or none; reverse arms with the negative Burgers vector and the same plane (either sign); no arm
 * of no length or longer than half a periodic edge; finite numbers; at a free node two arms or more whose Burgers
 * vectors sum to zero (constrained nodes may have any number and any sum). box: [3] periodic edges; 0: free. EQP_OK or
 * EQP_ERR_DATA with a line; message may be NULL. */
int dd_network_check(const dd_network *network, const double box[3], eqp_message *message);

#endif
