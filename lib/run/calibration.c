/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Measured imbalance beyond the predicted one that is worth a word: CPU seconds differ by some percent anyway. */
#define NOTICED 0.05

/* Steps whose mean is believed. */
#define BELIEVED 3

/* A map that leaves more of it than this has not helped. */
#define HELPED 0.75

/* Waits that double, so often at most. */
#define LONGEST_WAIT 10

/* What a factor is at least and at most. */
#define LEAST_FACTOR 0.2
#define MOST_FACTOR 5.0

int eqp__calibration_create(int nranks, double tolerance, eqp_calibration *made)
{
    int code;

    *made = (eqp_calibration){.nranks = nranks, .tolerance = tolerance};
    EQP_TRY(eqp_array_create(&made->load, 3 * (int64_t)nranks, sizeof *made->load));
    made->model = made->load + nranks;
    made->factor = made->model + nranks;
done:
    return code;
}

void eqp__calibration_free(eqp_calibration *c)
{
    free(c->load);
    *c = (eqp_calibration){.nranks = 0};
}

void eqp__calibration_learn(eqp_calibration *c, const eqp_rank_row *rows)
{
    if (c->load == NULL) {
        return;
    }
    for (int r = 0; r < c->nranks; r++) {
        c->load[r] += rows[r].load;
        c->model[r] += rows[r].predicted;
    }
    c->steps++;
}

static double imbalance(int n, const double *load)
{
    double sum = 0.0, most = 0.0;

    for (int i = 0; i < n; i++) {
        sum += load[i];
        most = fmax(most, load[i]);
    }
    return sum > 0.0 ? most * n / sum - 1.0 : 0.0;
}

/* Measured imbalance beyond what was predicted: nothing is, of a map by what was measured. */
static double unexplained(const eqp_calibration *c)
{
    const double measured = imbalance(c->nranks, c->load);
    const double predicted = c->active ? 0.0 : imbalance(c->nranks, c->model);

    return measured > c->tolerance ? measured - predicted : 0.0;
}

bool eqp__calibration_wants(const eqp_calibration *c)
{
    const int waits = c->in_vain < LONGEST_WAIT ? c->in_vain : LONGEST_WAIT;

    return c->load != NULL && c->steps >= (int64_t)BELIEVED << waits && unexplained(c) > NOTICED;
}

/* Ranks' measured over predicted loads, by those of all; returns whether any differs by more than is noticed. */
static bool find_factors(eqp_calibration *c)
{
    double load = 0.0, model = 0.0, most = 0.0;

    for (int r = 0; r < c->nranks; r++) {
        load += c->load[r];
        model += c->model[r];
    }
    for (int r = 0; r < c->nranks; r++) {
        const bool known = c->load[r] > 0.0 && c->model[r] > 0.0;
        c->factor[r] = known ? fmin(fmax(c->load[r] / c->model[r] * model / load, LEAST_FACTOR), MOST_FACTOR) : 1.0;
        most = fmax(most, fabs(c->factor[r] - 1.0));
    }
    return most > NOTICED;
}

const double *eqp__calibration_take(eqp_calibration *c)
{
    double now = 0.0;

    if (c->load == NULL || c->steps == 0) {
        return NULL;
    }
    now = c->steps >= BELIEVED ? unexplained(c) : 0.0;
    c->in_vain = c->before > 0.0 && now > HELPED * c->before ? c->in_vain + 1 : 0;
    c->before = now > NOTICED ? now : 0.0;
    c->active = (c->active || now > NOTICED) && find_factors(c);
    memset(c->load, 0, 2 * (size_t)c->nranks * sizeof *c->load);
    c->steps = 0;
    return c->active ? c->factor : NULL;
}
