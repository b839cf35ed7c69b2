/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/whatif.h
 * \brief Exchange plans and evaluations: the parts that need each block, its route, and the cost of the exchange. No
 * MPI.
 *
 * Data go *out*, from the home of a block to all parts that need it, or come *back*, from all contributing parts to the
 * home, which adds up the contributions. Data that come back take the outward routes in reverse and are added up where
 * two routes meet. At each stage a block travels once for all parts behind the same next stop. With shared memory, part
 * p is lane p mod R of node p / R, every lane is a separate network, and a block travels in the lane of its home to the
 * nodes of the parts that need it. A block is hot by its number of parts, not of nodes. Plans: problem.h.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_WHATIF_H
#define EQUIPOISE_MORE_WHATIF_H

#include <equipoise/problem.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Buffer size for the name of any plan. */
#define EQP_EXCHANGE_NAME_SIZE 48

/** Writes `direct`, `two-stage` or `log`, followed by `+broadcast/D` and `+node/R` if they apply. Local. */
void eqp_exchange_plan_name(const eqp_exchange_plan *plan, char name[EQP_EXCHANGE_NAME_SIZE]);

/** Parses such a name. Local.
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_UNKNOWN with *plan unchanged */
int eqp_exchange_plan_parse(const char *name, eqp_exchange_plan *plan);

/** \param[in]  nparts   1 to 65,536
 * \param[in]  nphases  0 to EQP_PHASES_MAX
 * \param[in]  back     [nphases] 0: out, 1: back (copied)
 * \param[in]  ghosts   [nphases] nonzero if outgoing blocks of the phase count as ghosts (copied)
 * \param[out] evaluation  owned by the caller; eqp_evaluation_free() */
int eqp_evaluation_create(int nparts, int nphases, const int *back, const int *ghosts, eqp_evaluation **evaluation);

/** Frees; NULL is legal. */
void eqp_evaluation_free(eqp_evaluation *evaluation);

/** Sets the memory model and the capacities of the parts; default none. Not packed. Local, O(nparts).
 * \param[in] memory    (copied); NULL: none
 * \param[in] capacity  [nparts] bytes of each part, finite, > 0 (copied); NULL: unknown
 * \param[in] of_mean   capacity of every part as a multiple of the mean need, finite, > 0; 0: not used. Must be 0 with
 *                      `capacity`
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for numbers out of their range, EQP_ERR_MEMORY; unchanged on error */
int eqp_evaluation_memory(eqp_evaluation *evaluation, const eqp_memory *memory, const double *capacity, double of_mean);

/** Evaluates a cycle of phases, given an evaluation of one turn of each; all parts wait for each other at the end of
 * every turn. All phases use the same plan. Local.
 * \param[in]     nphases     >= 1
 * \param[in]     times       [nphases] number of times each phase occurs in a cycle, finite, > 0 (borrowed)
 * \param[in,out] evaluation  [nphases] with the same number of parts; sorted if necessary
 * \param[in]     network     message costs
 * \param[in]     plan        the plan; NULL: the plan with the shortest cycle
 * \param[out]    turn        [nphases] one turn of each; NULL: not needed
 * \param[out]    result      the cycle: seconds, loads, ghosts_total and bytes_total are sums over its turns (load_max:
 *                            of the largest load in each), and imbalance follows from them; ghosts_max,
 *                            neighbours_max, messages_max, bytes_max and the memory members are the largest of a turn
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_UNKNOWN for a needed block that nobody declared, EQP_ERR_OVERFLOW
 *         for sums that overflow */
int eqp_evaluation_cycle(int nphases, const double *times, eqp_evaluation *const *evaluation,
                         const eqp_network *network, const eqp_exchange_plan *plan, eqp_evaluated *turn,
                         eqp_evaluated *result);

#ifdef __cplusplus
}
#endif
#endif
