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
    eqp_loop
        *loop; /* distributes pairs within a step (see stealing.h); NULL: pairs are computed by the map (borrowed) */
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

#endif
