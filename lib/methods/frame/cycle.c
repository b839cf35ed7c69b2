/* SPDX-License-Identifier: BSD-3-Clause */
/* Balance of the phases of a cycle. */
#include "methods/frame/cycle.h"

#include "base/internal.h"
#include "methods/frame/shares.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int eqp__phases_check(int nphases, const double *times)
{
    EQP__FAIL_IF(nphases < 1 || nphases > EQP_CYCLE_PHASES, EQP_ERR_ARGUMENT);
    for (int k = 0; times && k < nphases; k++) {
        EQP__FAIL_IF(!(times[k] > 0) || !isfinite(times[k]), EQP_ERR_ARGUMENT);
    }
    return EQP_OK;
}

static int check_loads(int64_t n, int nphases, const double *load)
{
    bool are = true; /* no early exit, so that the loop vectorizes */

    for (int64_t j = 0; j < n * nphases; j++) {
        are &= (load[j] >= 0) & (load[j] <= DBL_MAX);
    }
    return are ? EQP_OK : EQP_ERR_ARGUMENT;
}

int eqp__cycle_of_parts(int nparts, const double *load, int nphases, const double *times, const double *share,
                        eqp_cycle *cycle)
{
    eqp_cycle c = {.worst = 0};
    double work = 0, wait = 0;

    EQP__CHECK(load && cycle ? eqp__phases_check(nphases, times) : EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp__shares_check(nparts, share));
    EQP__CHECK(check_loads(nparts, nphases, load));
    for (int k = 0; k < nphases; k++) {
        double total = 0, most = 0;
        for (int p = 0; p < nparts; p++) {
            const double here = load[(int64_t)p * nphases + k];
            total += here;
            most = fmax(most, here / eqp__share_scale(share, nparts, p));
        }
        const double mean = total / nparts;
        c.imbalance[k] = mean > 0 ? most / mean - 1 : 0;
        work += eqp__times(times, k) * mean;
        wait += eqp__times(times, k) * most;
        if (c.imbalance[k] > c.worst) {
            c.worst = c.imbalance[k];
            c.worst_phase = k;
        }
    }
    EQP__CHECK(isfinite(work) && isfinite(wait) ? EQP_OK : EQP_ERR_OVERFLOW);
    c.efficiency = wait > 0 ? work / wait : 1;
    *cycle = c;
    return EQP_OK;
}

int eqp__cycle_measure(int64_t n, const double *load, const int *part, int nphases, const double *times, int nparts,
                       const double *share, double *part_load, eqp_cycle *cycle)
{
    double *sum = NULL;
    int code;

    EQP_TRY(n >= 0 && (n == 0 || (load && part)) && nparts >= 1 ? eqp__phases_check(nphases, times) : EQP_ERR_ARGUMENT);
    EQP_TRY(check_loads(n, nphases, load));
    EQP_TRY(eqp_array_create(&sum, (int64_t)nparts * nphases, sizeof *sum));
    for (int64_t i = 0; i < n; i++) {
        EQP_TRY(part[i] >= 0 && part[i] < nparts ? EQP_OK : EQP_ERR_ARGUMENT);
        for (int k = 0; k < nphases; k++) {
            sum[(int64_t)part[i] * nphases + k] += load[i * nphases + k];
        }
    }
    for (int64_t j = 0; j < (int64_t)nparts * nphases; j++) {
        EQP_TRY(isfinite(sum[j]) ? EQP_OK : EQP_ERR_OVERFLOW);
    }
    EQP_TRY(eqp__cycle_of_parts(nparts, sum, nphases, times, share, cycle));
    if (part_load) {
        memcpy(part_load, sum, (size_t)nparts * (size_t)nphases * sizeof *sum);
    }
done:
    free(sum);
    return code;
}
