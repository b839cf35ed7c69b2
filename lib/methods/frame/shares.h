/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks and helpers for the shares of parts. */
#ifndef EQUIPOISE_METHODS_FRAME_SHARES_H
#define EQUIPOISE_METHODS_FRAME_SHARES_H

/* Slack in comparisons of imbalances: loads are summed in varying order. */
#define EQP__IMBALANCE_SLACK 1e-9

/* EQP_ERR_ARGUMENT unless nparts >= 1 and the shares (NULL: equal) are > 0 with sum 1. */
int eqp__shares_check(int nparts, const double *share);

/* NULL if all shares are equal, so that explicit equal shares and NULL take the same path. */
const double *eqp__shares_reduce(int nparts, const double *share);

/* Share of part p times nparts: 1 for equal shares. */
static inline double eqp__share_scale(const double *share, int nparts, int p)
{
    return share ? share[p] * nparts : 1;
}

#endif
