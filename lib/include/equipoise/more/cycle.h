/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/cycle.h
 * \brief Several loads per item: a cycle of phases, with a barrier after each. Pure, no MPI.
 *
 * A *phase* is a substep of block time steps, or a kernel of a step; an item has a load in each. Phase k occurs
 * `times[k]` times in a cycle. All parts wait for the slowest in every phase, so a part's load over the whole cycle
 * does not determine the waiting: parts with equal cycle loads may be uneven in every phase. more/assign.h defines
 * relative loads and imbalances.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_CYCLE_H
#define EQUIPOISE_MORE_CYCLE_H

#include <equipoise/problem.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Measures the cycle of parts from their loads. Local, O(nparts x nphases), deterministic.
 * \param[in]  nparts   >= 1
 * \param[in]  load     [nparts][nphases] load of each part in each phase, finite, >= 0 (borrowed)
 * \param[in]  nphases  1 to EQP_CYCLE_PHASES
 * \param[in]  times    [nphases] occurrences of each phase in a cycle, finite, > 0; NULL: once (borrowed)
 * \param[in]  share    [nparts] as in eqp_cuts_from_shares(), or NULL: equal (borrowed)
 * \param[out] cycle    unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_OVERFLOW for loads whose sum is not finite */
int eqp_cycle_of_parts(int nparts, const double *load, int nphases, const double *times, const double *share,
                       eqp_cycle *cycle);

/** Measures the cycle of an assignment. Local, O((n + nparts) x nphases), deterministic.
 * \param[in]  n          number of items, >= 0
 * \param[in]  load       [n][nphases] load of each item in each phase, finite, >= 0 (borrowed)
 * \param[in]  part       [n] 0 to nparts - 1 (borrowed)
 * \param[in]  nphases,times,nparts,share  as in eqp_cycle_of_parts()
 * \param[out] part_load  [nparts][nphases] load of each part in each phase; may be NULL; unchanged on error
 * \param[out] cycle      unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT or EQP_ERR_OVERFLOW */
int eqp_cycle_measure(int64_t n, const double *load, const int *part, int nphases, const double *times, int nparts,
                      const double *share, double *part_load, eqp_cycle *cycle);

#ifdef __cplusplus
}
#endif
#endif
