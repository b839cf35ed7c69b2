/* SPDX-License-Identifier: BSD-3-Clause */
/* What messages cost here: --network measure. */
#ifndef APP_RUN_NETWORK_H
#define APP_RUN_NETWORK_H

#include <equipoise/base.h>
#include <equipoise/exchange.h>

#include <mpi.h>

/* Measures alpha and beta of *network by ping-pong between rank r and rank r + size / 2, all pairs at the same time:
 * the median pair's median of several round trips, of empty messages for alpha, of large ones for beta. These are wall
 * seconds, the only ones a message has; on ranks that share a core they say little. On one rank nothing can be
 * measured, and *network stays. `node` always stays. Collective, some milliseconds, the same result on all ranks.
 * EQP_OK, EQP_ERR_MEMORY, EQP_ERR_MPI; *network is unchanged then. */
int app_network_measure(MPI_Comm comm, eqp_network *network);

#endif
