/* SPDX-License-Identifier: BSD-3-Clause */
#include "tile.h"

#include <string.h>

void bh_group_centre(const bh_group *group, double centre[3])
{
    for (int a = 0; a < 3; a++) {
        centre[a] = 0.5 * (group->lo[a] + group->hi[a]);
    }
}

void bh_tile_centroid(const double group_centre[3], const double tile_centre[3], double centroid[3])
{
    for (int a = 0; a < 3; a++) {
        centroid[a] = 0.5 * (tile_centre[a] - group_centre[a]);
    }
}

int bh_tile_rank(const eqp_map *map, int64_t tag, const double group_centre[3], const double tile_centre[3])
{
    double centroid[3];

    bh_tile_centroid(group_centre, tile_centre, centroid);
    return eqp_map_rank(map, tag, centroid);
}

bh_sharing bh_tile_sharing(const eqp_map *map, int64_t tag, const double group_centre[3], int rank)
{
    bh_sharing sharing = {.me = rank};

    sharing.n = eqp_map_units(map, tag, &sharing.centroid, &sharing.rank);
    memcpy(sharing.centre, group_centre, sizeof sharing.centre);
    return sharing;
}
