/* SPDX-License-Identifier: BSD-3-Clause */
/* Feedback-guided balancing of MPI ranks: new bounds and the data between them. */
#include "par/comm.h"

#include <equipoise/feedback_run.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

enum { LOW_TAG = 1, HIGH_TAG = 2 };

/* One step on its way. */
typedef struct step {
    MPI_Comm comm;
    eqp_feedback_rank me;
    int first, count;     /* boundaries inside */
    int64_t low, high;    /* the new range */
    int64_t *bound;       /* [count] new boundaries, while they are sent */
    MPI_Request *request; /* [2 count] */
    int64_t *to, *from;   /* [nranks] iterations sent and received */
    int64_t *range;       /* [nranks][2] of all ranks, to go back to */
    char *items;          /* what arrives */
} step;

static void step_free(step *s)
{
    free(s->bound);
    free(s->request);
    free(s->to);
    free(s->from);
    free(s->range);
    free(s->items);
}

/* Ranks with options of their own would come to verdicts of their own, and wait for each other in different calls. */
static int agree_options(MPI_Comm comm, const eqp_feedback_options *o)
{
    const double threshold = o->threshold + 0.0; /* -0 is the same number */
    int64_t value[] = {(int64_t)o->rule, o->max_steps, o->patience, 0};
    int code = EQP_OK;

    memcpy(&value[3], &threshold, sizeof threshold);
    for (size_t i = 0; i < sizeof value / sizeof value[0] && !code; i++) {
        code = eqp_agree_same(comm, value[i]);
    }
    return code;
}

int eqp_feedback_share_init(MPI_Comm comm, int64_t n, const eqp_feedback_options *options, eqp_feedback_share *share)
{
    eqp_feedback_share s = {0};
    int64_t *bound = NULL;
    int rank = 0, nranks = 1, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    code = share ? eqp_feedback_init(&s.state, options) : EQP_ERR_ARGUMENT;
    code = code ? code : eqp_array_create(&bound, (int64_t)nranks + 1, sizeof *bound);
    code = code ? code : eqp_feedback_start(n, nranks, bound);
    code = eqp_agree(comm, code, NULL);
    code = code ? code : eqp_agree_same(comm, n);
    code = code ? code : agree_options(comm, options);
    if (!code) {
        s.low = s.best_low = bound[rank];
        s.high = s.best_high = bound[rank + 1];
        *share = s;
    }
    free(bound);
    return code;
}

/* What all loads come to, and what the rule makes of them. */
static int look(step *s, eqp_feedback_state *state, enum eqp_feedback_verdict *verdict)
{
    int64_t max = s->me.load;
    int code = eqp_scan_int64(s->comm, s->me.load, &s->me.before, &s->me.total);

    if (code) {
        return code;
    }
    if (MPI_Allreduce(MPI_IN_PLACE, &max, 1, MPI_INT64_T, MPI_MAX, s->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    return eqp_feedback_check(state, s->me.nranks, max, s->me.total, verdict);
}

static int send_bounds(step *s)
{
    for (int i = 0; i < s->count; i++) {
        const int k = s->first + i;
        s->bound[i] = eqp_feedback_bound(&s->me, k);
        if (MPI_Isend(&s->bound[i], 1, MPI_INT64_T, k, LOW_TAG, s->comm, &s->request[2 * i]) != MPI_SUCCESS ||
            MPI_Isend(&s->bound[i], 1, MPI_INT64_T, k - 1, HIGH_TAG, s->comm, &s->request[2 * i + 1]) != MPI_SUCCESS) {
            return EQP_ERR_MPI;
        }
    }
    return EQP_OK;
}

/* Nobody knows who will send its bounds, but all know how many come: every rank but the first gets a low one, every
 * rank but the last a high one. Nobody can be a step ahead, as the data of this one are agreed on before they travel.
 */
static int exchange_bounds(step *s)
{
    int code = send_bounds(s);

    if (!code && s->me.rank > 0 &&
        MPI_Recv(&s->low, 1, MPI_INT64_T, MPI_ANY_SOURCE, LOW_TAG, s->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    if (!code && s->me.rank < s->me.nranks - 1 &&
        MPI_Recv(&s->high, 1, MPI_INT64_T, MPI_ANY_SOURCE, HIGH_TAG, s->comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    if (!code && MPI_Waitall(2 * s->count, s->request, MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    return code;
}

/* New bounds from the loads; which of my iterations go where. */
static int plan_step(step *s)
{
    int code = eqp_feedback_inside(&s->me, &s->first, &s->count);

    s->low = s->me.low; /* of the first rank, and of all ranks where the total is 0 */
    s->high = s->me.high;
    code = code ? code : eqp_array_create(&s->bound, s->count, sizeof *s->bound);
    code = code ? code : eqp_array_create(&s->request, 2 * (int64_t)s->count, sizeof(MPI_Request));
    code = eqp_agree(s->comm, code, NULL);
    if (!code && s->me.total > 0) {
        code = exchange_bounds(s);
    }
    for (int i = 0; i <= s->count && !code; i++) {
        const eqp_feedback_piece piece = eqp_feedback_piece_at(&s->me, s->first, s->count, i);
        s->to[piece.rank] = piece.high - piece.low;
    }
    return code;
}

/* Back to the best ranges: who has them is not known from loads, so all ranks tell theirs. */
static int plan_return(step *s, const eqp_feedback_share *share)
{
    const int64_t mine[2] = {share->best_low, share->best_high};
    int code = eqp_agree(s->comm, eqp_array_create(&s->range, 2 * (int64_t)s->me.nranks, sizeof *s->range), NULL);

    if (code) {
        return code;
    }
    if (MPI_Allgather(mine, 2, MPI_INT64_T, s->range, 2, MPI_INT64_T, s->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    s->low = mine[0];
    s->high = mine[1];
    for (int r = 0; r < s->me.nranks; r++) {
        const int64_t low = s->range[2 * r] > s->me.low ? s->range[2 * r] : s->me.low;
        const int64_t high = s->range[2 * r + 1] < s->me.high ? s->range[2 * r + 1] : s->me.high;
        s->to[r] = high > low ? high - low : 0;
    }
    return EQP_OK;
}

/* Ranges lie in the order of the ranks before and after, so items need no sorting on either side. */
static int move_items(step *s, size_t item_size, const void *items)
{
    int64_t arriving = 0;
    int code = eqp_exchange_counts(s->comm, s->to, s->from, &arriving);

    if (code) {
        return code;
    }
    code = arriving == s->high - s->low ? EQP_OK : EQP_ERR_INTERNAL;
    code = code ? code : eqp_array_create(&s->items, arriving, item_size);
    code = eqp_agree(s->comm, code, NULL);
    return code ? code : eqp_exchange(s->comm, item_size, s->to, items, s->from, s->items);
}

static int check(const step *s, size_t item_size, void *const *items, const eqp_feedback_share *share)
{
    const int64_t n = share ? share->high - share->low : -1;
    int code = n < 0 || s->me.load < 0 || (item_size > 0 && (!items || (n > 0 && !*items))) ? EQP_ERR_ARGUMENT : EQP_OK;

    code = eqp_agree(s->comm, code, NULL);
    return code ? code : eqp_agree_same(s->comm, (int64_t)item_size);
}

/* Whether other ranges than the present ones were the best, and the rule has them back. */
static int goes_back(const eqp_feedback_state *state, enum eqp_feedback_verdict verdict)
{
    return state->options.rule == EQP_FEEDBACK_GUARDED && state->best_step < state->checks - 1 &&
           (verdict == EQP_FEEDBACK_SWINGS || verdict == EQP_FEEDBACK_LAST_STEP);
}

static int balance(step *s, size_t item_size, void **items, eqp_feedback_share *share,
                   enum eqp_feedback_verdict *verdict)
{
    eqp_feedback_share next = *share;
    const int steps = share->state.checks;
    int code = look(s, &next.state, verdict);

    if (code) {
        return code;
    }
    if (next.state.best_step == steps) {
        next.best_low = share->low;
        next.best_high = share->high;
    }
    if (*verdict == EQP_FEEDBACK_GO_ON || goes_back(&next.state, *verdict)) {
        code = *verdict == EQP_FEEDBACK_GO_ON ? plan_step(s) : plan_return(s, &next);
        if (!code && item_size > 0) {
            code = move_items(s, item_size, *items);
        }
        next.low = s->low;
        next.high = s->high;
    }
    if (!code) {
        *share = next;
        if (s->items) {
            free(*items);
            *items = s->items;
            s->items = NULL;
        }
    }
    return code;
}

int eqp_feedback_balance(MPI_Comm comm, int64_t load, size_t item_size, void *data, eqp_feedback_share *share,
                         enum eqp_feedback_verdict *verdict)
{
    step s = {.comm = comm};
    void *items = NULL;
    enum eqp_feedback_verdict said = EQP_FEEDBACK_GO_ON;
    int code = eqp__comm_shape(comm, &s.me.rank, &s.me.nranks);

    if (code) {
        return code;
    }
    if (data && item_size > 0) {
        memcpy(&items, data, sizeof items);
    }
    s.me.load = load;
    code = check(&s, item_size, data ? &items : NULL, verdict ? share : NULL);
    if (code) {
        return code;
    }
    s.me.low = share->low;
    s.me.high = share->high;
    s.me.load = share->high > share->low ? load : 0;
    code = eqp_array_create(&s.to, s.me.nranks, sizeof *s.to);
    code = code ? code : eqp_array_create(&s.from, s.me.nranks, sizeof *s.from);
    code = eqp_agree(comm, code, NULL);
    code = code ? code : balance(&s, item_size, &items, share, &said);
    step_free(&s);
    if (!code) {
        *verdict = said;
        if (data && item_size > 0) {
            memcpy(data, &items, sizeof items);
        }
    }
    return code;
}
