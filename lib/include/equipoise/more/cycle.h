/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/cycle.h
 * \brief Several loads per item: a cycle of phases, each of which all parts end together. Pure, no MPI.
 *
 * A *phase* is a substep of block time steps, or a kernel of a step: an item has a load in each. Phase k comes
 * `times[k]` times in a cycle. All parts wait for the slowest in every phase, so one number for each part, its load
 * over the whole cycle, says little: parts that are even in it may be uneven in every phase. Relative loads and
 * imbalances are those of more/assign.h.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_CYCLE_H
#define EQUIPOISE_MORE_CYCLE_H

#include <equipoise/problem.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Measures the cycle of parts whose loads are known. Local, O(nparts x nphases), deterministic.
 * \param[in]  nparts   >= 1
 * \param[in]  load     [nparts][nphases] of each part in each phase, finite, >= 0 (borrowed)
 * \param[in]  nphases  1 to EQP_CYCLE_PHASES
 * \param[in]  times    [nphases] how often each comes in a cycle, finite, > 0; NULL: once (borrowed)
 * \param[in]  share    [nparts] as in eqp_cuts_from_shares(), or NULL: equal (borrowed)
 * \param[out] cycle    unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_OVERFLOW for loads whose sum is not finite */
int eqp_cycle_of_parts(int nparts, const double *load, int nphases, const double *times, const double *share,
                       eqp_cycle *cycle);

/** Measures the cycle of an assignment. Local, O((n + nparts) x nphases), deterministic.
 * \param[in]  n          number of items, >= 0
 * \param[in]  load       [n][nphases] of each item in each phase, finite, >= 0 (borrowed)
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
