/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of a segment, the time that they take, and whose work they are. */
#ifndef DD_ACCOUNTS_H
#define DD_ACCOUNTS_H

#include "evaluate.h"

/* So many segments are timed together: reading the clock costs as much as some pairs. */
#define DD_BATCH_TARGETS 32

/* Batches of work, while they are timed. */
typedef struct dd_batches {
    dd_evaluator *evaluator;
    eqp_route *travelling; /* what is on its way meanwhile; NULL: nothing */
    double begin;          /* of the batch */
    dd_counts batch;
    int64_t in_batch; /* segments */
} dd_batches;

/* Time from here on counts as load. Local. */
void dd_batches_begin(dd_batches *batches);
/* What was done since is a timing, if it was anything; the next batch begins. EQP_OK, EQP_ERR_MEMORY or what the route
 * says. Local. */
int dd_batches_end(dd_batches *batches);
/* More work in this batch, which ends once it is large enough. EQP_ERR_STOPPED after a signal, else as
 * dd_batches_end().
 */
int dd_batches_add(dd_batches *batches, const dd_counts *counts);

/* Work on a local segment to the accounts of the map and of its owner, whoever has done it. target: NULL for an own
 * segment. Local. */
void dd_account(dd_evaluator *evaluator, const dd_stage *stage, int64_t local, const dd_target *target,
                const dd_counts *counts);

/* Adds the forces between the segment at a place of the columns and runs of others to the columns, and what was
 * computed to counts. Local. */
void dd_compute_pairs(const dd_evaluator *evaluator, const dd_columns *columns, int64_t place, int nruns,
                      const dd_run *runs, dd_counts *counts);

#endif
