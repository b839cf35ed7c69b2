/* SPDX-License-Identifier: BSD-3-Clause */
/* Network invariants between any two operations. */
#ifndef DD_CHECK_H
#define DD_CHECK_H

#include "network/node.h"

#include <equipoise/more/base.h>

/* Smaller sums of Burgers vectors count as zero: files hold ten digits. */
#define DD_CHECK_BURGERS 1e-4

/* Tags find their nodes. No self arm, no double arm, at most DD_MOST_ARMS, no arm with zero Burgers vector; planes of
 * unit length or none; reverse arms have the negative Burgers vector and the same plane up to sign; arms are longer
 * than 0 and at most half a periodic edge; numbers are finite; free nodes have at least two arms whose Burgers vectors
 * sum to zero (constrained nodes may have any). box: [3] periodic edges; 0: free. Returns EQP_OK or EQP_ERR_DATA with
 * a message; message: NULL allowed. */
int dd_network_check(const dd_network *network, const double box[3], eqp_message *message);

#endif
