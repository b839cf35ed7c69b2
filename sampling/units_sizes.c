/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics of unit sizes. All of them are sums, which ranks can add. */
#include "memory.h"

#include <equipoise/units.h>

#include <math.h>

/* As in eqp_sizes_bin_start(): log2 of the lower edge of the first bin, and bins per factor of two. */
#define FIRST_LOG2 (-16)
#define PER_OCTAVE 4

static int bin_of(double size)
{
    double bin = floor(PER_OCTAVE * (log2(size) - FIRST_LOG2));

    return bin < 0 ? 0 : bin >= EQP_SIZES_BINS ? EQP_SIZES_BINS - 1 : (int)bin;
}

int eqp_sizes_add(eqp_sizes *sizes, int64_t n, const double *size)
{
    EQP_REQUIRE(sizes);
    eqp_sizes sum = *sizes;

    EQP__FAIL_IF(n < 0 || (n > 0 && !size), EQP_ERR_ARGUMENT);
    for (int64_t i = 0; i < n; i++) {
        double x = size[i];
        EQP__FAIL_IF(!(x >= 0) || !isfinite(x), EQP_ERR_DATA);
        sum.max = sum.n == 0 || x > sum.max ? x : sum.max;
        sum.min = sum.n == 0 || x < sum.min ? x : sum.min;
        EQP__FAIL_IF(sum.n == INT64_MAX, EQP_ERR_OVERFLOW);
        sum.n++;
        sum.sum += x;
        sum.sum_squares += x * x;
        if (x > 0) {
            sum.sum_logs += log(x);
            sum.bin[bin_of(x)] += sum.bin[bin_of(x)] < INT64_MAX;
        } else {
            sum.zeros += sum.zeros < INT64_MAX;
        }
    }
    *sizes = sum;
    return EQP_OK;
}

/* True if every count is between 0 and the count of all sizes. */
static bool are_counts(const eqp_sizes *s)
{
    bool good = s && s->n >= 0 && s->zeros >= 0 && s->zeros <= s->n;

    for (int b = 0; good && b < EQP_SIZES_BINS; b++) {
        good = s->bin[b] >= 0 && s->bin[b] <= s->n;
    }
    return good;
}

int eqp_sizes_merge(eqp_sizes *sizes, const eqp_sizes *piece)
{
    EQP_REQUIRE(are_counts(sizes) && are_counts(piece));
    EQP__FAIL_IF(piece->n > INT64_MAX - sizes->n, EQP_ERR_OVERFLOW);
    if (piece->n == 0) {
        return EQP_OK;
    }
    sizes->max = sizes->n == 0 || piece->max > sizes->max ? piece->max : sizes->max;
    sizes->min = sizes->n == 0 || piece->min < sizes->min ? piece->min : sizes->min;
    sizes->n += piece->n;
    sizes->zeros += piece->zeros;
    sizes->sum += piece->sum;
    sizes->sum_squares += piece->sum_squares;
    sizes->sum_logs += piece->sum_logs;
    for (int b = 0; b < EQP_SIZES_BINS; b++) {
        sizes->bin[b] += piece->bin[b];
    }
    return EQP_OK;
}

/* Derivative of ln Gamma and its derivative: recurrence up to x >= 10, then the asymptotic series (Abramowitz and
 * Stegun, 6.3.18 and 6.4.12), whose first neglected term is below 1e-14 there. */
static void digamma_trigamma(double x, double *digamma, double *trigamma)
{
    double psi = 0;
    double psi1 = 0;

    for (; x < 10; x += 1) {
        psi -= 1 / x;
        psi1 += 1 / (x * x);
    }
    double y = 1 / (x * x);
    psi += log(x) - 0.5 / x - y * (1. / 12 - y * (1. / 120 - y * (1. / 252 - y * (1. / 240 - y * (1. / 132)))));
    psi1 += 1 / x + y / 2 + y / x * (1. / 6 - y * (1. / 30 - y * (1. / 42 - y * (1. / 30 - y * (5. / 66)))));
    *digamma = psi;
    *trigamma = psi1;
}

int eqp_sizes_fit_gamma(const eqp_sizes *sizes, double *k, double *theta)
{
    EQP_REQUIRE(are_counts(sizes) && k && theta);
    int64_t n = sizes->n - sizes->zeros;
    EQP__FAIL_IF(n < 2, EQP_ERR_DATA);
    double mean = sizes->sum / (double)n;
    double mean_log = sizes->sum_logs / (double)n;
    double gap = log(mean) - mean_log; /* > 0 unless all sizes are equal */
    EQP__FAIL_IF(!(gap > 1e-13 * (1 + fabs(mean_log))), EQP_ERR_DATA);
    double variance = sizes->sum_squares / (double)n - mean * mean;
    double shape = mean * mean / variance;
    if (!(shape > 0) || !isfinite(shape)) {
        shape = 0.5 / gap; /* the limit of the likelihood for large k */
    }
    /* Newton's method on 1/k (Minka, eq. 10) converges from any start in a few steps. */
    for (int step = 0; step < 100; step++) {
        double psi, psi1;
        digamma_trigamma(shape, &psi, &psi1);
        double inverse = 1 / shape + (log(shape) - psi - gap) / (shape * shape * (1 / shape - psi1));
        double next = inverse > 0 && isfinite(inverse) ? 1 / inverse : 2 * shape;
        bool done = fabs(next - shape) <= 1e-12 * shape;
        shape = next;
        if (done) {
            break;
        }
    }
    *k = shape;
    *theta = mean / shape;
    return EQP_OK;
}
