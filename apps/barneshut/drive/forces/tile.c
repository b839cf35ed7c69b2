/* SPDX-License-Identifier: BSD-3-Clause */
#include "tile.h"

#include <stddef.h>

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

static bool keep_mine(void *user, const double centre[3])
{
    const bh_tile_choice *choice = user;
    double centroid[3];

    bh_tile_centroid(choice->sharing.centre, centre, centroid);
    return eqp_map_rank(choice->map, choice->tag, centroid) == choice->sharing.me;
}

const bh_choice *bh_tile_choose(bh_tile_choice *choice, const eqp_map *map, int64_t tag, int rank,
                                const bh_group *group)
{
    bh_sharing *sharing = &choice->sharing;

    if (tag >= 0) {
        return NULL;
    }
    *choice = (bh_tile_choice){.map = map, .tag = tag, .sharing = {.me = rank}};
    sharing->n = eqp_map_units(map, tag, &sharing->centroid, &sharing->rank);
    bh_group_centre(group, sharing->centre);
    choice->choice = (bh_choice){.keep = keep_mine, .user = choice, .sharing = &choice->sharing};
    return &choice->choice;
}
