/* SPDX-License-Identifier: BSD-3-Clause */
/* The interaction-to-rank map. Whoever owns interactions carries a tag. A tag >= 0 is the rank that computes all of
 * them. A tag < 0 names an entry of the table of split owners: their interactions go each to the rank of the nearest
 * centroid, measured from the owner so that the map moves with it. Every rank holds the table: some tens of bytes per
 * work unit of a split owner, nothing for the others. Nothing here communicates. */
#ifndef APP_MAP_H
#define APP_MAP_H

#include <equipoise/units.h>

typedef struct app_map {
    int64_t nsplit;
    eqp_units *units; /* of the split owners; NULL while there are none */
    double *centroid; /* [units][3] */
    int *rank;        /* [units] */
} app_map;

void app_map_init(app_map *map);
void app_map_free(app_map *map);

/* Takes the table of split owners: nunits_of [nsplit], centroid [sum][3], rank [sum] (all copied). The tag of the i-th
 * is -1 - i. Replaces what was there; unchanged on error. */
int app_map_set(app_map *map, int64_t nsplit, const int64_t *nunits_of, const double *centroid, const int *rank);

/* The rank of an interaction whose centroid is given, measured from its owner. O(1) for whole owners, one search for
 * split ones. */
int app_map_rank(const app_map *map, int64_t tag, const double centroid[3]);

/* The rank of what an owner does at its own place: its own, where only one can be named. */
int app_map_own_rank(const app_map *map, int64_t tag);

/* The ranks that compute interactions of an owner, ascending and distinct. ranks: room for one more than units of the
 * owner, or for as many as there are ranks, whichever is less. Returns how many. */
int app_map_ranks(const app_map *map, int64_t tag, int nranks, int *ranks);

/* The work units of a split owner (tag < 0), in the order in which app_map_rank() takes the first of equally near ones:
 * centroid [n][3], measured from the owner, and rank [n], both borrowed from the map. Returns n. O(1). */
int64_t app_map_units(const app_map *map, int64_t tag, const double **centroid, const int **rank);

#endif
