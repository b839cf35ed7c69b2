/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads distributed over the ranks: a local kernel, a reduction, a final step. */
#include <equipoise/more/comm.h>
#include <equipoise/more/par.h>

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

int eqp_parts_load_all(MPI_Comm comm, int64_t n, const double *weight, const int *part, int nparts, const double *share,
                       double *load, eqp_part_loads *loads)
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

/* Power sums of all ranks' loads about a centre. */
static int add_sums(MPI_Comm comm, int64_t n, const double *load, double centre, eqp_load_sums *sums)
{
    double ends[2], all[2];

    EQP__CHECK(eqp_agree(comm, eqp_load_sums_compute(n, load, centre, sums), NULL));
    ends[0] = sums->max;
    ends[1] = -sums->min;
    EQP__CHECK(EQP__MPI(MPI_Allreduce(ends, all, 2, MPI_DOUBLE, MPI_MAX, comm)));
    sums->max = all[0];
    sums->min = -all[1];
    return eqp__sum_double(comm, (int64_t)(sizeof sums->power / sizeof sums->power[0]), sums->power);
}

int eqp_load_statistics_all(MPI_Comm comm, int64_t n, const double *load, eqp_load_statistics *statistics)
{
    eqp_load_sums sums;
    eqp_load_statistics mean;
    int code = eqp_agree(comm, statistics && (n == 0 || load) ? EQP_OK : EQP_ERR_ARGUMENT, NULL);

    /* Two rounds: moments about a centre far from the mean lose digits. */
    EQP__CHECK(code);
    EQP__CHECK(add_sums(comm, n, load, 0, &sums));
    EQP__CHECK(eqp_load_statistics_from_sums(&sums, &mean));
    EQP__CHECK(add_sums(comm, n, load, mean.mean, &sums));
    return eqp_load_statistics_from_sums(&sums, statistics);
}
