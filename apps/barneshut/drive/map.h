/* SPDX-License-Identifier: BSD-3-Clause */
/* The interaction-to-rank map. A particle carries a tag; its target group follows the tag of its middle particle. A tag
 * >= 0 is the rank that computes the whole group. A tag < 0 names an entry of the table of split owners: the group's
 * tiles go each to the rank of the nearest centroid, measured from the group's centre so that the map moves with its
 * owner. Every rank holds the table: 32 bytes per work unit of a split owner, nothing for the others. */
#ifndef BH_MAP_H
#define BH_MAP_H

#include "../physics/tree.h"

#include <equipoise/units.h>

typedef struct bh_map {
    int64_t nsplit;
    eqp_units *units; /* of the split owners; NULL while there are none */
    int *rank;        /* [units] */
} bh_map;

void bh_map_init(bh_map *map);
void bh_map_free(bh_map *map);

/* Takes the table of split owners: nunits_of [nsplit], centroid [sum][3], rank [sum] (all copied). The tag of the i-th
 * is -1 - i. Replaces what was there; unchanged on error. */
int bh_map_set(bh_map *map, int64_t nsplit, const int64_t *nunits_of, const double *centroid, const int *rank);

/* Centroid of the interactions between a group and a tile: the midpoint of their centres, measured from the group's. */
void bh_tile_centroid(const double group_centre[3], const double tile_centre[3], double centroid[3]);

/* The rank of a tile. O(1) for whole owners, one search for split ones. */
int bh_map_tile_rank(const bh_map *map, int64_t tag, const double group_centre[3], const double tile_centre[3]);

/* The rank of an interaction whose centroid is given, measured from the group's centre. */
int bh_map_rank(const bh_map *map, int64_t tag, const double centroid[3]);

/* The rank of a group's interactions with itself: its own, where only one can be named. */
int bh_map_own_rank(const bh_map *map, int64_t tag);

/* The ranks that compute tiles of an owner, ascending and distinct. ranks: room for one more than units of the owner,
 * or for as many as there are ranks, whichever is less. Returns how many. */
int bh_map_ranks(const bh_map *map, int64_t tag, int nranks, int *ranks);

/* The centre of a group's bounds. */
void bh_group_centre(const bh_group *group, double centre[3]);

#endif
