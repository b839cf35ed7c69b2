/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs handed out during an evaluation, on top of any map. A rank computes its pairs by the map; ranks that finish
 * early take iterations that other ranks have not begun, with the segments these need. */
#ifndef DD_STEALING_H
#define DD_STEALING_H

#include "../stage/stage.h"

#include "evaluate.h"

#include <equipoise/more/loops.h>

/* A loop for dd_evaluator::loop that learns the ranks' speeds. rules: copied; NULL: the defaults. Collective. */
int dd_loop_create(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules,
                   eqp_loop **loop);

/* Computes all pairs by the evaluator's loop. Remote segments must be complete. For the same ranks and map, forces have
 * the same bits whichever rank computes which pairs. Time and work are booked where pairs are computed, owners'
 * accounts at the owners; sets evaluator->helped. computed: this rank's code so far. The same code on all ranks.
 * Collective. */
int dd_hand_out(dd_batches *batches, const dd_domain *domain, dd_stage *stage, int computed);

/* ---- A rank's pairs, cut into iterations that can be handed out: consecutive targets with all of their pairs computed
 * here. Forces are added in the order of the list, so sums do not depend on the rank that computes an iteration. */

/* Most targets of an iteration, and pairs after which it is closed: about half a millisecond between two polls for
 * messages. Targets of two cells share an iteration only if one cell has fewer than half of these targets. */
#define DD_ITERATION_TARGETS 32
#define DD_ITERATION_PAIRS (INT64_C(1) << 14)

typedef struct dd_iteration {
    int64_t target, ntargets; /* in the stage's list */
    int64_t cell;             /* of the first target */
    int64_t touch, ntouches;  /* runs of segments that get forces, in the list of all touched runs */
    int64_t touched;          /* segments in these runs */
} dd_iteration;

typedef struct dd_iterations {
    int64_t n, room;
    dd_iteration *of; /* [n] by targets; owned */
    int64_t ntouches, touch_room;
    dd_run *touch; /* [ntouches] ascending within an iteration, with gaps; owned */
} dd_iterations;

/* Lists all targets that have pairs. Reads only the plan of the stage. O(targets + cells). EQP_OK or EQP_ERR_MEMORY.
 * Local. */
int dd_iterations_list(const dd_stage *stage, dd_iterations *list);
void dd_iterations_free(dd_iterations *list);

/* The runs of a target. *cell: in, the cell of an earlier target or of this one; out, of this one. Returns the number
 * of runs. Local. */
int dd_iteration_runs(const dd_stage *stage, const dd_target *target, int64_t *cell, dd_run runs[DD_GRID_SOURCES]);

/* Adds a run to a list [*n] of ascending runs with gaps between them. EQP_OK or EQP_ERR_MEMORY. Amortised O(runs).
 * Local. */
int dd_runs_add(dd_run **runs, int64_t *n, int64_t *room, dd_run run);

/* Index of a segment within the runs; -1: in none. O(n). Local. */
int64_t dd_runs_place(const dd_run *runs, int64_t n, int64_t local);

/* ---- Iterations sent to another rank, and their forces sent back. A bundle: its numbers of segments and rows (int64);
 * the nine columns of all touched segments, each once, in order; then rows (first, number) of int64. Rows of an
 * iteration: its numbers of targets and of touched runs, the touched runs, and for each target its place, its number of
 * runs, and the runs. Places index the columns. An answer: for each iteration the six columns of forces on its touched
 * segments, then the numbers of pairs, parallel pairs and runs (int64) of each target. */

/* Packs iterations [first, first + n) of a list, n > 0. *data: owned by the caller, free(); unchanged on error. EQP_OK
 * or EQP_ERR_MEMORY. Local. */
int dd_bundle_pack(const dd_stage *stage, const dd_iterations *list, int64_t first, int64_t n, void **data,
                   size_t *bytes);

/* Computes all iterations of a bundle; time and work go into the batches. The answer has the bits that its owner would
 * have computed. *answer: owned by the caller, free(); unchanged on error. EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_bundle_compute(dd_batches *batches, const void *data, void **answer, size_t *answer_bytes);

/* Bytes of an iteration in an answer: forces only, and in total. Local. */
size_t dd_answer_force_bytes(const dd_iteration *iteration);
size_t dd_answer_bytes(const dd_iteration *iteration);

/* Adds the counts of a target from an iteration's part of an answer. Local. */
void dd_answer_counts(const dd_iteration *iteration, const void *part, int64_t target, dd_counts *counts);

#endif
