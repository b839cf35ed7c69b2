/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_feedback.h"

#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Loads as the rule's integers: the total is this. */
#define TOTAL_UNITS 1e15

/* Of the mean, the fewest particles that a part is brought back to: shares must not be 0. */
#define LEAST_PART 1e-6

typedef enum phase {
    STEPPING, /* step after step */
    RETURN,   /* the next map is the best one again */
    HOLDING   /* until the policy wants a map */
} phase;

struct app_feedback {
    int nranks;
    bool ruled; /* else each map is a step */
    phase phase;
    eqp_feedback_options options;
    eqp_feedback_state state;
    eqp_method by_loads; /* the library's row, for measured loads: it weighs nothing */
    double *best;        /* [nranks] particles of each at the best step, mean 1 */
};

int app_feedback_create(const app_run_settings *run, int nranks, app_feedback **feedback)
{
    app_feedback *made = NULL;
    int code;

    if (!(run->method->flags & EQP_BY_LOADS) || run->schedule != NULL) {
        return EQP_OK;
    }
    EQP_TRY(eqp_array_create(&made, 1, sizeof *made));
    made->nranks = nranks;
    made->by_loads = *run->method;
    made->by_loads.flags = 0;
    made->options = (eqp_feedback_options)EQP_FEEDBACK_OPTIONS_DEFAULTS;
    made->options.threshold = run->policy.imbalance_tol;
    made->ruled = run->policy.mode == EQP_POLICY_AUTO;
    EQP_TRY(eqp_feedback_init(&made->state, &made->options));
    EQP_TRY(eqp_array_create(&made->best, nranks, sizeof *made->best));
done:
    if (code != EQP_OK) {
        app_feedback_free(made);
        return code;
    }
    *feedback = made;
    return EQP_OK;
}

void app_feedback_free(app_feedback *feedback)
{
    if (feedback != NULL) {
        free(feedback->best);
        free(feedback);
    }
}

static void keep_best(app_feedback *f, const void *rows, size_t row_bytes)
{
    double sum = 0.0;

    for (int r = 0; r < f->nranks; r++) {
        f->best[r] = app_row_of(rows, row_bytes, r)->particles;
        sum += f->best[r];
    }
    for (int r = 0; r < f->nranks; r++) {
        f->best[r] = sum > 0 ? fmax(f->best[r] * f->nranks / sum, LEAST_PART) : 1.0;
    }
}

int app_feedback_record(app_feedback *feedback, const void *rows, size_t row_bytes, bool rebalanced)
{
    enum eqp_feedback_verdict verdict;
    double total = 0.0, most = 0.0;
    bool alike;
    int code;

    if (feedback == NULL || !feedback->ruled || !rebalanced || feedback->phase != STEPPING) {
        return EQP_OK;
    }
    alike = app_rows_alike(feedback->nranks, rows, row_bytes);
    for (int r = 0; r < feedback->nranks; r++) { /* what the steps go by: see app_rows_loads() */
        const app_rank_row *row = app_row_of(rows, row_bytes, r);
        total += alike ? row->load : row->work;
        most = fmax(most, alike ? row->load : row->predicted);
    }
    if (!isfinite(total)) {
        return EQP_ERR_DATA;
    }
    if (!(total > 0)) { /* nothing to go by */
        feedback->phase = HOLDING;
        return EQP_OK;
    }
    code = eqp_feedback_check(&feedback->state, feedback->nranks, (int64_t)(TOTAL_UNITS * fmin(most / total, 1.0)),
                              (int64_t)TOTAL_UNITS, &verdict);
    if (code != EQP_OK) {
        return code;
    }
    const bool is_best = feedback->state.best_step == feedback->state.checks - 1;
    if (is_best) {
        keep_best(feedback, rows, row_bytes);
    }
    if (verdict != EQP_FEEDBACK_GO_ON) {
        feedback->phase = is_best ? HOLDING : RETURN;
    }
    return EQP_OK;
}

bool app_feedback_wants(const app_feedback *feedback)
{
    return feedback != NULL && feedback->state.checks > 0 && feedback->phase != HOLDING;
}

void app_feedback_prepare(app_feedback *feedback, app_rebalance_options *options)
{
    if (feedback == NULL) {
        return;
    }
    if (feedback->phase == RETURN) {
        options->method = eqp_method_find("count");
        options->speeds = (app_speeds){feedback->nranks, feedback->best};
        feedback->phase = HOLDING;
        return;
    }
    if (feedback->phase == HOLDING) { /* the policy asks: from here on anew */
        (void)eqp_feedback_init(&feedback->state, &feedback->options);
        feedback->phase = STEPPING;
    }
    options->method = &feedback->by_loads;
}
