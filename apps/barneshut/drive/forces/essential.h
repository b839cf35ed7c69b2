/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches the essential parts of other ranks' trees: for exactly the groups and tiles that this rank computes. */
#ifndef BH_ESSENTIAL_H
#define BH_ESSENTIAL_H

#include "tasks.h"

#include "../../physics/let.h"

/* The choice of a group's tiles that one rank computes. */
typedef struct bh_tile_choice {
    const eqp_map *map;
    int64_t tag;
    bh_sharing sharing;
    bh_choice choice;
} bh_tile_choice;

/* Prepares the choice, which borrows from the map and must stay where it is, and gives what walks are to be told: NULL
 * for a group that one rank computes whole. */
const bh_choice *bh_tile_choose(bh_tile_choice *choice, const eqp_map *map, int64_t tag, int rank,
                                const bh_group *group);

/* The home of a group sends this, once for all ranks that compute some of it, to the homes of all cells that the
 * group's walk opens and of all leaves that act one by one in it, but not to one that computes all of it. Who computes
 * which tile, and so what is to be sent to whom, follows from it there, as everybody has the map. */
typedef struct bh_request {
    int64_t tag;
    double lo[3], hi[3];
    double accel; /* comes last: it travels only where the opening criterion asks for it */
} bh_request;

/* Bytes of a request: a multiple of 8. */
int64_t bh_request_bytes(const bh_mac *mac);

/* Blocks of other ranks' trees under way; see <physics/let.h>. */
typedef struct bh_fetch {
    MPI_Comm comm;           /* borrowed */
    bh_tree *tree;           /* borrowed */
    eqp_messenger *messages; /* either carries them (borrowed) */
    eqp_route *ghosts;       /* or this; both NULL: nothing is under way */
    unsigned char *data;
} bh_fetch;

/* Asks for what this rank's groups need of others, by whomever they are computed, and answers what others ask; the
 * answers are under way when this returns. For groups that this rank computes alone it asks only for what is not here
 * yet. Until the answers are taken in, tasks whose `waits` is false have all they need. traffic: BH_PHASE_REQUESTS.
 * code: of this rank so far, which it returns, too, or that of its own part in this, or of all ranks where requests
 * could not be sent. To be finished in any case.
 * Collective. */
int bh_essential_start(bh_fetch *fetch, bh_tree *tree, bh_post *post, const eqp_exchange_plan *plan, bh_tasks *tasks,
                       const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic);

/* Moves the answers on: to be called now and then in between. Local. */
int bh_essential_progress(bh_fetch *fetch);

/* Waits for the answers, grafts them onto the tree and frees what was under way. mine: this rank's code so far,
 * which it returns, too, or that of its own part in this. traffic: BH_PHASE_GHOSTS; adds to cells and particles.
 * Collective. */
int bh_essential_finish(bh_fetch *fetch, int mine, bh_traffic *traffic);

/* Both, without anything in between. code: of this rank so far; returns that of all ranks. Collective. */
int bh_essential_fetch(bh_tree *tree, bh_post *post, const eqp_exchange_plan *plan, bh_tasks *tasks, const bh_mac *mac,
                       const eqp_map *map, int code, bh_traffic *traffic);

#endif
