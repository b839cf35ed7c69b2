/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of feedback-guided balancing, for one rank and for all ranks. */
#include "methods/feedback/feedback.h"

#include "base/internal.h"

#include <equipoise/more/methods.h>

#include <math.h>
#include <stddef.h>

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

static int is_rank(const eqp_feedback_rank *r)
{
    return r && r->nranks >= 1 && r->rank >= 0 && r->rank < r->nranks && r->low >= 0 && r->high >= r->low &&
           r->load >= 0 && r->before >= 0 && r->total >= 0 && r->before <= r->total &&
           r->load <= r->total - r->before && (r->high > r->low || r->load == 0);
}

int eqp__feedback_inside(const eqp_feedback_rank *rank, int *first, int *count)
{
    EQP__FAIL_IF(!first || !count || !is_rank(rank), EQP_ERR_ARGUMENT);
    if (rank->total == 0) {
        *first = rank->rank + 1;
        *count = 0;
        return EQP_OK;
    }
    *first = first_boundary(rank->before, rank->nranks, rank->total);
    *count = first_boundary(rank->before + rank->load, rank->nranks, rank->total) - *first;
    return EQP_OK;
}

int64_t eqp__feedback_bound(const eqp_feedback_rank *rank, int k)
{
    if (!is_rank(rank)) {
        return 0;
    }
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
    if (!is_rank(rank) || first < 1 || first > rank->nranks || count < 0 || count > rank->nranks - first || i < 0 ||
        i > count) {
        return (eqp_feedback_piece){0};
    }
    eqp_feedback_piece piece = {first - 1 + i, rank->low, rank->high};

    if (i > 0) {
        piece.low = eqp__feedback_bound(rank, first + i - 1);
    }
    if (i < count) {
        piece.high = eqp__feedback_bound(rank, first + i);
    }
    return piece;
}

static int check_step(int nranks, const int64_t *bound, const int64_t *load, int64_t *total)
{
    int64_t sum = 0;

    EQP__FAIL_IF(nranks < 1 || !bound || !load || bound[0] < 0, EQP_ERR_ARGUMENT);
    for (int r = 0; r < nranks; r++) {
        EQP__FAIL_IF(bound[r + 1] < bound[r] || load[r] < 0 || (bound[r + 1] == bound[r] && load[r] > 0),
                     EQP_ERR_ARGUMENT);
    }
    for (int r = 0; r < nranks; r++) {
        EQP__FAIL_IF(load[r] > INT64_MAX - sum, EQP_ERR_OVERFLOW);
        sum += load[r];
    }
    *total = sum;
    return EQP_OK;
}

int eqp__feedback_step(int nranks, const int64_t *bound, const int64_t *load, int64_t *next)
{
    eqp_feedback_rank r = {.nranks = nranks};

    EQP__CHECK(next && next != bound ? check_step(nranks, bound, load, &r.total) : EQP_ERR_ARGUMENT);
    for (int i = 0; i <= nranks; i++) {
        next[i] = bound[i];
    }
    for (r.rank = 0; r.rank < nranks; r.rank++) {
        int first = 0, count = 0;

        r.low = bound[r.rank];
        r.high = bound[r.rank + 1];
        r.load = load[r.rank];
        (void)eqp__feedback_inside(&r, &first, &count); /* cannot fail: r is valid by check_step() */
        for (int k = first; k < first + count; k++) {
            next[k] = eqp__feedback_bound(&r, k);
        }
        r.before += r.load;
    }
    return EQP_OK;
}

int eqp__feedback_start(int64_t n, int nranks, int64_t *bound)
{
    EQP__FAIL_IF(n < 0 || nranks < 1 || !bound, EQP_ERR_ARGUMENT);
    for (int64_t r = 0; r <= nranks; r++) {
        bound[r] = n / nranks * r + n % nranks * r / nranks; /* r n / nranks, arranged to avoid overflow */
    }
    return EQP_OK;
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
