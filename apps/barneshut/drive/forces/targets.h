/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets of an evaluation: this rank's particles in their groups, or copies of the active ones in groups of their
 * own. */
#ifndef BH_TARGETS_H
#define BH_TARGETS_H

#include "../domain/domain.h"

#include "../../physics/walk.h"

/* Groups of copies have the bounds and the least acceleration of their active particles only, so that forces do not
 * depend on the ranks. Everything but the copies is borrowed from the domain. */
typedef struct bh_targets {
    bh_particles particles;
    int64_t ngroups;
    const bh_group *group;
    const int64_t *tag;
    /* With copies, else NULL: */
    double *field;    /* [7][n] */
    int64_t *from;    /* [n] numbers of the particles */
    bh_group *groups; /* [ngroups] */
    int64_t *tags;    /* [ngroups] */
    int64_t *numbers; /* [ngroups] number of each among the domain's groups */
} bh_targets;

/* Active particles of a phase (<physics/motion.h>): all in phase 0. targets: freed by the caller even after an error.
 * Local. */
int bh_targets_find(bh_targets *targets, const bh_domain *domain, int phase);
void bh_targets_free(bh_targets *targets);

/* Active targets of a group in a phase, as a group of their own. x, y, z and numbers of these particles have room for
 * the group's count. */
bh_group bh_active_group(const bh_particles *p, const bh_group *group, int phase, double *x, double *y, double *z,
                         int64_t *from);

/* Writes forces to the particles. self: a particle's own potential per unit of mass, which is subtracted. */
void bh_targets_bring_forces(const bh_targets *targets, double self, bh_particles *p);

/* Ranks of a group's tiles. A particle carries a tag of the map (<equipoise/problem.h>); its target group has the tag
 * of its middle particle. The centroid of each tile of a shared group determines its rank. */

void bh_group_centre(const bh_group *group, double centre[3]);

/* Centroid of the interactions between a group and a tile: the midpoint of their centres, measured from the group's. */
void bh_tile_centroid(const double group_centre[3], const double tile_centre[3], double centroid[3]);

/* Selects a group's tiles that one rank computes. */
typedef struct bh_tile_choice {
    const eqp_map *map;
    int64_t tag;
    bh_sharing sharing;
    bh_choice choice;
} bh_tile_choice;

/* Prepares the choice, which borrows from the map and must not move, and returns it for walks; NULL if one rank
 * computes the whole group. */
const bh_choice *bh_tile_choose(bh_tile_choice *choice, const eqp_map *map, int64_t tag, int rank,
                                const bh_group *group);

#endif
