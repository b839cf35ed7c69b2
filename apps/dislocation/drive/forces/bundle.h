/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterations on their way to a rank that computes them for another, and the forces on the way back. A bundle: the
 * numbers of segments, iterations, touched runs, targets and runs (int64); the nine columns of all segments that its
 * iterations touch, each segment once, in order; then pairs of int32: for each iteration its numbers of targets and
 * touched runs; the touched runs; for each target its place and its number of runs; the runs. Places index the columns,
 * runs are (first, number). An answer: for each iteration the six columns of forces on the segments it touches, then
 * the numbers of pairs, parallel pairs and runs (int64) of each target. */
#ifndef DD_BUNDLE_H
#define DD_BUNDLE_H

#include "accounts.h"
#include "iterations.h"

/* Packs iterations [first, first + n) of a list, n > 0. *data: owned by the caller, free(); unchanged on error. EQP_OK,
 * EQP_ERR_MEMORY, or EQP_ERR_OVERFLOW for 2^31 of anything. Local. */
int dd_bundle_pack(const dd_stage *stage, const dd_iterations *list, int64_t first, int64_t n, void **data,
                   size_t *bytes);

/* Computes all iterations of a bundle; time and work go into the batches. The answer has the bits that its owner would
 * have computed. *answer: owned by the caller, free(); unchanged on error. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_FORMAT if
 * the sizes do not match the bytes. Local. */
int dd_bundle_compute(dd_batches *batches, const void *data, size_t bytes, void **answer, size_t *answer_bytes);

/* Bytes of an iteration in an answer: of its forces, and in total. Local. */
size_t dd_answer_force_bytes(const dd_iteration *iteration);
size_t dd_answer_bytes(const dd_iteration *iteration);

/* Counts of a target from an iteration's part of an answer. EQP_OK, or EQP_ERR_FORMAT if they are negative. Local. */
int dd_answer_counts(const dd_iteration *iteration, const void *part, int64_t target, dd_counts *counts);

#endif
