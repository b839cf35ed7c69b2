/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of blocks for a route, each with the ranks that need it. */
#ifndef DD_BLOCKS_H
#define DD_BLOCKS_H

#include <equipoise/more/route.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed: empty. The first failure sticks: later calls do nothing, and dd_blocks_route() returns it on all ranks. */
typedef struct dd_blocks {
    int64_t n, id_room, bytes_room, first_room, rank_room;
    int64_t *id, *bytes, *first; /* owned */
    int *rank;
    bool back; /* receivers return contributions */
    int code;
} dd_blocks;

/* Appends a block that no rank needs yet. */
void dd_blocks_add(dd_blocks *blocks, int64_t id, int64_t bytes);
/* Adds a rank that needs the last block: ascending, each rank once. */
void dd_blocks_need(dd_blocks *blocks, int rank);
void dd_blocks_free(dd_blocks *blocks);
/* Makes the list fail with a code, unless it has failed already. */
void dd_blocks_fail(dd_blocks *blocks, int code);

/* Plans the route of the blocks and empties the list, also on failure. Collective; the same code on all ranks. */
int dd_blocks_route(MPI_Comm comm, const eqp_exchange_plan *plan, dd_blocks *blocks, eqp_route **route);

/* Sends data along a route and waits. code: of this rank so far; all ranks return the code of a rank that failed. data,
 * received: as for eqp_route_start() and eqp_route_finish(). Collective. */
int dd_route_send(eqp_route *route, int code, const void *data, const void **received);

#endif
