/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of feedback-guided balancing, for one rank and for all ranks. */
#include "methods/feedback/feedback.h"

#include "base/internal.h"

#include <equipoise/more/methods.h>

#include <math.h>
#include <string.h>

/* Position of boundary k on the axis of summed loads. All ranks must get the same bits. */
static double target_load(int k, int nranks, int64_t total)
{
    return (double)k * (double)total / nranks;
}

/* The first boundary at or beyond a sum of loads, 1 to nranks. A rank and the next one call this with the same sum, so
 * each boundary belongs to exactly one rank, even in floating point. */
static int first_boundary(int64_t sum, int nranks, int64_t total)
{
    int k = (int)fmin(nranks - 1, (double)sum / (double)total * nranks);

    k = k < 1 ? 1 : k;
    while (k < nranks && target_load(k, nranks, total) < (double)sum) {
        k++;
    }
    while (k > 1 && target_load(k - 1, nranks, total) >= (double)sum) {
        k--;
    }
    return k;
}

void eqp__feedback_inside(const eqp_feedback_rank *rank, int *first, int *count)
{
    *first = rank->rank + 1;
    *count = 0;
    if (rank->total > 0) {
        *first = first_boundary(rank->before, rank->nranks, rank->total);
        *count = first_boundary(rank->before + rank->load, rank->nranks, rank->total) - *first;
    }
}

int64_t eqp__feedback_bound(const eqp_feedback_rank *rank, int k)
{
    double wanted = target_load(k, rank->nranks, rank->total) - (double)rank->before;
    double each = (double)rank->load / (double)(rank->high - rank->low);
    double place = floor(wanted / each);

    if (!(place > 0)) {
        return rank->low;
    }
    return place < (double)(rank->high - rank->low) ? rank->low + (int64_t)place : rank->high;
}

eqp_feedback_piece eqp__feedback_piece_at(const eqp_feedback_rank *rank, int first, int count, int i)
{
    return (eqp_feedback_piece){first - 1 + i, i > 0 ? eqp__feedback_bound(rank, first + i - 1) : rank->low,
                                i < count ? eqp__feedback_bound(rank, first + i) : rank->high};
}

void eqp__feedback_step(int nranks, const int64_t *bound, const int64_t *load, int64_t *next)
{
    eqp_feedback_rank r = {.nranks = nranks};

    for (int i = 0; i < nranks; i++) {
        r.total += load[i];
    }
    memcpy(next, bound, ((size_t)nranks + 1) * sizeof *next);
    for (; r.rank < nranks; r.rank++) {
        int first, count;

        r.low = bound[r.rank];
        r.high = bound[r.rank + 1];
        r.load = load[r.rank];
        eqp__feedback_inside(&r, &first, &count);
        for (int k = first; k < first + count; k++) {
            next[k] = eqp__feedback_bound(&r, k);
        }
        r.before += r.load;
    }
}

void eqp__feedback_start(int64_t n, int nranks, int64_t *bound)
{
    for (int64_t r = 0; r <= nranks; r++) {
        bound[r] = n / nranks * r + n % nranks * r / nranks; /* r n / nranks, arranged to avoid overflow */
    }
}

/* Stopping rules of feedback-guided balancing. */

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

enum eqp_feedback_verdict eqp__feedback_check(eqp_feedback_state *state, int nranks, int64_t max, int64_t total)
{
    const double mean = (double)total / nranks, last = state->value;

    state->value = (double)max - mean; /* (2.5) */
    if (state->checks == 0 || state->value < state->best) {
        state->best = state->value;
        state->best_step = state->checks;
    }
    state->checks++;
    return judge(state, last, mean);
}
