/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_CURVE_CUTS_H
#define EQUIPOISE_METHODS_CURVE_CUTS_H

#include <stdint.h>

/* eqp_cuts_optimal() for parts that already have some load: minimizes the largest (have + load) / (nparts x share). At
 * the ideal positions every part has its share of the total, including `have`. Parts may stay without items. have:
 * [nparts] finite, >= 0; NULL: same as eqp_cuts_optimal(). */
int eqp__cuts_beside(int64_t n, const double *load, int nparts, const double *share, const double *have, int64_t *first,
                     double *bottleneck);

#endif
