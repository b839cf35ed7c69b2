/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges of a force evaluation; each follows the run's exchange plan (<equipoise/exchange.h>). */
#ifndef BH_TRAFFIC_H
#define BH_TRAFFIC_H

#include <equipoise/more/messenger.h>
#include <equipoise/more/route.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    BH_PHASE_TASKS,    /* out: groups that other ranks compute, whole or in part; see tasks.h */
    BH_PHASE_REQUESTS, /* out: groups whose walks open cells of other ranks; see essential.h */
    BH_PHASE_GHOSTS,   /* out: these cells and their particles */
    BH_PHASE_FORCES,   /* back: forces on the groups of BH_PHASE_TASKS */
    BH_PHASES
};

/* Messages of a rank in each exchange of an evaluation, and its ghosts. Counts are those of eqp_exchange_count(),
 * without messages that set up a route and without the top of the tree. */
typedef struct bh_traffic {
    eqp_route_counts phase[BH_PHASES];
    int64_t cells, particles; /* from other ranks */
} bh_traffic;

/* Bytes sent in all phases. */
int64_t bh_phases_bytes(const eqp_route_counts phase[BH_PHASES]);

/* Creates a route (owned by the caller), sends the blocks and waits for what arrives.
 * data, received: as in <equipoise/more/route.h>. counts: of this trip. Collective, fails on all ranks or on none. */
int bh_trip(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, const void *data,
            eqp_route **route, const void **received, eqp_route_counts *counts);

/* The messengers of direct plans, which last from step to step: messages to ranks need no route. */
typedef struct bh_messengers {
    MPI_Comm comm;                                     /* borrowed */
    eqp_messenger *tasks, *forces, *requests, *ghosts; /* NULL before they are used first */
    int nhelpers, *helper;                             /* [ranks] ranks that compute groups of this one */
    int nasked, *asked;                                /* [ranks] ranks that got the last requests */
} bh_messengers;

void bh_messengers_init(bh_messengers *messengers, MPI_Comm comm);

/* Collective. */
void bh_messengers_free(bh_messengers *messengers);

/* Creates the messengers if need be. *open: true if the plan is one for messages, the same on all ranks. Collective;
 * the code is that of all ranks. */
int bh_messengers_open(bh_messengers *messengers, const eqp_exchange_plan *plan, bool *open);

#endif
