/* SPDX-License-Identifier: BSD-3-Clause */
/* One force evaluation by the map: groups go out, essential trees come in while independent tasks are computed, then
 * the rest is computed and forces go home. */
#ifndef BH_EVALUATE_H
#define BH_EVALUATE_H

#include "../domain/domain.h"
#include "tasks.h"

#include "../../physics/force.h"
#include "../../physics/let.h"

#include <equipoise/more/loops.h>
#include <equipoise/survey.h>

/* ---- targets.c: this rank's particles in their groups, or copies of the active ones in groups of their own ---- */

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

/* ---- essential.c: the parts of other ranks' trees that groups and tiles computed here need ---- */

/* The home of a group sends this, once for all ranks that compute some of it, to the homes of all cells that the
 * group's walk opens and of all leaves with acting particles, except to a rank that computes all of it. Since every
 * rank has the map, the receiver knows which rank computes which tile and which cells that rank needs. */
typedef struct bh_request {
    int64_t tag;
    double lo[3], hi[3];
    double accel; /* last, since it is sent only if the opening criterion needs it */
} bh_request;

/* Bytes of a request: a multiple of 8. */
int64_t bh_request_bytes(const bh_mac *mac);

/* Blocks of other ranks' trees under way; see <physics/let.h>. */
typedef struct bh_fetch {
    bh_tree *tree;                    /* borrowed */
    struct bh_neighbours *neighbours; /* borrowed; NULL: all cells are here, or ranks share no memory */
    bh_parcels ghosts;
} bh_fetch;

/* Requests the cells that this rank's groups need, wherever they are computed, and answers other ranks' requests; the
 * answers are under way on return. For groups that this rank computes alone it requests absent cells only. Tasks with
 * `waits` false can be computed before the answers arrive. traffic: BH_PHASE_REQUESTS. code: of this rank so far.
 * Returns this rank's code, or that of all ranks if requests could not be sent. Must be finished in any case.
 * Collective. */
int bh_essential_start(bh_fetch *fetch, bh_tree *tree, bh_messengers *messengers, const eqp_exchange_plan *plan,
                       bh_tasks *tasks, const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic);

/* Waits for the answers, grafts them onto the tree and frees the fetch. mine: this rank's code so far; returns this
 * rank's code. traffic: BH_PHASE_GHOSTS; adds to cells and particles. Collective. */
int bh_essential_finish(bh_fetch *fetch, int mine, bh_traffic *traffic);

/* Both at once. code: of this rank so far; returns that of all ranks. Collective. */
int bh_essential_fetch(bh_tree *tree, bh_messengers *messengers, const eqp_exchange_plan *plan, bh_tasks *tasks,
                       const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic);

/* ---- evaluate.c, survey.c ---- */

/* The survey for the next map, filled while lists are walked for forces: each group's work, a sample of its tiles and,
 * for groups too heavy for one work unit, all tiles. Owners are groups, identified by key and part; the pin of a tile
 * is its opened cell. */

/* A group's work in one substep of each phase (<physics/motion.h>). */
typedef struct bh_turns {
    int n; /* eqp_survey_phases() */
    bh_counts of[BH_RUNGS_MAX];
} bh_turns;

/* Estimates the turns from the work for all targets, as if lists for fewer targets were as long. */
void bh_survey_turns(const eqp_survey *owners, const bh_task *task, const bh_counts *all, bh_turns *turns);

/* Adds a task from its list, which was walked without keep(). */
int bh_survey_whole(eqp_survey *owners, const bh_task *task, const bh_tree *tree, const bh_list *list,
                    const bh_turns *turns);

/* Adds this rank's share of a task, from the list of its tiles. */
int bh_survey_share(eqp_survey *owners, const bh_task *task, const bh_tree *tree, const bh_list *list,
                    const bh_turns *turns);

/* Adds a group without work, for methods that need no weights. */
int bh_survey_add_group(eqp_survey *owners, const bh_group *group, int64_t tag, int64_t label, int home,
                        int64_t at_home);

/* Hands tasks out while they are computed: see below. */
typedef struct bh_stealing bh_stealing;

typedef struct bh_evaluator {
    bh_mac mac;
    double eps;
    bh_kernel *kernel;      /* owned */
    eqp_exchange_plan plan; /* of all exchanges; eqp_route_fit() accepts it */
    eqp_timings *timings;   /* gets samples for the cost model; NULL: none (borrowed) */
    bh_stealing *stealing;  /* NULL: every rank computes its own tasks. Borrowed; the same on all ranks */
} bh_evaluator;

typedef struct bh_handed {
    int64_t helped;     /* tasks of other ranks computed here */
    int64_t bytes_sent; /* for bundles of its own tasks and results for other ranks */
} bh_handed;

typedef struct bh_evaluated {
    double seconds;                    /* CPU seconds of this rank in walking and forces: its load */
    double all_seconds;                /* CPU seconds with the exchange */
    bh_counts counts;                  /* of work on this rank */
    bh_counts early;                   /* the part during the exchange of essential trees */
    int64_t targets;                   /* of this work */
    int64_t ghosts;                    /* cells and particles from other ranks */
    bh_handed handed;                  /* zeros without stealing */
    eqp_route_counts phase[BH_PHASES]; /* sent and received by this rank */
} bh_evaluated;

/* kernel, precision: see bh_kernel_create(), whose codes it returns. The plan is EQP_EXCHANGE_PLAN_DEFAULTS. */
int bh_evaluator_create(const bh_mac *mac, double eps, const char *kernel, bh_precision precision,
                        bh_evaluator *evaluator);
void bh_evaluator_free(bh_evaluator *evaluator);

/* Forces on all particles that are active in a phase (<physics/motion.h>); the rest keep theirs. Groups contain active
 * particles only, see bh_targets. survey: filled meanwhile, or NULL; NULL in phases beyond 0. code: of this rank so
 * far; returns this rank's code. EQP_ERR_ARGUMENT for a survey while tasks are handed out, since surveys do not follow
 * tasks to other ranks. Collective. */
int bh_evaluate(bh_evaluator *evaluator, bh_domain *domain, const eqp_map *map, eqp_survey *survey, int phase, int code,
                bh_evaluated *result);

/* Fills a survey without computing forces. The tree must have the result of bh_essential_fetch() for these tasks.
 * Local. */
int bh_evaluate_survey(bh_evaluator *evaluator, const bh_tree *tree, const eqp_map *map, int rank, bh_tasks *tasks,
                       eqp_survey *survey);

/* Samples costs: computes and discards forces for `runs` runs of neighbouring groups, spread over the tasks; their
 * essential trees must be here. Runs, because a group finds in the cache what its predecessor used. Local. */
int bh_evaluate_sample(bh_evaluator *evaluator, const bh_tree *tree, const eqp_map *map, int rank, bh_tasks *tasks,
                       int64_t runs, eqp_timings *timings);

/* ---- force_loop.c: a loop over tasks: lists, forces, surveys, and their costs; shared by evaluate.c and stealing.c
 * ---- Communicates only to let a fetch progress. */

/* Set what is borrowed and zero the rest. */
typedef struct bh_force_loop {
    bh_evaluator *evaluator;
    const bh_tree *tree;
    const eqp_map *map;
    int rank;
    bh_tasks *tasks;
    eqp_survey *survey;   /* filled; or NULL */
    bool forces;          /* else lists only */
    double *scratch;      /* takes unused forces in place of the targets; or NULL */
    bh_fetch *fetch;      /* progresses meanwhile; or NULL */
    eqp_timings *timings; /* gets samples for the cost model; or NULL */
    /* Results: */
    double seconds; /* CPU seconds in lists and forces */
    bh_counts counts;
    bh_counts early; /* the part while a fetch was under way */
    int64_t targets;
    /* Scratch: */
    bh_list list, turn;
    bh_counts batch; /* of the sample at hand */
    double batch_seconds;
} bh_force_loop;

void bh_force_loop_free(bh_force_loop *loop);

/* List, survey and forces of one task, not timed. */
int bh_force_loop_task(bh_force_loop *loop, int64_t w);

/* List and forces of a group as rank `rank` would compute them, untimed. */
int bh_force_loop_group(bh_force_loop *loop, const bh_group *group, int64_t tag, int rank,
                        const bh_task_targets *targets);

/* All tasks, tasks that need nothing from other ranks, or tasks that wait. */
typedef enum bh_selection { BH_ALL_TASKS, BH_READY_TASKS, BH_WAITING_TASKS } bh_selection;

/* Runs the selected tasks from first to last - 1, timed in batches; ends the last batch. */
int bh_force_loop_run(bh_force_loop *loop, int64_t first, int64_t last, bh_selection selected);

/* Adds the CPU time since `start` to the present sample, which ends if it is large enough; bh_force_loop_end_sample()
 * ends it in any case. */
int bh_force_loop_add_time(bh_force_loop *loop, double start);
int bh_force_loop_end_sample(bh_force_loop *loop);

/* Tasks handed out within an evaluation by a method of <equipoise/schedule.h>. A rank begins with its own tasks; an
 * idle rank gets bundles (<physics/let.h>) from the rank with most, and returns the forces. Forces have the same
 * bits on any rank: a list follows from its group and the particles, and its sums from the list. */

/* Duplicates comm. method: the same on all ranks (borrowed). rules: copied; NULL: the defaults. Collective; fails on
 * all ranks or on none, as eqp_loop_create(). */
int bh_stealing_create(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules,
                       bh_stealing **stealing);

/* stealing: NULL allowed on all ranks. Collective. */
void bh_stealing_free(bh_stealing *stealing);

/* Computes all tasks of a force loop, here or on other ranks. Their essential trees must be here and their results have
 * room. All work on this rank counts in its own loop. Bundles add cells to the tree, which is the loop's; traffic: adds
 * to cells and particles. comm: as the stealing's. Collective: returns the code of the lowest rank that has failed.
 * EQP_ERR_FORMAT for bundles or results that do not fit. */
int bh_stealing_run(bh_stealing *stealing, MPI_Comm comm, bh_force_loop *forces, bh_tree *tree, bh_traffic *traffic,
                    bh_handed *handed);

#endif
