/* SPDX-License-Identifier: BSD-3-Clause */
/* The pairs that a rank computes, cut into iterations that can be handed out: targets one after another, with all that
 * is computed of them here. Where what an iteration does to forces is added up, that is done in the order of
 * iterations, whoever has computed them: then sums do not depend on who did. */
#ifndef DD_ITERATIONS_H
#define DD_ITERATIONS_H

#include "stage.h"

/* At most so many targets, and none more when there are so many pairs: half a millisecond or so, after which others are
 * looked after. Targets of a cell are not mixed with others if there are half as many. */
#define DD_ITERATION_TARGETS 32
#define DD_ITERATION_PAIRS (INT64_C(1) << 14)

typedef struct dd_iteration {
    int64_t target, ntargets; /* places in the stage's list */
    int64_t cell;             /* of the first */
    int64_t touch, ntouches;  /* runs of segments on which it has forces: places in the list of all */
    int64_t touched;          /* segments in these */
} dd_iteration;

/* Zeroed: none. */
typedef struct dd_iterations {
    int64_t n, room;
    dd_iteration *of; /* [n] by targets; owned */
    int64_t ntouches, touch_room;
    dd_run *touch; /* [ntouches] of an iteration: ascending, with gaps between them; owned */
} dd_iterations;

/* All targets that have pairs. Only the plan of the stage is read. O(targets + cells). EQP_OK or EQP_ERR_MEMORY.
 * Local. */
int dd_iterations_list(const dd_stage *stage, dd_iterations *list);
void dd_iterations_free(dd_iterations *list);

/* The runs of a target and, if *cell is that of the one before or an earlier one, its cell. Returns how many. Local. */
int dd_iteration_runs(const dd_stage *stage, const dd_target *target, int64_t *cell, dd_run runs[DD_GRID_SOURCES]);

/* Adds a run to ascending runs with gaps between them: one list [n], *n at first, with room. EQP_OK or EQP_ERR_MEMORY.
 * Amortised O(runs). Local. */
int dd_runs_add(dd_run **runs, int64_t *n, int64_t *room, dd_run run);

/* The place of a segment when only those in the runs are kept, one after another; -1: it is in none. O(n). Local. */
int64_t dd_runs_place(const dd_run *runs, int64_t n, int64_t local);

#endif
