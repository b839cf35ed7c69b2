/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a group's tiles. A particle carries a tag of the map (<equipoise/problem.h>); its target group has the tag
 * of its middle particle. The centroid of each tile of a shared group determines its rank. */
#ifndef BH_TILE_H
#define BH_TILE_H

#include "../../physics/walk.h"

#include <equipoise/problem.h>

/* The centre of a group's bounds. */
void bh_group_centre(const bh_group *group, double centre[3]);

/* Centroid of the interactions between a group and a tile: the midpoint of their centres, measured from the group's. */
void bh_tile_centroid(const double group_centre[3], const double tile_centre[3], double centroid[3]);

/* The rank of a tile. O(1) for whole owners, one search for split ones. */
int bh_tile_rank(const eqp_map *map, int64_t tag, const double group_centre[3], const double tile_centre[3]);

/* How ranks share a group (tag < 0) with this centre, for the walk of one of them. Borrows from the map. O(1). */
bh_sharing bh_tile_sharing(const eqp_map *map, int64_t tag, const double group_centre[3], int rank);

#endif
