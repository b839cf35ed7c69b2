/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads of parts. */
#include "methods/frame/parts.h"

#include "base/internal.h"
#include "methods/frame/shares.h"

#include <math.h>
#include <stdlib.h>

void eqp__part_loads_finish(int nparts, const double *share, const double *load, const int64_t *count,
                            eqp_part_loads *loads)
{
    eqp_part_loads s = {0};

    for (int p = 0; p < nparts; p++) {
        double relative = load[p] / eqp__share_scale(share, nparts, p);
        s.total += load[p];
        s.empty += count[p] == 0;
        if (relative > s.max) {
            s.max = relative;
            s.heaviest = p;
        }
    }
    s.mean = s.total / nparts;
    s.imbalance = s.mean > 0 ? s.max / s.mean - 1 : 0;
    *loads = s;
}

double eqp__imbalance_floor(double largest_item, double mean, int nparts, const double *share)
{
    double scale = 0;

    for (int p = 0; p < nparts; p++) {
        scale = fmax(scale, eqp__share_scale(share, nparts, p));
    }
    return mean > 0 ? fmax(0, largest_item / (mean * scale) - 1) : 0;
}

int eqp__part_loads_add(int64_t n, const double *weight, const int *part, int nparts, const double *share,
                        double **load, int64_t **count)
{
    EQP__CHECK(n < 0 || (n > 0 && (!weight || !part)) ? EQP_ERR_ARGUMENT : eqp__shares_check(nparts, share));
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(*load, nparts), EQP__ARRAY(*count, nparts)));
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(part[i] < 0 || part[i] >= nparts || !(weight[i] >= 0) || !isfinite(weight[i]), EQP_ERR_ARGUMENT);
        (*load)[part[i]] += weight[i];
        (*count)[part[i]]++;
    }
    return EQP_OK;
}

int eqp__parts_load(int64_t n, const double *weight, const int *part, int nparts, const double *share, double *load,
                    eqp_part_loads *loads)
{
    double *sum = NULL;
    int64_t *count = NULL;
    int code = loads ? eqp__part_loads_add(n, weight, part, nparts, share, &sum, &count) : EQP_ERR_ARGUMENT;

    EQP_TRY(code);
    eqp__part_loads_finish(nparts, share, sum, count, loads);
    for (int p = 0; load && p < nparts; p++) {
        load[p] = sum[p];
    }
done:
    EQP__FREE(sum, count);
    return code;
}
