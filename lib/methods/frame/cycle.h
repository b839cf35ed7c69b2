/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_CYCLE_H
#define EQUIPOISE_METHODS_FRAME_CYCLE_H

#include <equipoise/problem.h>

#include <stdint.h>

/** Measures the cycle of parts from their loads. Local, O(nparts x nphases), deterministic.
 * \param[in]  nparts   >= 1
 * \param[in]  load     [nparts][nphases] load of each part in each phase, finite, >= 0 (borrowed)
 * \param[in]  nphases  1 to EQP_CYCLE_PHASES
 * \param[in]  times    [nphases] occurrences of each phase in a cycle, finite, > 0; NULL: once (borrowed)
 * \param[in]  share    [nparts] as in eqp__cuts_from_shares(), or NULL: equal (borrowed)
 * \param[out] cycle    unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_OVERFLOW for loads whose sum is not finite */
int eqp__cycle_of_parts(int nparts, const double *load, int nphases, const double *times, const double *share,
                        eqp_cycle *cycle);

/** Measures the cycle of an assignment. Local, O((n + nparts) x nphases), deterministic.
 * \param[in]  n          number of items, >= 0
 * \param[in]  load       [n][nphases] load of each item in each phase, finite, >= 0 (borrowed)
 * \param[in]  part       [n] 0 to nparts - 1 (borrowed)
 * \param[in]  nphases,times,nparts,share  as in eqp__cycle_of_parts()
 * \param[out] part_load  [nparts][nphases] load of each part in each phase; may be NULL; unchanged on error
 * \param[out] cycle      unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT or EQP_ERR_OVERFLOW */
int eqp__cycle_measure(int64_t n, const double *load, const int *part, int nphases, const double *times, int nparts,
                       const double *share, double *part_load, eqp_cycle *cycle);

/* EQP_ERR_ARGUMENT unless nphases is 1 to EQP_CYCLE_PHASES and all times are finite and > 0. times: NULL: 1 each. */
int eqp__phases_check(int nphases, const double *times);

/* Repetitions of phase k in a cycle. */
static inline double eqp__times(const double *times, int k)
{
    return times ? times[k] : 1.0;
}

#endif
