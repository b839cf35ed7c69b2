/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a group's tiles. A particle carries a tag of the map (<equipoise/problem.h>); its target group has the
 * tag of its middle particle. The centroid of each tile of a shared group determines its rank. */
#ifndef BH_TILE_H
#define BH_TILE_H

#include "../../physics/walk.h"

#include <equipoise/problem.h>

/* The centre of a group's bounds. */
void bh_group_centre(const bh_group *group, double centre[3]);

/* Centroid of the interactions between a group and a tile: the midpoint of their centres, measured from the group's. */
void bh_tile_centroid(const double group_centre[3], const double tile_centre[3], double centroid[3]);

/* The choice of a group's tiles that one rank computes. */
typedef struct bh_tile_choice {
    const eqp_map *map;
    int64_t tag;
    bh_sharing sharing;
    bh_choice choice;
} bh_tile_choice;

/* Prepares the choice, which borrows from the map and must not move, and returns it for walks: NULL for a group that
 * one rank computes whole. */
const bh_choice *bh_tile_choose(bh_tile_choice *choice, const eqp_map *map, int64_t tag, int rank,
                                const bh_group *group);

#endif
