/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/feedback_run.h
 * \brief Feedback-guided balancing of MPI ranks: each rank passes its measured load and gets a new range and its data.
 * more/feedback.h describes the method and its stopping rules.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_FEEDBACK_RUN_H
#define EQUIPOISE_MORE_FEEDBACK_RUN_H

#include <equipoise/error.h>
#include <equipoise/more/feedback.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A rank's range and the state of its stopping rule. Plain data of one rank; the ranges of all ranks are contiguous in
 * rank order. */
typedef struct eqp_feedback_share {
    int64_t low;              /**< its first iteration */
    int64_t high;             /**< one past its last */
    eqp_feedback_state state; /**< the same on all ranks */
    int64_t best_low;         /**< first iteration of its range at the best balance so far */
    int64_t best_high;        /**< end of that range */
} eqp_feedback_share;

/** Starts with equal ranges, as from eqp_feedback_start(). Collective, fails on all ranks or on none.
 * \param[in]  n        iterations, the same on all ranks
 * \param[in]  options  the same on all ranks (borrowed)
 * \param[out] share    this rank's; unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_MPI, EQP_ERR_ARGUMENT for iterations or options that are invalid or differ
 *         between ranks */
int eqp_feedback_share_init(MPI_Comm comm, int64_t n, const eqp_feedback_options *options, eqp_feedback_share *share);

/** Records the measured costs of the ranges and, if the rule says so, moves boundaries and data: one step.
 * Communication is a reduction and an allgather. Each new boundary goes from the rank whose range holds it to the two
 * ranks that it divides, and data go directly from rank to rank. If the guarded rule detects oscillation or has taken
 * its last step, the ranges return to the best ones so far. Collective, fails on all ranks or on none.
 *
 * Call it after every step of the program until the verdict is not EQP_FEEDBACK_GO_ON.
 * \param[in]     load       cost of this rank's range, >= 0; without iterations it counts as 0
 * \param[in]     item_size  bytes of one iteration's data, the same on all ranks; 0: no data
 * \param[in,out] data       address of a pointer to [high - low] items, which is freed and replaced by a new array
 *                           (malloc) if the range changes; NULL if item_size is 0
 * \param[in,out] share      gets the new range; unchanged on error, as are the data. The state must be the same on all
 *                           ranks; present ranges must be contiguous in rank order, and so must best ranges
 * \param[out]    verdict    EQP_FEEDBACK_GO_ON if a step was taken, else the reason to stop; the same on all ranks
 * \return EQP_OK, EQP_ERR_ARGUMENT also if ranks differ, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW for a total load beyond 64
 *         bits, EQP_ERR_MPI; on all ranks */
int eqp_feedback_balance(MPI_Comm comm, int64_t load, size_t item_size, void *data, eqp_feedback_share *share,
                         enum eqp_feedback_verdict *verdict);

#ifdef __cplusplus
}
#endif
#endif
