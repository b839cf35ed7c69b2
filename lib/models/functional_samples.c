/* SPDX-License-Identifier: BSD-3-Clause */
/* A cumulative time function through samples, in monotone cubic pieces. */
#include "base/internal.h"

#include <equipoise/more/models.h>

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct eqp_functional_samples {
    int64_t n;
    double *x, *t, *slope; /* [n] */
};

/* Finds the piece that contains x and the fraction of it, 0 to 1. */
static int64_t find_piece(const eqp_functional_samples *s, double x, double *along)
{
    int64_t low = 0, high = s->n - 1;

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (s->x[middle] <= x) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *along = (x - s->x[low]) / (s->x[low + 1] - s->x[low]);
    return low;
}

/* Coefficients of a piece in its fraction u: t = t_i + u (a + u (b + u c)). */
typedef struct piece {
    double width, t, a, b, c;
} piece;

static piece get_piece(const eqp_functional_samples *s, int64_t i)
{
    const double width = s->x[i + 1] - s->x[i], rise = s->t[i + 1] - s->t[i];
    const double from = s->slope[i] * width, to = s->slope[i + 1] * width;

    return (piece){width, s->t[i], from, 3 * rise - 2 * from - to, from + to - 2 * rise};
}

static double samples_value(const void *user, double x)
{
    const eqp_functional_samples *s = user;
    double u;
    const int64_t i = find_piece(s, x, &u);
    const piece p = get_piece(s, i);

    return u >= 1 ? s->t[i + 1] : p.t + u * (p.a + u * (p.b + u * p.c));
}

static double samples_slope(const void *user, double x)
{
    double u;
    const piece p = get_piece(user, find_piece(user, x, &u));

    return (p.a + u * (2 * p.b + 3 * u * p.c)) / p.width;
}

static double samples_bend(const void *user, double x)
{
    double u;
    const piece p = get_piece(user, find_piece(user, x, &u));

    return (2 * p.b + 6 * u * p.c) / (p.width * p.width);
}

static double mean_rise(const eqp_functional_samples *s, int64_t i)
{
    return (s->t[i + 1] - s->t[i]) / (s->x[i + 1] - s->x[i]);
}

/* Slopes of the parabola through three neighbours. */
static void estimate_slopes(eqp_functional_samples *s)
{
    const int64_t last = s->n - 1;

    for (int64_t i = 1; i < last; i++) {
        const double before = s->x[i] - s->x[i - 1], after = s->x[i + 1] - s->x[i];
        s->slope[i] = (mean_rise(s, i - 1) * after + mean_rise(s, i) * before) / (before + after);
    }
    s->slope[0] = last > 1 ? fmax(0, 2 * mean_rise(s, 0) - s->slope[1]) : mean_rise(s, 0);
    s->slope[last] = last > 1 ? fmax(0, 2 * mean_rise(s, last - 1) - s->slope[last - 1]) : mean_rise(s, 0);
}

/* Fritsch and Carlson: a piece is monotone if its end slopes lie in a circle of three times its mean slope. Denormal
 * slopes are inexact and become 0. */
static void limit_slopes(eqp_functional_samples *s)
{
    for (int64_t i = 0; i < s->n - 1; i++) {
        const double rise = mean_rise(s, i), steep = hypot(s->slope[i], s->slope[i + 1]);
        if (rise < DBL_MIN) {
            s->slope[i] = s->slope[i + 1] = 0;
        } else if (steep > 3 * rise) {
            s->slope[i] = s->slope[i] / steep * (3 * rise);
            s->slope[i + 1] = s->slope[i + 1] / steep * (3 * rise);
        }
    }
}

/* Refuses pieces whose coefficients overflow. */
static int check_pieces(const eqp_functional_samples *s)
{
    for (int64_t i = 0; i < s->n - 1; i++) {
        const piece p = get_piece(s, i);
        EQP__FAIL_IF(!isfinite(fabs(p.a) + fabs(p.b) + fabs(p.c)), EQP_ERR_OVERFLOW);
    }
    return EQP_OK;
}

static int check_samples(int64_t n, const double *x, const double *t, const double *slope)
{
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(!isfinite(x[i]) || (i > 0 && !(x[i] > x[i - 1])), EQP_ERR_ARGUMENT);
        EQP__FAIL_IF(!isfinite(t[i]) || (i > 0 && t[i] < t[i - 1]) || (slope && !(slope[i] >= 0 && isfinite(slope[i]))),
                     EQP_ERR_DATA);
    }
    EQP__FAIL_IF(!isfinite(x[n - 1] - x[0]), EQP_ERR_ARGUMENT);
    return isfinite(t[n - 1] - t[0]) ? EQP_OK : EQP_ERR_OVERFLOW;
}

int eqp_functional_samples_create(int64_t n, const double *x, const double *t, const double *slope,
                                  eqp_functional_samples **samples)
{
    eqp_functional_samples *s = NULL;
    int code = n < 2 || !x || !t || !samples ? EQP_ERR_ARGUMENT : check_samples(n, x, t, slope);

    EQP__CHECK(code);
    EQP__CHECK(eqp_array_create(&s, 1, sizeof *s));
    s->n = n;
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(s->x, n), EQP__ARRAY(s->t, n), EQP__ARRAY(s->slope, n)));
    memcpy(s->x, x, (size_t)n * sizeof *x);
    memcpy(s->t, t, (size_t)n * sizeof *t);
    if (slope) {
        memcpy(s->slope, slope, (size_t)n * sizeof *slope);
    } else {
        estimate_slopes(s);
    }
    limit_slopes(s);
    EQP_TRY(check_pieces(s));
    *samples = s;
    s = NULL;
done:
    eqp_functional_samples_free(s);
    return code;
}

eqp_functional_time eqp_functional_samples_time(const eqp_functional_samples *samples)
{
    if (!samples) {
        return (eqp_functional_time){0};
    }
    return (eqp_functional_time){samples->x[0], samples->x[samples->n - 1], samples_value, samples_slope, samples_bend,
                                 samples};
}

void eqp_functional_samples_free(eqp_functional_samples *samples)
{
    if (samples) {
        EQP__FREE(samples->x, samples->t, samples->slope, samples);
    }
}

int eqp_functional_efficiency(int n, const double *time, double *inefficiency, double *efficiency)
{
    double mean = 0, most = 0;

    EQP__FAIL_IF(!inefficiency || !efficiency || n < 1 || !time, EQP_ERR_ARGUMENT);
    for (int i = 0; i < n; i++) {
        EQP__FAIL_IF(!(time[i] >= 0) || !isfinite(time[i]), EQP_ERR_DATA);
        most = fmax(most, time[i]);
        mean += time[i] / n;
    }
    *inefficiency = most > 0 ? fmax(0, (most - mean) / most * 100) : 0; /* (2) */
    *efficiency = 100 - *inefficiency;                                  /* (3) */
    return EQP_OK;
}
