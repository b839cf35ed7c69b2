/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of any length between ranks: appended piece by piece and delivered all at once. */
#ifndef DD_OUTBOX_H
#define DD_OUTBOX_H

#include "../physics/network/node.h"

#include <equipoise/error.h>
#include <equipoise/more/comm.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero it before use. The first failure sticks: later calls do nothing, and dd_outbox_deliver() returns it on all
 * ranks. */
typedef struct dd_outbox {
    int64_t *word; /* [n] each piece begins a word; owned */
    int *to;       /* [n] rank of each word; owned */
    int64_t n, room, to_room;
    int code;
} dd_outbox;

/* Appends bytes to the message for a rank. Messages to one rank keep their order. */
void dd_outbox_add(dd_outbox *outbox, int rank, const void *bytes, size_t size);
void dd_outbox_add_node(dd_outbox *outbox, int rank, const dd_node *node);
/* Makes the outbox fail, unless it already has. */
void dd_outbox_fail(dd_outbox *outbox, int code);

/* Received words, by sending rank. */
typedef struct dd_inbox {
    int64_t *word; /* [n] owned */
    int64_t n, at; /* at: next word to be read */
} dd_inbox;

/* Sends everything and empties the outbox, also on failure. Collective; the same code on all ranks. */
int dd_outbox_deliver(MPI_Comm comm, dd_outbox *outbox, dd_inbox *inbox);
/* The same without agreement of the ranks: EQP_ERR_MEMORY and EQP_ERR_OVERFLOW may be this rank's alone and must be
 * passed to its next collective call. */
int dd_outbox_deliver_own(MPI_Comm comm, dd_outbox *outbox, dd_inbox *inbox);

bool dd_inbox_empty(const dd_inbox *inbox);
/* The next piece, borrowed from the inbox; NULL: fewer bytes are left. */
void *dd_inbox_next(dd_inbox *inbox, size_t size);
/* Copies the next node with its arms into an empty *node. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_INTERNAL. */
int dd_inbox_read_node(dd_inbox *inbox, dd_node *node);
void dd_inbox_free(dd_inbox *inbox);

/* Relays distributed data through rank 0, a block of one rank at a time, so that rank 0 never holds all of it. */
typedef struct dd_relay {
    void *user;
    int64_t nblocks; /* of this rank */
    /* Packs block number b for rank 0. */
    void (*pack)(void *user, int64_t block, dd_outbox *out);
    /* Rank 0: unpacks a block of any rank; reads the whole inbox. */
    int (*take)(void *user, dd_inbox *in, eqp_message *message);
} dd_relay;

/* Blocks arrive by rank, then by number. After an error on any rank the relay ends. Collective. */
int dd_relay_run(MPI_Comm comm, const dd_relay *relay, eqp_message *message);

/* A list of blocks for a route, each with the ranks that need it. Zero it before use. The first failure sticks: later
 * calls do nothing, and dd_blocks_route() returns it on all ranks. */
typedef struct dd_blocks {
    int64_t n, id_room, bytes_room, first_room, rank_room;
    int64_t *id, *bytes, *first; /* owned */
    int *rank;
    bool back; /* receivers return contributions */
    int code;
} dd_blocks;

void dd_blocks_add(dd_blocks *blocks, int64_t id, int64_t bytes);
/* Adds a rank that needs the last block; call in ascending order, once per rank. */
void dd_blocks_need(dd_blocks *blocks, int rank);
void dd_blocks_free(dd_blocks *blocks);
void dd_blocks_fail(dd_blocks *blocks, int code);

/* Plans the route of the blocks and empties the list, also on failure. Collective; the same code on all ranks. */
int dd_blocks_route(MPI_Comm comm, const eqp_exchange_plan *plan, dd_blocks *blocks, eqp_route **route);

/* Sends data along a route and waits. code: of this rank so far; all ranks return the code of a rank that failed. data,
 * received: as for eqp_route_start() and eqp_route_finish(). Collective. */
int dd_route_send(eqp_route *route, int code, const void *data, const void **received);

#endif
