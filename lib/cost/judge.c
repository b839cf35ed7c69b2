/* SPDX-License-Identifier: BSD-3-Clause */
/* How good is a load model? Source: Pearce 2014, eq. 2.4, section 3.4.1, table 3.3. */
#include "base/internal.h"

#include <equipoise/more/load.h>

#include <math.h>
#include <stdlib.h>

/* Differences of the model from the measurement, per run. */
typedef struct differences {
    double *imbalance, *kurtosis, *rank_correlation; /* [nruns] */
} differences;

static int compare_run(int nparts, const double *model, const double *measured, int run, const differences *d)
{
    eqp_load_statistics m, l;
    double r;

    EQP__CHECK(eqp_load_statistics_compute(nparts, model, &m));
    EQP__CHECK(eqp_load_statistics_compute(nparts, measured, &l));
    EQP__CHECK(eqp_load_rank_correlation(nparts, model, measured, &r));
    d->imbalance[run] = m.imbalance - l.imbalance;
    d->kurtosis[run] = m.kurtosis - l.kurtosis;
    d->rank_correlation[run] = 1.0 - r;
    return EQP_OK;
}

int eqp_load_judge(int nruns, int nparts, const double *model, const double *measured, eqp_load_errors *errors)
{
    EQP_REQUIRE(nruns >= 1 && nparts >= 1 && model && measured && errors);
    double *array = NULL, *zero;
    eqp_load_errors e = {0};
    differences d;
    int code;

    EQP_TRY(eqp_array_create(&array, 4 * (int64_t)nruns, sizeof *array));
    d = (differences){array, array + nruns, array + 2 * (size_t)nruns};
    zero = array + 3 * (size_t)nruns;
    for (int run = 0; run < nruns; run++) {
        const size_t first = (size_t)run * (size_t)nparts;
        EQP_TRY(compare_run(nparts, model + first, measured + first, run, &d));
        e.imbalance_bias += d.imbalance[run] / nruns;
    }
    EQP_TRY(eqp_load_rmse(nruns, d.imbalance, zero, &e.imbalance));
    EQP_TRY(eqp_load_rmse(nruns, d.kurtosis, zero, &e.kurtosis));
    EQP_TRY(eqp_load_rmse(nruns, d.rank_correlation, zero, &e.rank_correlation));
    *errors = e;
done:
    free(array);
    return code;
}
