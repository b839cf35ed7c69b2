/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_CURVE_CUTS_H
#define EQUIPOISE_METHODS_CURVE_CUTS_H

#include <stdint.h>

/* eqp_cuts_optimal() for parts that have some load already: the largest (have + load) / (nparts x share) is as small as
 * any cut can make it, and the ideal positions are those at which all parts have their share of both. Parts may stay
 * without items. have: [nparts] finite, >= 0; NULL: eqp_cuts_optimal() itself. */
int eqp__cuts_beside(int64_t n, const double *load, int nparts, const double *share, const double *have, int64_t *first,
                     double *bottleneck);

#endif
