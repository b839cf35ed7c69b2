/* SPDX-License-Identifier: BSD-3-Clause */
/* The pairs that a rank computes, cut into iterations that can be handed out: consecutive targets with all of their
 * pairs computed here. Forces of iterations are added in the order of the list, so that sums do not depend on the rank
 * that computes an iteration. */
#ifndef DD_ITERATIONS_H
#define DD_ITERATIONS_H

#include "../stage/stage.h"

/* Most targets of an iteration, and pairs after which it gets no more: half a millisecond or so between two looks at
 * messages. Targets of two cells share an iteration only if one has fewer than half of these targets. */
#define DD_ITERATION_TARGETS 32
#define DD_ITERATION_PAIRS (INT64_C(1) << 14)

typedef struct dd_iteration {
    int64_t target, ntargets; /* in the stage's list */
    int64_t cell;             /* of the first target */
    int64_t touch, ntouches;  /* runs of segments that get forces, in the list of all touched runs */
    int64_t touched;          /* segments in these runs */
} dd_iteration;

/* Zeroed: none. */
typedef struct dd_iterations {
    int64_t n, room;
    dd_iteration *of; /* [n] by targets; owned */
    int64_t ntouches, touch_room;
    dd_run *touch; /* [ntouches] those of an iteration ascend with gaps between them; owned */
} dd_iterations;

/* Lists all targets that have pairs. Reads only the plan of the stage. O(targets + cells). EQP_OK or EQP_ERR_MEMORY.
 * Local. */
int dd_iterations_list(const dd_stage *stage, dd_iterations *list);
void dd_iterations_free(dd_iterations *list);

/* The runs of a target. *cell: of an earlier target or this one; then of this one. Returns the number of runs. Local.
 */
int dd_iteration_runs(const dd_stage *stage, const dd_target *target, int64_t *cell, dd_run runs[DD_GRID_SOURCES]);

/* Adds a run to a list [*n] of ascending runs with gaps between them. EQP_OK or EQP_ERR_MEMORY. Amortised O(runs).
 * Local. */
int dd_runs_add(dd_run **runs, int64_t *n, int64_t *room, dd_run run);

/* The index of a segment among the segments in the runs; -1: in none. O(n). Local. */
int64_t dd_runs_place(const dd_run *runs, int64_t n, int64_t local);

#endif
