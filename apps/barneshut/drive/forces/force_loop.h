/* SPDX-License-Identifier: BSD-3-Clause */
/* One pass over tasks: lists, forces, surveys, and what they cost. Between evaluate.c and stealing.c; nothing here
 * communicates, but that what is under way is moved on. */
#ifndef BH_FORCE_LOOP_H
#define BH_FORCE_LOOP_H

#include "evaluate.h"

/* Set what is borrowed, the rest is zero; bh_force_loop_free() frees. */
typedef struct bh_force_loop {
    bh_evaluator *evaluator;
    const bh_tree *tree;
    const eqp_map *map;
    int rank;
    bh_tasks *tasks;
    bh_survey survey;     /* its owners may be NULL: none is filled */
    bool forces;          /* else lists only */
    double *scratch;      /* where forces that nobody wants go, instead of to the targets; or NULL */
    bh_fetch *fetch;      /* what is under way meanwhile; or NULL */
    eqp_timings *timings; /* gets samples for the cost model; or NULL */
    /* What has been done: */
    double seconds; /* CPU seconds in lists and forces */
    bh_counts counts;
    bh_counts early; /* of them, while something was under way */
    int64_t targets;
    /* Scratch: */
    bh_list list, turn;
    bh_counts batch; /* of the sample at hand */
    double batch_seconds;
} bh_force_loop;

void bh_force_loop_free(bh_force_loop *pass);

/* List, survey and forces of one work, not timed. */
int bh_force_loop_task(bh_force_loop *pass, int64_t w);

/* List and forces of a group as a rank `rank` that has it would compute them, not timed, whoever looks on. */
int bh_force_loop_group(bh_force_loop *pass, const bh_group *group, int64_t tag, int rank,
                        const bh_task_targets *targets);

/* Which tasks: all, those that have all they need before anything has arrived, or the others. */
typedef enum bh_selection { BH_ALL_TASKS, BH_READY_TASKS, BH_WAITING_TASKS } bh_selection;

/* The tasks first to last - 1 that are selected, timed in batches; ends the last one. */
int bh_force_loop_run(bh_force_loop *pass, int64_t first, int64_t last, bh_selection selected);

/* What was done since the clock of eqp_cpu_seconds() said `start` belongs to the sample at hand, which ends where it is
 * large enough; bh_force_loop_end_sample() ends it in any case. */
int bh_force_loop_add_time(bh_force_loop *pass, double start);
int bh_force_loop_end_sample(bh_force_loop *pass);

#endif
