/* SPDX-License-Identifier: BSD-3-Clause */
/* One force evaluation by the map: groups go out, essential trees come in while independent tasks are computed, then
 * the rest is computed and forces go home. */
#ifndef BH_EVALUATE_H
#define BH_EVALUATE_H

#include "../domain/domain.h"
#include "essential.h"

#include "../../physics/force.h"

#include "../../physics/walk.h"
#include <equipoise/survey.h>

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

/* Hands tasks out while they are computed, see stealing.h. */
struct bh_stealing;

typedef struct bh_evaluator {
    bh_mac mac;
    double eps;
    bh_kernel *kernel;            /* owned */
    eqp_exchange_plan plan;       /* of all exchanges; eqp_route_fit() accepts it */
    eqp_timings *timings;         /* gets samples for the cost model; NULL: none (borrowed) */
    struct bh_stealing *stealing; /* NULL: every rank computes its own tasks. Borrowed; the same on all ranks */
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

#endif
