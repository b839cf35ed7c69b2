/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/run.h"

/* Least unexplained imbalance that is acted on; CPU seconds vary by some percent anyway. */
#define NOTICED 0.05

/* Factors closer to 1 would move nothing. */
#define WORTHWHILE 0.005

/* Steps needed for a reliable mean. */
#define BELIEVED 3

/* Steps needed for a reliable fit of the overheads: the memory of the fit. */
#define FITTED 10

/* A map has not helped if it leaves more than this fraction of the imbalance. */
#define HELPED 0.75

/* Upper limit on the number of times the wait doubles. */
#define LONGEST_WAIT 10

/* Bounds of a factor. */
#define LEAST_FACTOR 0.2
#define MOST_FACTOR 5.0

int eqp__calibration_create(int nranks, double tolerance, bool measures, double false_alarms, eqp_calibration *made)
{
    *made = (eqp_calibration){.nranks = nranks,
                              .measures = measures,
                              .tolerance = tolerance,
                              .surely = eqp__normal_exceeded(false_alarms / nranks)};
    EQP__CHECK(eqp_array_create(&made->load, 4 * (int64_t)nranks, sizeof *made->load));
    made->model = made->load + nranks;
    made->overhead = made->model + nranks;
    made->factor = made->overhead + nranks;
    return EQP_OK;
}

void eqp__calibration_free(eqp_calibration *c)
{
    free(c->load);
    *c = (eqp_calibration){.nranks = 0};
}

void eqp__calibration_learn(eqp_calibration *c, const eqp_rank_row *rows, double noise)
{
    if (c->load == NULL) {
        return;
    }
    for (int r = 0; r < c->nranks; r++) {
        const bool busy = rows[r].busy_seconds > 0;
        c->load[r] += busy ? rows[r].busy_seconds : rows[r].load;
        c->model[r] += rows[r].predicted;
        c->overhead[r] += busy ? rows[r].overhead : 0.0;
    }
    c->now.noise = noise;
    c->now.steps++;
}

/* Imbalance of the loads of n ranks, plus `more` where it is given. */
static double imbalance(int n, const double *load, const double *more)
{
    double sum = 0.0, most = 0.0;

    for (int i = 0; i < n; i++) {
        const double all = load[i] + (more != NULL ? more[i] : 0.0);
        sum += all;
        most = fmax(most, all);
    }
    return sum > 0.0 ? most * n / sum - 1.0 : 0.0;
}

/* Measured imbalance beyond the predicted one and beyond noise in the largest mean. A map made from measured loads
 * predicts none. */
static double unexplained(const eqp_calibration *c)
{
    const double measured = imbalance(c->nranks, c->load, NULL);
    const double predicted = c->now.active ? 0.0 : imbalance(c->nranks, c->model, c->overhead);
    const double noise = c->now.steps > 0 ? fmax(c->surely, 0.0) * c->now.noise / sqrt((double)c->now.steps) : 0.0;

    return c->measures && measured > c->tolerance ? measured - predicted - noise : 0.0;
}

bool eqp__calibration_wants(const eqp_calibration *c)
{
    const int64_t waits = c->now.in_vain < LONGEST_WAIT ? c->now.in_vain : LONGEST_WAIT;

    return c->load != NULL && c->now.steps >= (int64_t)BELIEVED << waits && unexplained(c) > NOTICED;
}

bool eqp__calibration_pays(const eqp_calibration *c, int64_t left, double cost)
{
    const double life = left < INT64_MAX ? (double)left / 2.0 : (double)c->now.steps;
    double seconds = 0.0;

    if (c->load == NULL || c->now.steps < FITTED) {
        return false;
    }
    /* items take their share of a rank's overhead with them, so one map may not be enough */
    const double uneven = imbalance(c->nranks, c->model, c->overhead);
    if (c->now.scaled && uneven > HELPED * c->now.uneven) {
        return false;
    }
    for (int r = 0; r < c->nranks; r++) {
        seconds += (c->model[r] + c->overhead[r]) / c->nranks;
    }
    const double work =
        c->now.scaled ? 0.0 : imbalance(c->nranks, c->model, NULL); /* a scaled map is uneven on purpose */
    const double gain = uneven - fmax(work, c->tolerance);
    return gain > c->tolerance && gain * seconds / (double)c->now.steps * life >= cost;
}

/* Factors: each rank's total seconds, measured or expected, over its predicted work, relative to all ranks; returns the
 * largest change. */
static double find_factors(eqp_calibration *c, bool measured)
{
    double load = 0.0, model = 0.0, most = 0.0;

    for (int r = 0; r < c->nranks; r++) {
        c->factor[r] = measured ? c->load[r] : c->model[r] + c->overhead[r];
        load += c->factor[r];
        model += c->model[r];
    }
    for (int r = 0; r < c->nranks; r++) {
        const bool known = c->factor[r] > 0.0 && c->model[r] > 0.0;
        c->factor[r] = known ? fmin(fmax(c->factor[r] / c->model[r] * model / load, LEAST_FACTOR), MOST_FACTOR) : 1.0;
        most = fmax(most, fabs(c->factor[r] - 1.0));
    }
    return most;
}

const double *eqp__calibration_take(eqp_calibration *c)
{
    double now = 0.0;

    if (c->load == NULL || c->now.steps == 0) {
        return NULL;
    }
    now = c->now.steps >= BELIEVED ? unexplained(c) : 0.0;
    c->now.in_vain = c->now.before > 0.0 && now > HELPED * c->now.before ? c->now.in_vain + 1 : 0;
    c->now.before = now > NOTICED ? now : 0.0;
    c->now.active = (c->now.active || now > NOTICED) && find_factors(c, true) > NOTICED;
    c->now.uneven = imbalance(c->nranks, c->model, c->overhead);
    c->now.scaled = c->now.active || find_factors(c, false) > WORTHWHILE;
    memset(c->load, 0, 3 * (size_t)c->nranks * sizeof *c->load);
    c->now.steps = 0;
    return c->now.scaled ? c->factor : NULL;
}
