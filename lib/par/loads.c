/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads that are spread over the ranks: a local kernel, a sum, a finish. */
#include <equipoise/par.h>

#include "assign/parts.h"
#include "par/comm.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

int eqp__weights_round(MPI_Comm comm, int64_t n, double *weight)
{
    double most = 0.0, all = 0.0;
    int64_t total = n;
    int exponent, code;

    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, weight[i]);
    }
    EQP_TRY(eqp__sum_int64(comm, 1, &total));
    if (MPI_Allreduce(&most, &all, 1, MPI_DOUBLE, MPI_MAX, comm) != MPI_SUCCESS) {
        EQP_TRY(EQP_ERR_MPI);
    }
    all *= (double)total;
    frexp(all, &exponent);
    if (!isfinite(all) || exponent - DBL_MANT_DIG < DBL_MIN_EXP) {
        goto done;
    }
    const double quantum = ldexp(1.0, exponent - DBL_MANT_DIG + 1);
    for (int64_t i = 0; i < n; i++) {
        weight[i] = rint(weight[i] / quantum) * quantum;
    }
done:
    return code;
}

int eqp_parts_load_all(MPI_Comm comm, int64_t n, const double *weight, const int *part, int nparts, const double *share,
                       double *load, eqp_part_loads *loads)
{
    double *sum = NULL;
    int64_t *count = NULL;
    int code = loads ? eqp__part_loads_add(n, weight, part, nparts, share, &sum, &count) : EQP_ERR_ARGUMENT;

    EQP_TRY(eqp__agree_alike(comm, code, code ? 0 : eqp_fingerprint(0, nparts, share)));
    EQP_TRY(eqp__sum_double(comm, nparts, sum));
    EQP_TRY(eqp__sum_int64(comm, nparts, count));
    eqp__part_loads_finish(nparts, share, sum, count, loads);
    for (int p = 0; load && p < nparts; p++) {
        load[p] = sum[p];
    }
done:
    free(sum);
    free(count);
    return code;
}

/* The sums of all ranks about a centre. */
static int add_sums(MPI_Comm comm, int64_t n, const double *load, double centre, eqp_load_sums *sums)
{
    double ends[2], all[2];
    int code = eqp_agree(comm, eqp_load_sums_compute(n, load, centre, sums), NULL);

    if (code) {
        return code;
    }
    ends[0] = sums->max;
    ends[1] = -sums->min;
    if (MPI_Allreduce(ends, all, 2, MPI_DOUBLE, MPI_MAX, comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    sums->max = all[0];
    sums->min = -all[1];
    return eqp__sum_double(comm, (int64_t)(sizeof sums->power / sizeof sums->power[0]), sums->power);
}

int eqp_load_statistics_all(MPI_Comm comm, int64_t n, const double *load, eqp_load_statistics *statistics)
{
    eqp_load_sums sums;
    eqp_load_statistics mean;
    int code = eqp_agree(comm, statistics && (n == 0 || load) ? EQP_OK : EQP_ERR_ARGUMENT, NULL);

    /* Two rounds: moments keep their digits only about a centre near the mean. */
    if (code || (code = add_sums(comm, n, load, 0, &sums)) || (code = eqp_load_statistics_from_sums(&sums, &mean)) ||
        (code = add_sums(comm, n, load, mean.mean, &sums))) {
        return code;
    }
    return eqp_load_statistics_from_sums(&sums, statistics);
}
