/* SPDX-License-Identifier: BSD-3-Clause */
/* What travels in a force evaluation, in phases that each follow the run's exchange plan (<equipoise/more/whatif.h>).
 */
#ifndef BH_TRAFFIC_H
#define BH_TRAFFIC_H

#include <equipoise/more/messenger.h>
#include <equipoise/more/route.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    BH_PHASE_TASKS,    /* out: groups that other ranks compute, or compute some of; see tasks.h */
    BH_PHASE_REQUESTS, /* out: groups whose walks open cells of others; see essential.h */
    BH_PHASE_GHOSTS,   /* out: those cells and particles */
    BH_PHASE_FORCES,   /* back: what the groups of BH_PHASE_TASKS have felt */
    BH_PHASES
};

/* What a rank has sent and received in the phases of an evaluation, and what came in as ghosts. Counts are those of
 * eqp_exchange_count(): messages that make a route, and the top of the tree, are not in them. */
typedef struct bh_traffic {
    eqp_route_counts phase[BH_PHASES];
    int64_t cells, particles; /* that came from other ranks */
} bh_traffic;

/* Bytes sent in all phases. */
int64_t bh_phases_bytes(const eqp_route_counts phase[BH_PHASES]);

/* Blocks out, and wait for what arrives: creates the route (owned by the caller), carries one trip out.
 * data, received: as in <equipoise/more/route.h>. counts: of this trip. Collective, fails on all ranks or on none. */
int bh_trip(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, const void *data,
            eqp_route **route, const void **received, eqp_route_counts *counts);

/* What carries a step's data from step to step where plans are direct: messages of whole ranks, to which no route has
 * to be made. */
typedef struct bh_post {
    MPI_Comm comm;                                     /* borrowed */
    eqp_messenger *tasks, *forces, *requests, *ghosts; /* NULL before they are used first */
    int nhired, *hired;                                /* [ranks] those that compute groups of this one */
    int nasked, *asked;                                /* [ranks] those that have the last requests */
} bh_post;

void bh_post_init(bh_post *post, MPI_Comm comm);

/* Collective. */
void bh_post_free(bh_post *post);

/* Makes what is not there yet. *open: whether the plan is one for messages, the same on all ranks. Collective; the code
 * is that of all ranks. */
int bh_post_open(bh_post *post, const eqp_exchange_plan *plan, bool *open);

#endif
