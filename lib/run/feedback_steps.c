/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/feedback/feedback.h"
#include "run/run.h"

#include <limits.h>

/* Total of the loads as integers, which the rule needs. */
#define TOTAL_UNITS 1e15

/* Smallest part to go back to, in particles relative to the mean; shares must be positive. */
#define LEAST_PART 1e-6

typedef enum phase {
    STEPPING, /* one step after another */
    RETURN,   /* the next map is the best one again */
    HOLDING   /* until the policy wants a map */
} phase;

struct eqp_feedback_steps {
    int nranks;
    bool ruled;       /* otherwise each map is a step */
    bool fixed_costs; /* of the balancer */
    eqp_feedback_options options;
    eqp__kept_feedback now;
    eqp_method by_loads; /* the library's row without weights, for measured loads */
    double *best;        /* [nranks] particles of each rank at the best step, mean 1 */
};

bool eqp__rows_tell(int nranks, const eqp_rank_row *rows, bool fixed_costs)
{
    bool tell = !fixed_costs;

    for (int r = 1; r < nranks; r++) {
        tell = tell && rows[r].speed == rows[0].speed;
    }
    return tell;
}

int eqp__feedback_steps_create(const eqp_balancer_options *options, int nranks, eqp_feedback_steps **feedback)
{
    eqp_feedback_steps *made = NULL;
    int code;

    if (!(options->method.method->flags & EQP_BY_LOADS) || options->handed_out) {
        return EQP_OK;
    }
    EQP_TRY(eqp_array_create(&made, 1, sizeof *made));
    made->nranks = nranks;
    made->by_loads = *options->method.method;
    made->by_loads.flags = 0;
    made->options = eqp_feedback_options_defaults();
    made->options.threshold = options->policy.imbalance_tol;
    made->fixed_costs = options->fixed_costs;
    made->ruled = options->policy.mode == EQP_POLICY_AUTO;
    EQP_TRY(eqp__feedback_init(&made->now.state, &made->options));
    EQP_TRY(eqp_array_create(&made->best, nranks, sizeof *made->best));
done:
    if (code != EQP_OK) {
        eqp__feedback_steps_free(made);
        return code;
    }
    *feedback = made;
    return EQP_OK;
}

void eqp__feedback_steps_free(eqp_feedback_steps *feedback)
{
    if (feedback != NULL) {
        EQP__FREE(feedback->best, feedback);
    }
}

static void keep_best(eqp_feedback_steps *f, const eqp_rank_row *rows)
{
    double sum = 0.0;

    for (int r = 0; r < f->nranks; r++) {
        f->best[r] = rows[r].particles;
        sum += f->best[r];
    }
    for (int r = 0; r < f->nranks; r++) {
        f->best[r] = sum > 0 ? fmax(f->best[r] * f->nranks / sum, LEAST_PART) : 1.0;
    }
}

int eqp__feedback_steps_record(eqp_feedback_steps *feedback, const eqp_rank_row *rows, bool rebalanced)
{
    enum eqp_feedback_verdict verdict;
    double total = 0.0, most = 0.0;
    bool tell;

    if (feedback == NULL || !feedback->ruled || !rebalanced || feedback->now.phase != STEPPING) {
        return EQP_OK;
    }
    tell = eqp__rows_tell(feedback->nranks, rows, feedback->fixed_costs);
    for (int r = 0; r < feedback->nranks; r++) { /* the loads that maps are made from */
        const eqp_rank_row *row = &rows[r];
        total += tell ? row->load : row->work;
        most = fmax(most, tell ? row->load : row->predicted);
    }
    EQP__FAIL_IF(!isfinite(total), EQP_ERR_DATA);
    if (!(total > 0)) { /* no loads yet */
        feedback->now.phase = HOLDING;
        return EQP_OK;
    }
    verdict = eqp__feedback_check(&feedback->now.state, feedback->nranks,
                                  (int64_t)(TOTAL_UNITS * fmin(most / total, 1.0)), (int64_t)TOTAL_UNITS);
    const bool is_best = feedback->now.state.best_step == feedback->now.state.checks - 1;
    if (is_best) {
        keep_best(feedback, rows);
    }
    if (verdict != EQP_FEEDBACK_GO_ON) {
        feedback->now.phase = is_best ? HOLDING : RETURN;
    }
    return EQP_OK;
}

bool eqp__feedback_steps_wants(const eqp_feedback_steps *feedback)
{
    return feedback != NULL && feedback->now.state.checks > 0 && feedback->now.phase != HOLDING;
}

void eqp__feedback_steps_prepare(eqp_feedback_steps *feedback, eqp_map_options *options)
{
    if (feedback == NULL) {
        return;
    }
    if (feedback->now.phase == RETURN) {
        options->method = eqp_method_find("count");
        options->speeds = (eqp_part_speeds){feedback->nranks, feedback->best};
        feedback->now.phase = HOLDING;
        return;
    }
    if (feedback->now.phase == HOLDING) { /* the policy has asked for a map: start again */
        (void)eqp__feedback_init(&feedback->now.state, &feedback->options);
        feedback->now.phase = STEPPING;
    }
    options->method = &feedback->by_loads;
}

bool eqp__feedback_steps_can_be(const eqp__kept_feedback *kept)
{
    const eqp_feedback_state *s = &kept->state;

    return kept->phase >= STEPPING && kept->phase <= HOLDING && s->checks >= 0 && s->checks < INT_MAX / 2 &&
           s->best_step >= 0 && s->best_step <= s->checks && isfinite(s->value) && isfinite(s->best);
}

void eqp__feedback_steps_pass(eqp_feedback_steps *feedback, int nranks, eqp__kept_feedback *kept, eqp__cursor *c)
{
    if (feedback != NULL && c->reads) {
        feedback->now = *kept;
        feedback->now.state.options = feedback->options;
    } else if (feedback != NULL) {
        *kept = feedback->now;
    }
    for (int r = 0; r < nranks; r++) {
        double best = feedback != NULL ? feedback->best[r] : 0.0;
        eqp__pass(c, &best, sizeof best);
        if (c->reads && feedback != NULL) {
            feedback->best[r] = best >= LEAST_PART ? best : 1.0;
        }
    }
}
