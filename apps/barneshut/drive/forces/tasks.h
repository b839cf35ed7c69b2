/* SPDX-License-Identifier: BSD-3-Clause */
/* Target groups on the ranks that compute them. Most are computed whole at home and stay in place, as does the home's
 * share of a shared group. All others are sent from their home to every rank that the map names, as a record and
 * positions; forces return the same way and are added. */
#ifndef BH_TASKS_H
#define BH_TASKS_H

#include "../domain/particles.h"
#include "traffic.h"

#include "../../physics/motion.h"
#include "../../physics/tree.h"

#include <stdbool.h>

/* Kinds of work that the cost model knows, as in the report. */
enum {
    BH_KIND_PAIR,   /* a target and a source particle, the target itself among them */
    BH_KIND_CELL,   /* a target and a cell */
    BH_KIND_LISTED, /* an entry of a group's list, cell or particle: fetched once for all its targets */
    BH_KIND_VISIT,  /* a cell that a walk looked at */
    BH_KIND_GROUP,  /* a group */
    BH_KINDS
};
extern const char *const bh_kind_names[BH_KINDS];

typedef struct bh_counts {
    int64_t of[BH_KINDS];
} bh_counts;

void bh_counts_add(bh_counts *sum, const bh_counts *counts);

/* Nominal costs in seconds; only their ratios matter. Used before anything is measured, and for cutting work units, so
 * that units depend on the particles alone. Each rank that shares a group pays for the group (BH_ONCE) and visits cells
 * on the way to its tiles and around them: with two sharers a third more visits than by one rank, with eight three
 * times as many (32,768 clustered particles). These are unknown before units are assigned; afterwards the weights of
 * each share's tiles contain them. */
extern const double bh_kind_nominal[BH_KINDS];
#define BH_ONCE (1u << BH_KIND_GROUP)

typedef struct bh_task {
    bh_group group;           /* first: place among the particles if at home; else 0 */
    int64_t tag;              /* determines its tiles; >= 0: this rank computes the whole group */
    int64_t at_home;          /* the group's number there */
    int64_t label;            /* of a survey of names; else 0 */
    int16_t on[BH_RUNGS_MAX]; /* targets on rung k or a later one, computed in a substep of phase k (motion.h); without
                                 rungs all are on rung 0 */
    int home;
    int reserved;
} bh_task;

typedef struct bh_tasks {
    int64_t n, nlocal;
    bh_task *task;                 /* [n] nlocal tasks of this rank in key order, then the rest by home and key */
    bool *waits;                   /* [n] needs cells of other ranks; see bh_essential_start() */
    const bh_particles *particles; /* of the local ones (borrowed) */
    int64_t ngroups;
    const bh_group *group; /* [ngroups] all groups at home (borrowed) */
    const int64_t *tag;    /* [ngroups] their tags (borrowed, or `tags`) */
    int64_t *tags;         /* [ngroups] if tags of the map depend on the phase; else NULL */
    /* Groups sent, in key order. */
    int64_t nsent;
    int64_t *sent_group, *sent_first; /* [nsent], [nsent + 1] into sent_rank */
    int *sent_rank;                   /* the ranks that compute each, without this one, ascending */
    bool *sent_own;                   /* [nsent] this rank computes some of it too */
    bool returns;                     /* results go home: the same on all ranks */
    const unsigned char **block;      /* [n - nlocal] records and positions as received; valid until the next tasks */
    double **to;               /* [n - nlocal] ax, ay, az and pot of each task's targets; NULL: no results are needed */
    bh_messengers *messengers; /* borrowed */
    bh_parcels out;
    eqp_route *back;
    double *result; /* in the order of `back` */
} bh_tasks;

/* Targets of a task and their results: arrays of its group's count. */
typedef struct bh_task_targets {
    const double *x, *y, *z;
    double *ax, *ay, *az, *pot; /* NULL for groups from other ranks before bh_tasks_expect() */
} bh_task_targets;

bh_task_targets bh_tasks_targets(const bh_tasks *tasks, int64_t w);

/* Bytes of the block of a group with `count` targets, out and back: multiples of 8. rungs: bh_particles.rungs. */
int64_t bh_task_bytes(int64_t count, bool rungs);
int64_t bh_result_bytes(int64_t count);

/* A zeroed struct is empty. Freeing is collective. */
void bh_tasks_free(bh_tasks *tasks);

/* Makes the tasks of this rank's groups from their tags [ngroups] and the map in a phase of a cycle
 * (<physics/motion.h>). Replaces the previous tasks. away: bh_domain.away. counts: BH_PHASE_TASKS. Particles, groups
 * and tags stay borrowed; local tasks get their results in place. Collective. These three functions take and return
 * this rank's code: a rank that has failed continues, and all other ranks learn of it with the data or at the end of
 * the step. */
int bh_tasks_send(bh_tasks *tasks, bh_messengers *messengers, const eqp_exchange_plan *plan,
                  const bh_particles *particles, int64_t ngroups, const bh_group *group, const int64_t *tag, bool away,
                  const eqp_map *map, int phase, int code, eqp_route_counts *counts);

/* Prepares the return of results and makes room for them, if any rank has sent tasks. Collective. */
int bh_tasks_expect(bh_tasks *tasks, const eqp_exchange_plan *plan, int code);

/* Returns the results to their homes, where they are added to the group's forces, or set if the home has computed
 * nothing of the group. counts: BH_PHASE_FORCES. Collective. */
int bh_tasks_return(const bh_tasks *tasks, bh_particles *particles, int code, eqp_route_counts *counts);

#endif
