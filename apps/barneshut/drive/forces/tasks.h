/* SPDX-License-Identifier: BSD-3-Clause */
/* Target groups on the ranks that compute them. Most are computed whole where they live, and stay in place; so does the
 * home's own share of a group that ranks share. The targets of all others go from their home to every rank that the map
 * names, as a block of a record and positions, and forces come back the same way and are added up. */
#ifndef BH_TASKS_H
#define BH_TASKS_H

#include "../domain/particles.h"
#include "costs.h"
#include "tile.h"
#include "traffic.h"

#include "../../physics/motion.h"

#include <stdbool.h>

typedef struct bh_task {
    bh_group group;           /* first: of those at home, among the particles; else 0 */
    int64_t tag;              /* what decides its tiles here: >= 0 for a group that this rank computes whole */
    int64_t at_home;          /* the group's number there */
    int64_t label;            /* of a name at home; else 0 */
    int16_t on[BH_RUNGS_MAX]; /* targets on rung k and later ones, which a turn of phase k computes (motion.h); without
                                 rungs all are on rung 0 */
    int home;
    int reserved;
} bh_task;

typedef struct bh_tasks {
    int64_t n, nlocal;
    bh_task *task; /* [n] the nlocal that live here in key order, then the others by home, then in key order */
    bool *waits;   /* [n] whether it needs what is elsewhere; see bh_essential_start() */
    const bh_particles *particles; /* of the local ones (borrowed) */
    int64_t ngroups;
    const bh_group *group; /* [ngroups] all that live here (borrowed) */
    const int64_t *tag;    /* [ngroups] by which they are computed (borrowed, or the next) */
    int64_t *tags;         /* [ngroups] where tags of the map depend on the phase; else NULL */
    /* The groups that go out, in key order. */
    int64_t nsent;
    int64_t *sent_group, *sent_first; /* [nsent], [nsent + 1] into sent_rank */
    int *sent_rank;                   /* the other ranks that compute each, ascending */
    bool *sent_own;                   /* [nsent] whether this rank computes some of it, too */
    bool away;                        /* whether groups are computed elsewhere than at home, on any rank */
    const unsigned char **block;      /* [n - nlocal] records and positions as they came: till the next tasks */
    double **to;   /* [n - nlocal] ax, ay, az and pot of each work's targets; NULL: no results wanted */
    MPI_Comm comm; /* borrowed */
    bh_post *post; /* its messages carry tasks and results (borrowed); NULL: these do */
    eqp_route *out, *back;
    double *result; /* as they lie in `back` */
} bh_tasks;

/* Where the targets of one work lie, and where their results go: arrays of its group's count. */
typedef struct bh_task_targets {
    const double *x, *y, *z;
    double *ax, *ay, *az, *pot; /* of groups from elsewhere NULL before bh_tasks_expect() */
} bh_task_targets;

bh_task_targets bh_tasks_targets(const bh_tasks *tasks, int64_t w);

/* Bytes of the block of a group with so many targets, out and back: multiples of 8. rungs: bh_particles.rungs. */
int64_t bh_task_bytes(int64_t count, bool rungs);
int64_t bh_result_bytes(int64_t count);

/* Zeros are empty tasks. Freeing is collective, as it is for routes. */
void bh_tasks_init(bh_tasks *tasks);
void bh_tasks_free(bh_tasks *tasks);

/* Tasks of this rank's groups by their tags [ngroups] and the map, as that is in a phase of a cycle
 * (<physics/motion.h>). Replaces what was there. away: bh_domain.away.
 * counts: BH_PHASE_TASKS. The particles, groups and tags stay borrowed, and those of local tasks get their results in
 * place. Collective. code, of these three: of this rank so far, which they return, too: a rank that has failed takes
 * part in what the others do, and they hear of it with the data, or at the end of the step. */
int bh_tasks_send(bh_tasks *tasks, bh_post *post, const eqp_exchange_plan *plan, const bh_particles *particles,
                  int64_t ngroups, const bh_group *group, const int64_t *tag, bool away, const eqp_map *map, int phase,
                  int code, eqp_route_counts *counts);

/* Prepares the way back and makes room for results; nothing where no rank has sent anything. Collective. */
int bh_tasks_expect(bh_tasks *tasks, const eqp_exchange_plan *plan, int code);

/* Brings the results home: adds them to those of the particles of groups that were sent, or sets them where this rank
 * has computed nothing of the group. counts: BH_PHASE_FORCES. Collective. */
int bh_tasks_return(const bh_tasks *tasks, bh_particles *particles, int code, eqp_route_counts *counts);

#endif
