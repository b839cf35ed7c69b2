/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/shares.h"

#include "base/internal.h"

#include <equipoise/error.h>

#include <math.h>
#include <stddef.h>

int eqp__shares_check(int nparts, const double *share)
{
    double sum = 0;

    EQP__FAIL_IF(nparts < 1, EQP_ERR_ARGUMENT);
    if (!share) {
        return EQP_OK;
    }
    for (int p = 0; p < nparts; p++) {
        EQP__FAIL_IF(!(share[p] > 0), EQP_ERR_ARGUMENT);
        sum += share[p];
    }
    return fabs(sum - 1) <= 1e-9 ? EQP_OK : EQP_ERR_ARGUMENT;
}

const double *eqp__shares_reduce(int nparts, const double *share)
{
    for (int p = 1; share && p < nparts; p++) {
        if (share[p] != share[0]) {
            return share;
        }
    }
    return NULL;
}
