/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterations on their way to a rank that computes them for another one, and what they do to forces on the way back.
 *
 * A bundle: how many segments, iterations, touched runs, targets and runs it has (int64); the nine columns of all
 * segments that its iterations touch, each once, in their order; then pairs of int32: for each iteration how many
 * targets and touched runs are its; the touched runs; for each target its place and how many runs are its; the runs.
 * Places are those in the columns, runs are (first, number).
 * An answer: for each iteration the six columns of forces on what it touches, then pairs, parallel pairs and runs
 * (int64) of each of its targets. */
#ifndef DD_BUNDLE_H
#define DD_BUNDLE_H

#include "accounts.h"
#include "stage/iterations.h"

/* Packs iterations [first, first + n) of a list, n > 0. *data: owned by the caller, free(); unchanged on error. EQP_OK,
 * EQP_ERR_MEMORY, or EQP_ERR_OVERFLOW for 2^31 of anything. Local. */
int dd_bundle_pack(const dd_stage *stage, const dd_iterations *list, int64_t first, int64_t n, void **data,
                   size_t *bytes);

/* Computes all iterations of a bundle; time and work are those of the batches. The bits of the answer follow from the
 * bundle and the kernel alone, and are those that the owner would have computed. *answer: owned by the caller, free();
 * unchanged on error. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_FORMAT where the bytes are no bundle. Local. */
int dd_bundle_compute(dd_batches *batches, const void *data, size_t bytes, void **answer, size_t *answer_bytes);

/* What an iteration takes of an answer: forces, and all. Local. */
size_t dd_answer_force_bytes(const dd_iteration *iteration);
size_t dd_answer_bytes(const dd_iteration *iteration);

/* Counts of a target of an iteration, whose part of an answer this is. EQP_OK, or EQP_ERR_FORMAT where they are
 * negative. Local. */
int dd_answer_counts(const dd_iteration *iteration, const void *part, int64_t target, dd_counts *counts);

#endif
