/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of a segment, the time they take, and the owner whose work they are. */
#ifndef DD_ACCOUNTS_H
#define DD_ACCOUNTS_H

#include "evaluate.h"

/* Segments timed together: reading the clock takes the time of a few pairs. */
#define DD_BATCH_TARGETS 32

/* Work timed in batches. */
typedef struct dd_batches {
    dd_evaluator *evaluator;
    eqp_route *travelling; /* data that travel meanwhile; NULL: none */
    double begin;          /* of the batch */
    dd_counts batch;
    int64_t in_batch; /* segments */
} dd_batches;

/* Time from here on counts as load. Local. */
void dd_batches_begin(dd_batches *batches);
/* Records the batch as a timing, unless it is empty, and begins the next one. EQP_OK, EQP_ERR_MEMORY or a code of the
 * route. Local. */
int dd_batches_end(dd_batches *batches);
/* Adds work to the batch and ends it once it is large enough. EQP_ERR_STOPPED after a signal, else as dd_batches_end().
 */
int dd_batches_add(dd_batches *batches, const dd_counts *counts);

/* Books work on a local segment to the accounts of the map and of its owner, whichever rank has done it. target: NULL
 * for an own segment. Local. */
void dd_account(dd_evaluator *evaluator, const dd_stage *stage, int64_t local, const dd_target *target,
                const dd_counts *counts);

/* Adds the forces between the segment at a place of the columns and runs of other segments to the columns, and the
 * number of pairs to counts. Local. */
void dd_compute_pairs(const dd_evaluator *evaluator, const dd_columns *columns, int64_t place, int nruns,
                      const dd_run *runs, dd_counts *counts);

#endif
