/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches the essential parts of other ranks' trees for exactly the groups and tiles that this rank computes. */
#ifndef BH_ESSENTIAL_H
#define BH_ESSENTIAL_H

#include "tasks.h"

#include "../../physics/let.h"

/* The home of a group sends this, once for all ranks that compute some of it, to the homes of all cells that the
 * group's walk opens and of all leaves with acting particles, except to a rank that computes all of it. Since every
 * rank has the map, the receiver knows which rank computes which tile and which cells that rank needs. */
typedef struct bh_request {
    int64_t tag;
    double lo[3], hi[3];
    double accel; /* last, since it is sent only if the opening criterion needs it */
} bh_request;

/* Bytes of a request: a multiple of 8. */
int64_t bh_request_bytes(const bh_mac *mac);

/* Blocks of other ranks' trees under way; see <physics/let.h>. */
typedef struct bh_fetch {
    bh_tree *tree; /* borrowed */
    bh_parcels ghosts;
} bh_fetch;

/* Requests the cells that this rank's groups need, wherever they are computed, and answers other ranks' requests; the
 * answers are under way on return. For groups that this rank computes alone it requests absent cells only. Tasks with
 * `waits` false can be computed before the answers arrive. traffic: BH_PHASE_REQUESTS. code: of this rank so far.
 * Returns this rank's code, or that of all ranks if requests could not be sent. Must be finished in any case.
 * Collective. */
int bh_essential_start(bh_fetch *fetch, bh_tree *tree, bh_messengers *messengers, const eqp_exchange_plan *plan,
                       bh_tasks *tasks, const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic);

/* Waits for the answers, grafts them onto the tree and frees the fetch. mine: this rank's code so far; returns this
 * rank's code. traffic: BH_PHASE_GHOSTS; adds to cells and particles. Collective. */
int bh_essential_finish(bh_fetch *fetch, int mine, bh_traffic *traffic);

/* Both at once. code: of this rank so far; returns that of all ranks. Collective. */
int bh_essential_fetch(bh_tree *tree, bh_messengers *messengers, const eqp_exchange_plan *plan, bh_tasks *tasks,
                       const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic);

#endif
