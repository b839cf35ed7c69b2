/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_CURVE_CUTS_H
#define EQUIPOISE_METHODS_CURVE_CUTS_H

#include <stdint.h>

/** Cuts n ordered items into consecutive ranges that follow target shares: each cut falls where the running load is
 * nearest to its target. With equal shares and n >= nparts no range is empty. Loads that sum to zero count as 1 each.
 * Local, O(n + nparts log n), deterministic.
 * \param[in]  n       number of items, >= 0
 * \param[in]  load    [n] cost of each item, finite, >= 0 (borrowed)
 * \param[in]  nparts  number of ranges, >= 1
 * \param[in]  share   [nparts] target fractions, each > 0, sum 1 within 1e-9; NULL: equal (borrowed)
 * \param[out] first   [nparts + 1] first item of each part; first[0] == 0, first[nparts] == n
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT for an invalid load or share */
int eqp__cuts_from_shares(int64_t n, const double *load, int nparts, const double *share, int64_t *first);

/* eqp_cuts_optimal() for parts that already have some load: minimizes the largest (have + load) / (nparts x share). At
 * the ideal positions every part has its share of the total, including `have`. Parts may stay without items. have:
 * [nparts] finite, >= 0; NULL: same as eqp_cuts_optimal(). */
int eqp__cuts_beside(int64_t n, const double *load, int nparts, const double *share, const double *have, int64_t *first,
                     double *bottleneck);

#endif
