/* SPDX-License-Identifier: BSD-3-Clause */
#include "models/speeds.h"

#include "base/internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bisections of the logarithm of a time, more than neighbouring doubles need. */
#define HALVINGS 200

typedef struct division {
    int nranks;
    double n;                /* items */
    const eqp__curve *curve; /* [nranks] */
    double *size, *other;    /* [nranks] */
} division;

static double find_total(const division *d, double seconds)
{
    double total = 0.0;

    for (int r = 0; r < d->nranks; r++) {
        total += eqp__curve_size(&d->curve[r], seconds);
    }
    return total;
}

/* Bounds of the common time: below `low` no rank holds more than an equal share, above `high` none holds less. */
static void find_bounds(const division *d, double *low, double *high)
{
    *low = INFINITY;
    *high = 0.0;
    for (int r = 0; r < d->nranks; r++) {
        const double seconds = eqp__curve_seconds(&d->curve[r], d->n / d->nranks);
        *low = fmin(*low, seconds);
        *high = fmax(*high, seconds);
    }
    /* A spline may take this time for fewer items too. Beyond n the time grows without bound, up to overflow. */
    while (find_total(d, *high) < d->n && *high < 0.25 * DBL_MAX) {
        *high *= 2.0;
    }
}

/* Clarke 2011, section 5.1. The line is parametrized by its time, the inverse of its slope, and bisected in logarithms,
 * as speeds may differ by orders of magnitude. */
static void bisect(const division *d)
{
    double low, high, below = 0.0, above = 0.0;

    find_bounds(d, &low, &high);
    for (int k = 0; k < HALVINGS && high > low * (1.0 + 2.0 * DBL_EPSILON); k++) {
        const double middle = sqrt(low) * sqrt(high);
        if (!(middle > low && middle < high)) {
            break;
        }
        if (find_total(d, middle) < d->n) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (int r = 0; r < d->nranks; r++) {
        d->size[r] = eqp__curve_size(&d->curve[r], low);
        d->other[r] = eqp__curve_size(&d->curve[r], high);
        below += d->size[r];
        above += d->other[r];
    }
    /* Sizes jump where a spline's time has a peak. Sizes within the jump take no longer, so any part of it may be used.
     */
    const double fraction = above > below ? fmin(fmax((d->n - below) / (above - below), 0.0), 1.0) : 0.0;
    for (int r = 0; r < d->nranks; r++) {
        d->size[r] += fraction * (d->other[r] - d->size[r]);
    }
}

static void divide_in_proportion(const division *d)
{
    double sum = 0.0;

    for (int r = 0; r < d->nranks; r++) {
        sum += d->curve[r].s[0];
    }
    for (int r = 0; r < d->nranks; r++) {
        d->size[r] = d->n * (d->curve[r].s[0] / sum);
    }
}

/* Spreads the rounding error over all ranks. */
static void scale_to_items(const division *d)
{
    double total = 0.0;

    for (int r = 0; r < d->nranks; r++) {
        total += d->size[r];
    }
    for (int r = 0; r < d->nranks; r++) {
        d->size[r] *= d->n / total;
    }
}

int eqp__speeds_divide(const eqp_speeds *speeds, double *size)
{
    const int nranks = speeds->nranks;
    const double mean = eqp__speeds_mean(speeds);
    division d = {.nranks = nranks, .n = speeds->n, .size = size};
    eqp__curve *curve = NULL;
    int code = EQP_OK;

    if (nranks == 1 || speeds->n <= 0.0 || mean <= 0.0) {
        for (int r = 0; r < nranks; r++) {
            size[r] = speeds->n / nranks;
        }
        return EQP_OK;
    }
    EQP_TRY(eqp__speeds_curves_create(speeds, mean, &curve));
    EQP_TRY(eqp_array_create(&d.other, nranks, sizeof *d.other));
    d.curve = curve;
    if (speeds->kind == EQP_SPEEDS_CONSTANT) {
        divide_in_proportion(&d);
    } else {
        bisect(&d);
    }
    scale_to_items(&d);
done:
    EQP__FREE(d.other, curve);
    return code;
}

static int create_piecewise(int nranks, void **state)
{
    return eqp_speeds_create(EQP_SPEEDS_PIECEWISE, nranks, 0.0, (eqp_speeds **)state);
}

static int create_akima(int nranks, void **state)
{
    return eqp_speeds_create(EQP_SPEEDS_AKIMA, nranks, 0.0, (eqp_speeds **)state);
}

static int create_constant(int nranks, void **state)
{
    return eqp_speeds_create(EQP_SPEEDS_CONSTANT, nranks, 0.0, (eqp_speeds **)state);
}

static int add_to_model(void *state, int rank, double size, double seconds)
{
    return eqp__speeds_add(state, rank, size, seconds);
}

static int divide_by_model(void *state, double total, double *size)
{
    const int code = eqp__speeds_resize(state, total);

    return code ? code : eqp__speeds_divide(state, size);
}

static void free_model(void *state)
{
    eqp_speeds_free(state);
}

const eqp_speed_model *eqp_speeds_model(eqp_speeds_kind kind)
{
    static const eqp_speed_model models[] = {
        [EQP_SPEEDS_CONSTANT] = {"constant", create_constant, add_to_model, divide_by_model, free_model},
        [EQP_SPEEDS_PIECEWISE] = {"piecewise", create_piecewise, add_to_model, divide_by_model, free_model},
        [EQP_SPEEDS_AKIMA] = {"akima", create_akima, add_to_model, divide_by_model, free_model}};

    return eqp_speeds_kind_name(kind) ? &models[kind] : NULL;
}
