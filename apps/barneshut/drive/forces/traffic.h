/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges of a force evaluation; each follows the run's exchange plan (<equipoise/exchange.h>). */
#ifndef BH_TRAFFIC_H
#define BH_TRAFFIC_H

#include <equipoise/more/comm.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    BH_PHASE_TASKS,    /* out: groups that other ranks compute, whole or in part; see tasks.h */
    BH_PHASE_REQUESTS, /* out: groups whose walks open cells of other ranks; see essential.c */
    BH_PHASE_GHOSTS,   /* out: these cells and their particles */
    BH_PHASE_FORCES,   /* back: forces on the groups of BH_PHASE_TASKS */
    BH_PHASES
};

/* Messages of a rank in each exchange of an evaluation, and its ghosts. Counts exclude messages that set up a route and
 * the top of the tree. */
typedef struct bh_traffic {
    eqp_route_counts phase[BH_PHASES];
    int64_t cells, particles; /* from other ranks */
} bh_traffic;

int64_t bh_phases_bytes(const eqp_route_counts phase[BH_PHASES]);

/* Messengers of direct plans, kept from step to step: messages to ranks need no route. */
typedef struct bh_messengers {
    MPI_Comm comm;                                     /* borrowed */
    eqp_messenger *tasks, *forces, *requests, *ghosts; /* NULL before their first use */
    int nhelpers, *helper;                             /* [ranks] ranks that compute groups of this one */
    int nasked, *asked;                                /* [ranks] receivers of the last requests */
    int *partner;                                      /* [3 ranks] lists of an exchange between nodes */
    struct bh_neighbours *neighbours;                  /* borrowed; NULL: none */
} bh_messengers;

void bh_messengers_init(bh_messengers *messengers, MPI_Comm comm);

/* Collective. */
void bh_messengers_free(bh_messengers *messengers);

/* Creates the messengers if necessary. *open: true for a plan with messages, the same on all ranks. Collective; the
 * code of all ranks. */
int bh_messengers_open(bh_messengers *messengers, const eqp_exchange_plan *plan, bool *open);

/* The distinct ranks among n, ascending: list [nranks]. Returns their number. */
int bh_list_ranks(int64_t n, const int *rank, int nranks, int *list);

/* Blocks under way to the ranks that need them, in messages or by a route. Zeros: none. */
typedef struct bh_parcels {
    eqp_messenger *messages; /* borrowed; NULL: a route carries them */
    eqp_route *route;        /* both NULL: nothing is under way */
    unsigned char *data;     /* blocks of the route */
    const void *received;
    bool idle;      /* the route has nothing to carry between any ranks */
    bool delivered; /* all ranks have finished the exchange, and none has failed before */
} bh_parcels;

/* Writes a block. */
typedef void bh_pack_fn(const void *user, int64_t block, unsigned char *to);

typedef struct bh_partners {
    int nto, nfrom;
    const int *to, *from; /* as eqp_messenger_answer() takes them */
} bh_partners;

/* Packs and sends the blocks: with messages [one for each rank], each block packed once, or by a route. A rank that has
 * failed takes part with its code in the blocks. partners: NULL if receivers do not know the senders. Returns this
 * rank's code. Collective. */
int bh_parcels_start(bh_parcels *parcels, MPI_Comm comm, const eqp_exchange_plan *plan, eqp_messenger *messages,
                     const eqp_route_blocks *blocks, bh_pack_fn *pack, const void *user, const bh_partners *partners);
int bh_parcels_progress(bh_parcels *parcels); /* local */

/* Waits for the arrivals. mine: this rank's code so far; returns it, or that of the exchange. Collective. */
int bh_parcels_finish(bh_parcels *parcels, int mine, eqp_route_counts *counts);

/* Arrivals: blocks by rank, one or several in a piece. Valid until the parcels are freed or the messenger sends. */
typedef struct bh_piece {
    int rank;
    const unsigned char *data;
    int64_t bytes;
} bh_piece;

int64_t bh_parcels_pieces(const bh_parcels *parcels);
bh_piece bh_parcels_piece(const bh_parcels *parcels, int64_t i);

void bh_parcels_free(bh_parcels *parcels); /* collective */

#endif
