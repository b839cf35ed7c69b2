/* SPDX-License-Identifier: BSD-3-Clause */
/* Target groups on the ranks that compute them. A group's home sends its targets to every rank that the map names, gets
 * the forces back and adds them up. */
#ifndef BH_WORKS_H
#define BH_WORKS_H

#include "costs.h"
#include "map.h"
#include "particles.h"

#include <equipoise/move.h>
#include <mpi.h>

typedef struct bh_work {
    bh_group group;  /* first: its targets in the arrays of bh_works */
    int64_t tag;     /* what decides its tiles here: >= 0 for a group that this rank computes whole */
    int64_t present; /* its particles' tag: who computes it by the present map */
    int home;
    int reserved;
} bh_work;

typedef struct bh_works {
    int64_t n;
    bh_work *work; /* [n] by home, then in key order */
    int64_t ntargets;
    double *x, *y, *z;          /* [ntargets] */
    double *ax, *ay, *az, *pot; /* [ntargets] results */
    bh_counts *counts;          /* [n] results */
    /* What went out, in group order and for each group by rank; the results come back along the same plans. */
    int64_t nsent, nsent_targets;
    int64_t *sent_group; /* [nsent] */
    eqp_move_plan *groups_plan, *targets_plan;
    int64_t *groups_from, *targets_from; /* [ranks] works and targets from each rank */
} bh_works;

void bh_works_init(bh_works *works);
void bh_works_free(bh_works *works);

/* Where groups go: by their tags [ngroups] and the map, or, where `only` is given, whole to rank only[g]. */
typedef struct bh_route {
    const int64_t *tag;
    const bh_map *map;
    const int *only;
} bh_route;

/* Sends this rank's groups along a route. Replaces what was there. Adds the bytes sent to other ranks to *bytes.
 * Collective. */
int bh_works_send(bh_works *works, MPI_Comm comm, const bh_particles *particles, int64_t ngroups, const bh_group *group,
                  const bh_route *route, int64_t *bytes);

/* Brings the results home: sets the particles' accelerations and potentials. Contributions of several ranks are added
 * in rank order. Collective. */
int bh_works_return(const bh_works *works, MPI_Comm comm, bh_particles *particles, const bh_group *group,
                    int64_t *bytes);

/* Brings one number per work home, where each group was sent to one rank: word [n], home_word [ngroups]. Collective. */
int bh_works_return_words(const bh_works *works, MPI_Comm comm, const int64_t *word, int64_t *home_word);

#endif
