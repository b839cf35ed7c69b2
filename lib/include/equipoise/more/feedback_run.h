/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/feedback_run.h
 * \brief Feedback-guided balancing of MPI ranks: the measured load of each rank in, new ranges and their data out. The
 * method and its rules are those of more/feedback.h.
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

/** What a rank holds, and what it remembers. Plain data of one rank; the ranges of all ranks lie one behind the other.
 */
typedef struct eqp_feedback_share {
    int64_t low;              /**< its first iteration */
    int64_t high;             /**< the one after its last */
    eqp_feedback_state state; /**< the same on all ranks */
    int64_t best_low;         /**< the range with the best balance so far */
    int64_t best_high;        /**< and its end */
} eqp_feedback_share;

/** Equal ranges to begin with, as eqp_feedback_start() makes them. Collective, fails on all ranks or on none.
 * \param[in]  n        iterations, the same on all ranks
 * \param[in]  options  the same on all ranks (borrowed)
 * \param[out] share    this rank's; unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_MPI, EQP_ERR_ARGUMENT for iterations or options that are none or that the
 *         ranks differ in */
int eqp_feedback_share_init(MPI_Comm comm, int64_t n, const eqp_feedback_options *options, eqp_feedback_share *share);

/** Takes in what the ranges have cost and, if the rule says so, moves their boundaries and data: one step. A reduction
 * and an allgather; each new boundary goes from the rank in whose range it lies to the two ranks that it divides, data
 * go from rank to rank directly, as many bytes as there are. Where the guarded rule finds that the loads swing, or has
 * taken its last step, it goes back to the ranges that were best. Collective, fails on all ranks or on none.
 *
 * Call it after every step of the program, and no longer once the verdict is not EQP_FEEDBACK_GO_ON.
 * \param[in]     load       what this rank's range has cost, >= 0; without iterations it counts as 0
 * \param[in]     item_size  bytes of one iteration's data, the same on all ranks; 0: there are none
 * \param[in,out] data       address of a pointer to [high - low] items, which is freed and replaced by a new array
 *                           (malloc) if the range changes; NULL if item_size is 0
 * \param[in,out] share      its range is the new one; unchanged on error, as are the data. The state is the same on all
 *                           ranks; the ranges lie one behind the other, and those at their best too
 * \param[out]    verdict    whether a step was taken, or why not; the same on all ranks
 * \return EQP_OK, EQP_ERR_ARGUMENT also where ranks differ, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW for a total load beyond 64
 *         bits, EQP_ERR_MPI; on all ranks */
int eqp_feedback_balance(MPI_Comm comm, int64_t load, size_t item_size, void *data, eqp_feedback_share *share,
                         enum eqp_feedback_verdict *verdict);

#ifdef __cplusplus
}
#endif
#endif
