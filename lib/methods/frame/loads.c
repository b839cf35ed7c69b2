/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads distributed over the ranks: a local kernel, a reduction, a final step. */
#include <equipoise/more/comm.h>

#include "base/internal.h"
#include "comm/agree.h"
#include "methods/frame/parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

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

int eqp__parts_load_all(MPI_Comm comm, int64_t n, const double *weight, const int *part, int nparts,
                        const double *share, double *load, eqp_part_loads *loads)
{
    double *sum = NULL, *both = NULL;
    int64_t *count = NULL;
    int code = loads ? eqp__part_loads_add(n, weight, part, nparts, share, &sum, &count) : EQP_ERR_ARGUMENT;

    code = code ? code : eqp_array_create(&both, 2 * (int64_t)nparts, sizeof *both);
    EQP_TRY(eqp__agree_alike(comm, code, code ? 0 : eqp_fingerprint(0, nparts, share)));
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
    for (int p = 0; load && p < nparts; p++) {
        load[p] = sum[p];
    }
done:
    EQP__FREE(both, sum, count);
    return code;
}
