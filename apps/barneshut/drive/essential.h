/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches the essential parts of other ranks' trees: for exactly the groups and tiles that this rank computes. */
#ifndef BH_ESSENTIAL_H
#define BH_ESSENTIAL_H

#include "works.h"

#include "../physics/let.h"

/* The choice of tiles of one work: user data of bh_tile_keep. */
typedef struct bh_tile_choice {
    const app_map *map;
    int64_t tag;
    int rank;
    double centre[3]; /* of the group */
} bh_tile_choice;

/* Prepares the choice and gives the function to pass to bh_walk: NULL for a group that one rank computes whole. */
bh_tile_fn bh_tile_choose(bh_tile_choice *choice, const app_map *map, int64_t tag, int rank, const bh_group *group);

typedef struct bh_traffic {
    int64_t cells, particles; /* that came from other ranks */
    int64_t bytes;            /* sent to other ranks */
} bh_traffic;

/* Asks the ranks below whose branches the works must look, and grafts what they send onto the tree. Adds to *traffic.
 * Collective. */
int bh_essential_fetch(bh_tree *tree, MPI_Comm comm, const bh_works *works, const bh_mac *mac, const app_map *map,
                       bh_traffic *traffic);

#endif
