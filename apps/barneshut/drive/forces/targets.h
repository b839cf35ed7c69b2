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

/* The particles that are active in a phase (<physics/motion.h>): all of them in phase 0. targets: to be freed even
 * after an error. Local. */
int bh_targets_find(bh_targets *targets, const bh_domain *domain, int phase);
void bh_targets_free(bh_targets *targets);

/* Forces to their particles, without the potential that each has of itself: self, per unit of mass. */
void bh_targets_bring_forces(const bh_targets *targets, double self, bh_particles *p);

#endif
