/* SPDX-License-Identifier: BSD-3-Clause */
/* Stopping rules of feedback-guided balancing. */
#include "base/internal.h"
#include "methods/feedback/feedback.h"
#include <equipoise/more/methods.h>

#include <stddef.h>

int eqp__feedback_init(eqp_feedback_state *state, const eqp_feedback_options *options)
{
    EQP__FAIL_IF(!state || !options || options->size != sizeof *options || options->max_steps < 0 ||
                     !(options->threshold >= 0) || options->patience < 1 ||
                     (options->rule != EQP_FEEDBACK_GUARDED && options->rule != EQP_FEEDBACK_PAPER),
                 EQP_ERR_ARGUMENT);
    *state = (eqp_feedback_state){.options = *options};
    return EQP_OK;
}

/* The paper's rule needs a previous value, so it never stops at the first loads. */
static enum eqp_feedback_verdict judge(const eqp_feedback_state *s, double last, double mean)
{
    const int steps = s->checks - 1;

    if (s->options.rule == EQP_FEEDBACK_PAPER && steps > 0 && s->value >= last) {
        return EQP_FEEDBACK_CONVERGED;
    }
    if (s->options.rule == EQP_FEEDBACK_GUARDED && s->value <= s->options.threshold * mean) {
        return EQP_FEEDBACK_WITHIN;
    }
    if (s->options.rule == EQP_FEEDBACK_GUARDED && steps - s->best_step >= s->options.patience) {
        return EQP_FEEDBACK_SWINGS;
    }
    return steps >= s->options.max_steps ? EQP_FEEDBACK_LAST_STEP : EQP_FEEDBACK_GO_ON;
}

int eqp__feedback_check(eqp_feedback_state *state, int nranks, int64_t max, int64_t total,
                        enum eqp_feedback_verdict *verdict)
{
    EQP__FAIL_IF(!state || !verdict || nranks < 1 || max < 0 || total < max, EQP_ERR_ARGUMENT);
    const double mean = (double)total / nranks, last = state->value;

    state->value = (double)max - mean; /* (2.5) */
    if (state->checks == 0 || state->value < state->best) {
        state->best = state->value;
        state->best_step = state->checks;
    }
    state->checks++;
    *verdict = judge(state, last, mean);
    return EQP_OK;
}
