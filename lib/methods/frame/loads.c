/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads distributed over the ranks: a local kernel, a reduction, a final step. */
#include "base/internal.h"
#include "comm/agree.h"
#include "methods/frame/frame.h"

#include <equipoise/error.h>
#include <equipoise/more/comm.h>

#include <float.h>
#include <math.h>
#include <string.h>

double eqp__quantum(double most, double total)
{
    int of_most, of_total;
    const double mantissa = frexp(most, &of_most) * frexp(total, &of_total);

    return mantissa > 0 ? ldexp(1.0, of_most + of_total - (mantissa < 0.5) - DBL_MANT_DIG + 1) : 0.0;
}

int eqp__weights_round(MPI_Comm comm, int64_t n, double *weight)
{
    double most = 0.0, total = (double)n;
    int64_t least;

    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, weight[i]);
    }
    least = ~eqp__rank_of_double(most);
    EQP__CHECK(eqp__meet(comm, EQP_OK, 1, &least, 1, &total, NULL));
    const double quantum = eqp__quantum(eqp__double_of_rank(~least), total);
    for (int64_t i = 0; i < n; i++) {
        weight[i] = eqp__round_to(quantum, weight[i]);
    }
    return EQP_OK;
}

/* Loads and item counts of the parts, in new arrays that the caller frees, also after an error. */
static int add_loads(int64_t n, const double *weight, const int *part, int nparts, double **load, int64_t **count)
{
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(*load, nparts), EQP__ARRAY(*count, nparts)));
    for (int64_t i = 0; i < n; i++) {
        (*load)[part[i]] += weight[i];
        (*count)[part[i]]++;
    }
    return EQP_OK;
}

int eqp__parts_load_all(MPI_Comm comm, int64_t n, const double *weight, const int *part, int nparts,
                        const double *share, eqp_part_loads *loads)
{
    double *sum = NULL, *both = NULL;
    int64_t *count = NULL;
    int code = add_loads(n, weight, part, nparts, &sum, &count);

    code = code ? code : eqp_array_create(&both, 2 * (int64_t)nparts, sizeof *both);
    EQP_TRY(eqp_agree(comm, code, NULL));
    for (int p = 0; p < nparts; p++) {
        both[p] = sum[p];
        both[nparts + p] = (double)count[p];
    }
    EQP_TRY(eqp__sum_double(comm, 2 * (int64_t)nparts, both));
    for (int p = 0; p < nparts; p++) {
        sum[p] = both[p];
        count[p] = (int64_t)both[nparts + p];
    }
    eqp__part_loads_finish(nparts, share, sum, count, loads);
done:
    EQP__FREE(both, sum, count);
    return code;
}

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

int eqp__parts_load(int64_t n, const double *weight, const int *part, int nparts, const double *share, double *load,
                    eqp_part_loads *loads)
{
    double *sum = NULL;
    int64_t *count = NULL;
    int code;

    EQP_TRY(add_loads(n, weight, part, nparts, &sum, &count));
    eqp__part_loads_finish(nparts, share, sum, count, loads);
    for (int p = 0; load && p < nparts; p++) {
        load[p] = sum[p];
    }
done:
    EQP__FREE(sum, count);
    return code;
}

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

int eqp__phases_check(int nphases, const double *times)
{
    EQP__FAIL_IF(nphases < 1 || nphases > EQP_CYCLE_PHASES, EQP_ERR_ARGUMENT);
    for (int k = 0; times && k < nphases; k++) {
        EQP__FAIL_IF(!(times[k] > 0) || !isfinite(times[k]), EQP_ERR_ARGUMENT);
    }
    return EQP_OK;
}

int eqp__cycle_of_parts(int nparts, const double *load, int nphases, const double *times, const double *share,
                        eqp_cycle *cycle)
{
    eqp_cycle c = {.worst = 0};
    double work = 0, wait = 0;

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
                       const double *share, eqp_cycle *cycle)
{
    double *sum = NULL;
    int code;

    EQP_TRY(eqp_array_create(&sum, (int64_t)nparts * nphases, sizeof *sum));
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < nphases; k++) {
            sum[(int64_t)part[i] * nphases + k] += load[i * nphases + k];
        }
    }
    EQP_TRY(eqp__cycle_of_parts(nparts, sum, nphases, times, share, cycle));
done:
    free(sum);
    return code;
}
