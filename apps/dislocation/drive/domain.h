/* SPDX-License-Identifier: BSD-3-Clause */
/* This rank's part of the network, messages between ranks, and remote neighbours. In all of drive, a parameter `code`
 * is this rank's code so far, and all ranks return the code of a rank that failed. */
#ifndef DD_DOMAIN_H
#define DD_DOMAIN_H

#include "../physics/network/node.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/problem.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Frees a local variable at the end of its block: an array (NULL is legal), or an object of a function. */
#define DD_FREED DD_FREED_BY(dd_array_free)
#define DD_FREED_BY(function) __attribute__((cleanup(function)))
static inline void dd_array_free(void *address)
{
    void *array;

    memcpy(&array, address, sizeof array);
    free(array);
}

/* Order of records by their first one to three unsigned words, as of strcmp(). */
int dd_by_word(const void *left, const void *right);
int dd_by_2_words(const void *left, const void *right);
int dd_by_3_words(const void *left, const void *right);
/* qsort() that takes an empty array without memory. */
void dd_sort(void *array, int64_t n, size_t size, int (*compare)(const void *, const void *));

/* ---- Messages of any length: appended piece by piece and delivered all at once. */

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
/* The same without a blocking call: EQP_ERR_MEMORY and EQP_ERR_OVERFLOW may be this rank's alone and must be passed to
 * its next collective call. most: as of eqp_send_sparse(), or NULL. */
int dd_outbox_deliver_own(MPI_Comm comm, dd_outbox *outbox, int64_t *most, dd_inbox *inbox);
/* dd_outbox_deliver(), then lets a function read the inbox; all ranks return the code of one that failed. */
int dd_outbox_pass(MPI_Comm comm, dd_outbox *outbox, int (*take)(void *user, dd_inbox *in), void *user);

bool dd_inbox_empty(const dd_inbox *inbox);
/* The next piece, borrowed from the inbox; NULL: fewer bytes are left. */
void *dd_inbox_next(dd_inbox *inbox, size_t size);
/* The next node with its arms, likewise. */
const dd_node *dd_inbox_node(dd_inbox *inbox);
/* Copies the next node into an empty *node. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_INTERNAL. */
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

/* A list of blocks for a route, each with the ranks that need it. Zero it before use. The first failure sticks, as in
 * an outbox. */
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

/* Sends data along a route and waits. data, received: as for eqp_route_start() and eqp_route_finish(). Collective. */
int dd_route_send(eqp_route *route, int code, const void *data, const void **received);

/* ---- The nodes that live here. Every node lives on exactly one rank, its home, and every arm knows the home of its
 * neighbour. */

typedef struct dd_domain {
    MPI_Comm comm; /* borrowed */
    int rank, nranks;
    double low[3], edge[3];   /* of the box, in units of b */
    double box[3];            /* edge of a periodic direction, 0: free */
    dd_network network;       /* the nodes that live here */
    dd_tag next_tag;          /* lowest tag never used; the same on all ranks */
    int far_order;            /* order of the far field's expansions: see elastic/far.h; the same on all ranks */
    eqp_exchange_plan plan;   /* how data for forces travel; the same on all ranks */
    struct dd_window *window; /* memory of the ranks of one computer for their segments (borrowed); NULL: none */
} dd_domain;

/* Initializes an empty domain with direct messages and a far field of default order; the caller sets the box. comm
 * comes from eqp_comm_create(). Local. */
void dd_domain_init(dd_domain *domain, MPI_Comm comm);

/* Folds a position into the box in periodic directions. Local. */
void dd_domain_fold(const dd_domain *domain, double x[3]);

/* Segments that a node owns: the end with the lower tag owns a segment. Local. */
int dd_node_owned(const dd_node *node);

/* Bytes that move with a node. Local. */
int64_t dd_node_bytes(const dd_node *node);

/* from - to by the nearest periodic image. Local. */
void dd_domain_offset(const dd_domain *domain, const double from[3], const double to[3], double offset[3]);

/* Finds the homes of all neighbours of newly read or made nodes, by a directory spread over the ranks, and sets
 * next_tag. EQP_ERR_DATA with the tag in the message for duplicate tags and arms to missing nodes. Collective. */
int dd_domain_connect(dd_domain *domain, eqp_message *message);

/* Nodes that left this rank for new homes. */
typedef struct dd_moved {
    int64_t nodes;
    int64_t bytes; /* of the nodes and of the messages to their neighbours */
} dd_moved;

/* Moves nodes to new homes and tells their neighbours. dest: [network.n] ranks (borrowed), not read if code is set.
 * Adds to *moved. Collective, without a blocking call: the code may be this rank's alone and must go to its next
 * collective call. */
int dd_domain_migrate(dd_domain *domain, int code, const int *dest, dd_moved *moved);

/* ---- Remote neighbours of a rank's nodes. Both ends know an arm across ranks, so each side knows without asking which
 * data the other needs, and in which order. */

/* A segment whose owner lives here. */
typedef struct dd_own {
    int64_t node, far; /* places of its ends: the owner, which lives here, and the other end */
    dd_arm *arm;       /* of the owner (borrowed) */
    dd_arm *back;      /* of the other end (borrowed); NULL: it lives elsewhere */
    int64_t crossing;  /* place among the segments whose other end lives elsewhere, by its home, then by segment */
} dd_own;

/* Places of neighbours: own nodes below network.n, then ghosts. */
typedef struct dd_halo {
    int64_t n;       /* own nodes at its creation */
    int64_t nghosts; /* remote neighbours, each once */
    int numbers;     /* numbers sent for a node: position, or position and velocity */
    int64_t *first;  /* [n + 1] first arm of each own node in `place` */
    int64_t *place;  /* [arms] of each arm's neighbour */
    dd_tag *tag;     /* [nghosts] by home, then by tag */
    double *x, *v;   /* [nghosts][3] as of the last dd_halo_refresh; v: NULL if only positions travel */
    /* own nodes that other ranks need, by tag; each is a block */
    int64_t nsend;
    int64_t *send;    /* [nsend] places */
    double *out;      /* [nsend][numbers] scratch */
    eqp_route *nodes; /* from these nodes to the ghosts */
    int64_t nown;
    dd_own *own; /* [nown] in the order of nodes and arms */
    int64_t ncrossings, ntheirs;
    dd_arm **theirs; /* [ntheirs] arms whose segment belongs to a node elsewhere, in the order of its crossings */
    eqp_route *arms; /* forces from crossings to the other ends' theirs: a block per rank; NULL if velocities travel */
} dd_halo;

enum { DD_PLACES = 3, DD_MOVING = 6 };

/* Plans by the domain's exchange plan and fetches the values once. Velocities are for looking at neighbours: such a
 * halo gives no forces. The domain's nodes and arms must not change while the halo is in use. Collective. */
int dd_halo_create(const dd_domain *domain, int numbers, int code, dd_halo *halo);
/* Collective. */
void dd_halo_free(dd_halo *halo);

/* Fetches positions of all ghosts, and velocities if the halo has them. Collective. */
int dd_halo_refresh(const dd_domain *domain, dd_halo *halo, int code);

/* Sends a number of each own node to the ranks that have it as a ghost: own [n] (borrowed), ghost [nghosts].
 * Collective. */
int dd_halo_spread(const dd_halo *halo, const int *own, int *ghost);

/* Sends three numbers for each arm across ranks from the owner of its segment to the other end: out [ncrossings][3]
 * (borrowed), in [ntheirs][3]. Collective. */
int dd_halo_give(const dd_halo *halo, int code, const double *out, double *in);

/* Position of the neighbour at a place; velocity if the halo has velocities. Local. */
const double *dd_halo_position(const dd_domain *domain, const dd_halo *halo, int64_t place);
const double *dd_halo_velocity(const dd_domain *domain, const dd_halo *halo, int64_t place);

/* The way from a position to the neighbour at a place, by the nearest image. Local. */
void dd_halo_way(const dd_domain *domain, const dd_halo *halo, const double from[3], int64_t place, double way[3]);

#endif
