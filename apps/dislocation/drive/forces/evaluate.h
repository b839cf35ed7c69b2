/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces on all nodes. The rank that the map assigns computes every pair of near segments once; self forces, applied
 * stress and far field are computed at the segments' homes. */
#ifndef DD_EVALUATE_H
#define DD_EVALUATE_H

#include "../../physics/elastic/pairs.h"
#include "../stage/stage.h"

#include <equipoise/more/loops.h>

/* Kinds of work, as in the report. */
enum {
    DD_KIND_PAIR,     /* general pair of segments */
    DD_KIND_PARALLEL, /* near-parallel pair */
    DD_KIND_RUN,      /* kernel call for a run of segments */
    DD_KIND_SEGMENT,  /* self force, applied and far stress on one segment */
    DD_KIND_CELL,     /* far field of one cell: see far/waves.h */
    DD_KINDS
};
extern const char *const dd_kind_names[DD_KINDS];
extern const double dd_kind_nominal[DD_KINDS]; /* CPU seconds each; only ratios matter */

typedef struct dd_counts {
    int64_t of[DD_KINDS];
} dd_counts;
void dd_counts_add(dd_counts *sum, const dd_counts *counts);

/* Data that travel in an evaluation. */
enum {
    DD_PHASE_NODES,    /* positions of neighbours */
    DD_PHASE_SEGMENTS, /* ends of segments */
    DD_PHASE_MOMENTS,  /* of cells, to the ranks that transform them */
    DD_PHASE_COLUMNS,  /* of wave numbers, to the ranks that multiply them with kernels */
    DD_PHASE_PLANES,   /* the products, back */
    DD_PHASE_FIELDS,   /* local expansions, to the ranks with segments in the cells */
    DD_PHASE_FORCES,   /* forces on segments, back */
    DD_PHASE_ARMS,     /* forces on ends that live elsewhere */
    DD_PHASES
};

typedef struct dd_evaluator {
    dd_medium medium;
    dd_pairs_fn pairs;
    double stress[6]; /* applied: xx yy zz yz zx xy */
    dd_waves *waves;  /* for the grid of the last evaluation; NULL before it, and if nothing is far */
    eqp_loop *loop;   /* distributes pairs within a step (see dd_loop_create()); NULL: pairs are computed by the map
                         (borrowed) */
    /* of the last evaluation */
    dd_counts total;    /* on this rank */
    dd_counts mapped;   /* work that the map assigns to this rank, wherever it was computed */
    dd_counts *of_node; /* [of_nodes] work on this rank for each own node; owned */
    int64_t of_nodes, node_room;
    dd_counts *of_share; /* [of_shares] work on this rank for each of the stage's shares of remote nodes; owned */
    int64_t of_shares, share_room;
    double seconds;                      /* CPU seconds in forces on this rank */
    int64_t helped;                      /* iterations of other ranks computed here */
    double exchange_seconds;             /* CPU seconds in sending and receiving, waiting included */
    int64_t bytes;                       /* sent by this rank */
    int64_t handed_bytes;                /* the part of bytes for pairs handed out; not in any phase */
    eqp_route_counts traffic[DD_PHASES]; /* of this rank */
    eqp_timings *timings;                /* batches of work of all evaluations since it was cleared; owned */
} dd_evaluator;

void dd_evaluator_init(dd_evaluator *evaluator, const dd_medium *medium, dd_pairs_fn pairs);
void dd_evaluator_free(dd_evaluator *evaluator);

/* Sets the forces on all arms of the own nodes at their present positions; refreshes halo and stage first. Work on own
 * segments alone overlaps with their exchange, other pairs with that of moments, as do all pairs if they are handed
 * out. The order of all sums depends only on ranks, map and plan. code: of this rank so far; all ranks return the code
 * of a rank that failed. Collective. */
int dd_evaluate(dd_evaluator *evaluator, dd_domain *domain, dd_halo *halo, dd_stage *stage, int code);

/* Adds the seconds of the far field, which no map assigns, to each part's, [nparts]. Local. */
void dd_evaluator_base(const dd_grid *grid, const eqp_cost_fit *costs, int nparts, double *seconds);

/* ---- Pairs of a segment, their time, and the owner to which they are booked. */

/* Segments timed together: reading the clock takes the time of a few pairs. */
#define DD_BATCH_TARGETS 32

typedef struct dd_batches {
    dd_evaluator *evaluator;
    eqp_route *travelling; /* data that travel meanwhile; NULL: none */
    double begin;          /* of the batch */
    dd_counts batch;
    int64_t in_batch; /* segments */
} dd_batches;

/* Starts the clock of a batch. Local. */
void dd_batches_begin(dd_batches *batches);
/* Records the batch as a timing unless it is empty, and begins the next one. EQP_OK, EQP_ERR_MEMORY or a code of the
 * route. Local. */
int dd_batches_end(dd_batches *batches);
/* Adds work to the batch and ends it once it is large enough. EQP_ERR_STOPPED after a signal, else as dd_batches_end().
 */
int dd_batches_add(dd_batches *batches, const dd_counts *counts);

/* Books work on a local segment to the map's account and to its owner's, whichever rank computed it. target: NULL for
 * an own segment. Local. */
void dd_account(dd_evaluator *evaluator, const dd_stage *stage, int64_t local, const dd_target *target,
                const dd_counts *counts);

/* Adds to the columns the forces between the segment at a place and runs of other segments, and to counts the number of
 * pairs. Local. */
void dd_compute_pairs(const dd_evaluator *evaluator, const dd_columns *columns, int64_t place, int nruns,
                      const dd_run *runs, dd_counts *counts);

/* ---- Pairs handed out during an evaluation, on top of any map. A rank computes its pairs by the map; ranks that
 * finish early take iterations that other ranks have not begun, with the segments these need. */

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
