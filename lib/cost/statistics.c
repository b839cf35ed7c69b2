/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"
#include "cost/costs.h"

#include <math.h>

int eqp__load_sums_compute(int64_t n, const double *load, double centre, eqp_load_sums *sums)
{
    eqp_load_sums s = {centre, -INFINITY, INFINITY, {0.0}};

    EQP__FAIL_IF(n < 0 || (n > 0 && !load) || !sums || !isfinite(centre), EQP_ERR_ARGUMENT);
    for (int64_t i = 0; i < n; i++) {
        double d = load[i] - centre;

        EQP__FAIL_IF(!isfinite(load[i]) || load[i] < 0.0, EQP_ERR_DATA);
        s.max = fmax(s.max, load[i]);
        s.min = fmin(s.min, load[i]);
        s.power[1] += d;
        s.power[2] += d * d;
        s.power[3] += d * d * d;
        s.power[4] += d * d * d * d;
    }
    s.power[0] = (double)n;
    *sums = s;
    return EQP_OK;
}

int eqp__load_sums_merge(eqp_load_sums *sums, const eqp_load_sums *other)
{
    EQP_REQUIRE(sums && other);
    EQP__FAIL_IF(sums->centre != other->centre, EQP_ERR_ARGUMENT);
    sums->max = fmax(sums->max, other->max);
    sums->min = fmin(sums->min, other->min);
    for (int k = 0; k < 5; k++) {
        sums->power[k] += other->power[k];
    }
    return EQP_OK;
}

/* Moments about the mean from moments about the centre (the binomial theorem). */
static void find_shape(const eqp_load_sums *sums, eqp_load_statistics *s)
{
    double n = sums->power[0];
    double shift = sums->power[1] / n;
    double raw2 = sums->power[2] / n, raw3 = sums->power[3] / n, raw4 = sums->power[4] / n;
    double variance = raw2 - shift * shift;
    double third = raw3 - 3.0 * shift * raw2 + 2.0 * shift * shift * shift;
    double fourth = raw4 - 4.0 * shift * raw3 + 6.0 * shift * shift * raw2 - 3.0 * shift * shift * shift * shift;

    /* equal loads have no shape, and the rounding error of their variance must not be a divisor */
    if (s->max == s->min || variance <= 0.0) {
        return;
    }
    s->standard_deviation = sqrt(variance);
    if (variance * variance > 0.0) {
        s->skewness = third / (variance * s->standard_deviation);
        s->kurtosis = fourth / (variance * variance) - 3.0;
    }
}

int eqp__load_statistics_from_sums(const eqp_load_sums *sums, eqp_load_statistics *statistics)
{
    EQP_REQUIRE(sums && statistics);
    eqp_load_statistics s = {.max = sums->max, .min = sums->min};

    EQP__FAIL_IF(!(sums->power[0] >= 1.0), EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(!isfinite(sums->power[4]) || !(sums->power[0] < 0x1p63), EQP_ERR_OVERFLOW);
    s.count = (int64_t)sums->power[0];
    s.sum = sums->power[1] + sums->power[0] * sums->centre;
    s.mean = s.sum / sums->power[0];
    s.imbalance = s.mean > 0.0 ? fmax(s.max / s.mean - 1.0, 0.0) : 0.0;
    find_shape(sums, &s);
    EQP__FAIL_IF(!isfinite(s.sum) || !isfinite(s.standard_deviation) || !isfinite(s.skewness) || !isfinite(s.kurtosis),
                 EQP_ERR_OVERFLOW);
    *statistics = s;
    return EQP_OK;
}

int eqp__load_statistics_compute(int64_t n, const double *load, eqp_load_statistics *statistics)
{
    EQP_REQUIRE(statistics);
    eqp_load_sums sums;
    int code = n < 1 ? EQP_ERR_ARGUMENT : eqp__load_sums_compute(n, load, 0.0, &sums);

    EQP__CHECK(code);
    code = eqp__load_sums_compute(n, load, sums.power[1] / (double)n, &sums);
    return code == EQP_ERR_ARGUMENT ? EQP_ERR_OVERFLOW
           : code                   ? code
                                    : eqp__load_statistics_from_sums(&sums, statistics);
}
