/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `feedback`: it uses only the total load of each part, spread evenly over its particles. A cut of the curve
 * with these item loads gives the boundaries of equations 2.1 to 2.3 (feedback.h). */
#include "methods/feedback/feedback.h"
#include "methods/frame/frame.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/methods.h>

#include <math.h>
#include <string.h>

/* Total load in the integer units of the stopping rule. */
#define TOTAL_UNITS 1e15

typedef struct step {
    MPI_Comm comm;
    const eqp_balance_items *items;
    const eqp_balance_options *options;
    double *load;      /* [nparts] loads of the present parts */
    double *particles; /* [nparts] particles of the present parts; points into the same array as load */
    double *density;   /* [n] load of each item under uniform density */
} step;

static int open_step(step *s)
{
    int code = eqp_array_create(&s->load, 2 * (int64_t)s->options->nparts, sizeof *s->load);

    if (!code) {
        s->particles = s->load + s->options->nparts;
    }
    code = code ? code : eqp_array_create(&s->density, s->items->n, sizeof *s->density);
    return eqp_agree(s->comm, code, NULL);
}

static int cut_by_count(const step *s, int *part)
{
    for (int64_t i = 0; i < s->items->n; i++) {
        s->density[i] = (double)s->items->particles[i];
    }
    return eqp__cut_curve(s->comm, EQP_OK, s->items->n, s->density, s->options, 0, part);
}

/* Sums loads and particles of the parts. known: [nparts] loads to use instead of weights, or NULL. Collective. */
static int measure(step *s, const int *part, const double *known)
{
    const int nparts = s->options->nparts;
    int code;

    memset(s->load, 0, 2 * (size_t)nparts * sizeof *s->load);
    for (int64_t i = 0; i < s->items->n; i++) {
        s->load[part[i]] += s->items->weight[i];
        s->particles[part[i]] += (double)s->items->particles[i];
    }
    code = eqp_sum_double(s->comm, 2 * (int64_t)nparts, s->load);
    if (!code && known) {
        memcpy(s->load, known, (size_t)nparts * sizeof *known);
    }
    return code;
}

/* Replaces parts by new ones, computed from their loads. Collective. */
static int move_cuts(const step *s, int *part)
{
    for (int64_t i = 0; i < s->items->n; i++) {
        const int p = part[i];
        s->density[i] = s->particles[p] > 0 ? s->load[p] * (double)s->items->particles[i] / s->particles[p] : 0;
    }
    return eqp__cut_curve(s->comm, EQP_OK, s->items->n, s->density, s->options, 0, part);
}

/* Applies the stopping rule to the loads of the parts relative to their shares. */
static enum eqp_feedback_verdict check(const step *s, eqp_feedback_state *state)
{
    const int nparts = s->options->nparts;
    double total = 0, most = 0;

    for (int p = 0; p < nparts; p++) {
        total += s->load[p];
        most = fmax(most, s->options->share ? s->load[p] / (s->options->share[p] * nparts) : s->load[p]);
    }
    if (!(total > 0)) {
        return EQP_FEEDBACK_WITHIN;
    }
    most = fmin(most / total, 1);
    return eqp__feedback_check(state, nparts, (int64_t)(TOTAL_UNITS * most), (int64_t)TOTAL_UNITS);
}

/* Takes steps with modelled loads, starting from equal counts, and returns the best parts. Collective. */
static int settle(step *s, int *part)
{
    eqp_feedback_state state = {.options = eqp_feedback_options_defaults()};
    enum eqp_feedback_verdict verdict = EQP_FEEDBACK_GO_ON;
    int *now = NULL, code;

    state.options.threshold = s->options->imbalance_tol;
    EQP_TRY(eqp_agree(s->comm, eqp_array_create(&now, s->items->n, sizeof *now), NULL));
    EQP_TRY(cut_by_count(s, now));
    for (;;) {
        EQP_TRY(measure(s, now, NULL));
        verdict = check(s, &state);
        if (state.checks == 0 || state.best_step == state.checks - 1) {
            memcpy(part, now, (size_t)s->items->n * sizeof *now);
        }
        if (verdict != EQP_FEEDBACK_GO_ON) {
            break;
        }
        EQP_TRY(move_cuts(s, now));
    }
done:
    free(now);
    return code;
}

static double sum_of(int n, const double *x)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

/* Takes one step with measured loads. Without present parts it cuts by count; if all loads are 0 it keeps the present
 * parts. Collective. */
static int follow(step *s, int *part)
{
    int known, code = eqp__parts_are_known(s->comm, s->items, s->options->nparts, &known);

    if (code || !known) {
        return code ? code : cut_by_count(s, part);
    }
    for (int64_t i = 0; i < s->items->n; i++) {
        part[i] = s->items->part_now[i];
    }
    code = measure(s, part, s->options->part_load);
    return code || !(sum_of(s->options->nparts, s->load) > 0) ? code : move_cuts(s, part);
}

static int assign_feedback(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                           eqp_balance_result *result)
{
    step s = {.comm = comm, .items = items, .options = options};
    int code = open_step(&s);

    (void)result;
    code = code ? code : options->part_load ? follow(&s, part) : settle(&s, part);
    EQP__FREE(s.load, s.density);
    return code;
}

const eqp_method eqp__method_feedback = {.name = "feedback",
                                         .summary = "cuts of the curve moved by the measured loads of the parts alone",
                                         .flags = EQP_NEEDS_WEIGHTS | EQP_BY_LOADS,
                                         .assign = assign_feedback};
