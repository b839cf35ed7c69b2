/* SPDX-License-Identifier: BSD-3-Clause */
/* The targets of an evaluation: the particles of this rank in their groups, or copies of those that are active, in the
 * groups that have any. */
#ifndef BH_TARGETS_H
#define BH_TARGETS_H

#include "../domain/domain.h"

/* Groups of copies have the bounds, and the least acceleration, of their active particles alone, so that forces do not
 * depend on the ranks. All is borrowed from the domain but for copies. */
typedef struct bh_targets {
    bh_particles particles;
    int64_t ngroups;
    const bh_group *group;
    const int64_t *tag;
    /* Of copies; else NULL: */
    double *field;    /* [7][n] */
    int64_t *from;    /* [n] numbers of the particles */
    bh_group *groups; /* [ngroups] */
    int64_t *tags;    /* [ngroups] */
    int64_t *numbers; /* [ngroups] of each among the groups of the domain */
} bh_targets;

/* The active particles of a phase of a cycle (<physics/motion.h>), in which they have rungs: active [particles], owned
 * by the caller, free(). */
int bh_targets_mark(const bh_particles *p, int phase, bool **active);

/* active [particles]; NULL: all are. targets: to be freed whatever comes of it. Local. */
int bh_targets_find(bh_targets *targets, const bh_domain *domain, const bool *active);
void bh_targets_free(bh_targets *targets);

/* Forces to their particles, without the potential that each has of itself: self, per unit of mass. */
void bh_targets_bring_forces(const bh_targets *targets, double self, bh_particles *p);

#endif
