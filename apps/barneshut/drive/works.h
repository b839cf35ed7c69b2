/* SPDX-License-Identifier: BSD-3-Clause */
/* Target groups on the ranks that compute them. Most are computed whole where they live, and stay in place; of the
 * others the home sends the targets to every rank that the map names, gets the forces back and adds them up. */
#ifndef BH_WORKS_H
#define BH_WORKS_H

#include "costs.h"
#include "particles.h"
#include "tile.h"

#include <equipoise/move.h>
#include <mpi.h>

typedef struct bh_work {
    bh_group group;  /* first: its targets in the arrays of bh_works_targets() */
    int64_t tag;     /* what decides its tiles here: >= 0 for a group that this rank computes whole */
    int64_t at_home; /* the group's number there */
    int home;
    int reserved;
} bh_work;

typedef struct bh_works {
    int64_t n, nlocal;
    bh_work *work;     /* [n] the nlocal that are whole and at home in key order, then by home, then in key order */
    bh_counts *counts; /* [n] results */
    const bh_particles *particles; /* of the local ones (borrowed) */
    int64_t ntargets;              /* of the others */
    double *x, *y, *z;             /* [ntargets] */
    double *ax, *ay, *az, *pot;    /* [ntargets] results */
    /* What went out, in group order and for each group by rank; the results come back along the same plans. */
    int64_t nsent, nsent_targets;
    int64_t *sent_group; /* [nsent] */
    eqp_move_plan *groups_plan, *targets_plan;
    int64_t *groups_from, *targets_from; /* [ranks] works and targets from each rank */
} bh_works;

/* Where the targets of one work lie, and where their results go: arrays of its group's count. */
typedef struct bh_work_targets {
    const double *x, *y, *z;
    double *ax, *ay, *az, *pot;
} bh_work_targets;

bh_work_targets bh_works_targets(const bh_works *works, int64_t w);

void bh_works_init(bh_works *works);
void bh_works_free(bh_works *works);

/* Works of this rank's groups by their tags [ngroups] and the map. Replaces what was there. Adds the bytes sent to
 * other ranks to *bytes. The particles stay borrowed, and those of local works get their results in place. Collective.
 */
int bh_works_send(bh_works *works, MPI_Comm comm, const bh_particles *particles, int64_t ngroups, const bh_group *group,
                  const int64_t *tag, const app_map *map, int64_t *bytes);

/* Brings the results home: sets the accelerations and potentials of the particles of groups that were sent.
 * Contributions of several ranks are added in rank order. Collective. */
int bh_works_return(const bh_works *works, MPI_Comm comm, bh_particles *particles, const bh_group *group,
                    int64_t *bytes);

#endif
