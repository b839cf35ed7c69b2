/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop over tasks: lists, forces, surveys, and their costs. Shared by evaluate.c and stealing.c; communicates only to
 * let a fetch progress. */
#ifndef BH_FORCE_LOOP_H
#define BH_FORCE_LOOP_H

#include "evaluate.h"

#include <equipoise/more/loops.h>

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
 * idle rank gets bundles (<physics/bundle.h>) from the rank with most, and returns the forces. Forces have the same
 * bits on any rank: a list follows from its group and the particles, and its sums from the list. */

/* A loop over tasks that learns from step to step. */
typedef struct bh_stealing bh_stealing;

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
