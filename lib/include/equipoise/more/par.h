/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/par.h
 * \brief Items, loads and keys that are spread over the ranks of a communicator.
 *
 * Every function is collective. The rules of <equipoise/more/comm.h> hold.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_PAR_H
#define EQUIPOISE_MORE_PAR_H

#include <equipoise/error.h>
#include <equipoise/more/assign.h>
#include <equipoise/more/load.h>

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Loads of an assignment whose items are spread over the ranks: the distributed form of eqp_parts_load(). Collective,
 * O(n + nparts), every rank gets the same bits.
 * \param[in]  n       items of this rank
 * \param[in]  weight  [n] finite, >= 0 (borrowed)
 * \param[in]  part    [n] 0 to nparts - 1 (borrowed)
 * \param[in]  nparts  >= 1, the same on all ranks
 * \param[in]  share   [nparts] or NULL: equal; the same on all ranks (borrowed)
 * \param[out] load    [nparts] or NULL
 * \param[out] loads   summary
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks */
int eqp_parts_load_all(MPI_Comm comm, int64_t n, const double *weight, const int *part, int nparts, const double *share,
                       double *load, eqp_part_loads *loads);

/** Statistics of loads that are spread over the ranks, such as one number per rank: the distributed form of
 * eqp_load_statistics_compute(). Collective, every rank gets the same bits.
 * \param[in]  n           loads of this rank, >= 0; at least one on all ranks together
 * \param[in]  load        [n] finite and >= 0 (borrowed)
 * \param[out] statistics  unchanged on error */
int eqp_load_statistics_all(MPI_Comm comm, int64_t n, const double *load, eqp_load_statistics *statistics);

/** Splits a distributed set of keys: part p gets the keys with cut[p] <= key < cut[p + 1]. Each cut stands before
 * or behind the key that holds its target, whichever is nearer, so the result is a property of the keys and does not
 * depend on the ranks; equal keys stay together, so parts can be empty. Weights that sum to zero count as 1 each. Keys
 * need not be ordered between ranks. Collective: one meeting, and an allreduce of histograms for every 11 bits by which
 * the keys differ (of more than 512 parts: for fewer bits, so that it stays below 8 MiB); O(n) local work each.
 * \param[in]  n       keys of this rank
 * \param[in]  key     [n] ascending, below UINT64_MAX (borrowed)
 * \param[in]  weight  [n] >= 0, sum over all ranks below 2^62; NULL: 1 each (borrowed); on all ranks with keys or
 *                     on none
 * \param[in]  nparts  the same on all ranks
 * \param[in]  share   [nparts] or NULL: equal; the same on all ranks (borrowed)
 * \param[out] cut     [nparts + 1] ascending; cut[0] == 0, cut[nparts] == UINT64_MAX */
int eqp_key_cuts(MPI_Comm comm, int64_t n, const uint64_t *key, const int64_t *weight, int nparts, const double *share,
                 uint64_t *cut);

/** Deals keys out over the ranks, equally many to each along the ascending keys; equal keys stay together. The result
 * is a property of the keys and the number of ranks. Collective; cost and codes of eqp_key_cuts().
 * \param[in]  n     keys of this rank
 * \param[in]  key   [n] ascending, below UINT64_MAX; need not be ordered between ranks (borrowed)
 * \param[out] dest  [n] rank of each, ascending: what eqp_send_records() takes; unchanged on error */
int eqp_deal_keys(MPI_Comm comm, int64_t n, const uint64_t *key, int *dest);

#ifdef __cplusplus
}
#endif
#endif
