/* SPDX-License-Identifier: BSD-3-Clause */
/* Feedback-guided balancing of MPI ranks: new bounds, and the exchange of data. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/feedback/feedback.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/methods.h>

#include <string.h>

enum { LOW_TAG = 1, HIGH_TAG = 2 };

/* The record that each rank sends to all ranks: its load, its present range and its best range. */
typedef struct told {
    int64_t load, low, high, best_low, best_high;
} told;

enum { TOLD = sizeof(told) / sizeof(int64_t) };

typedef struct step {
    MPI_Comm comm;
    eqp_feedback_rank me;
    int first, count;     /* boundaries inside this rank's range */
    int64_t low, high;    /* the new range */
    int64_t *bound;       /* [count] new boundaries; send buffer */
    MPI_Request *request; /* [2 count] */
    int64_t *to;          /* [nranks] iterations sent */
    told *all;            /* [nranks] */
    char *items;          /* received data */
} step;

/* Fingerprint of a number and the options. Ranks with different options would reach different verdicts and deadlock in
 * different calls. */
static int64_t print_of(int64_t number, const eqp_feedback_options *o)
{
    const int64_t whole[] = {number, (int64_t)o->rule, o->max_steps, o->patience};
    const double threshold = o->threshold + 0.0; /* -0 is the same number */

    return eqp_fingerprint(eqp_fingerprint(0, 4, whole), 1, &threshold);
}

int eqp_feedback_share_init(MPI_Comm comm, int64_t n, const eqp_feedback_options *options, eqp_feedback_share *share)
{
    eqp_feedback_share s = {0};
    int64_t *bound = NULL;
    int rank = 0, nranks = 1, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    code = share && n >= 0 ? eqp__feedback_init(&s.state, options) : EQP_ERR_ARGUMENT;
    code = code ? code : eqp_array_create(&bound, (int64_t)nranks + 1, sizeof *bound);
    code = eqp__agree_alike(comm, code, code ? 0 : print_of(n, options));
    if (!code) {
        eqp__feedback_start(n, nranks, bound);
        s.low = s.best_low = bound[rank];
        s.high = s.best_high = bound[rank + 1];
        *share = s;
    }
    free(bound);
    return code;
}

/* True if present ranges are contiguous, best ranges are contiguous, and both cover the same iterations. */
static int are_ranges(int nranks, const told *all)
{
    const told *last = &all[nranks - 1];
    int fit = all[0].low >= 0 && all[0].low == all[0].best_low && last->high == last->best_high;

    for (int r = 0; r < nranks && fit; r++) {
        fit = all[r].high >= all[r].low && all[r].best_high >= all[r].best_low &&
              (r == 0 || (all[r].low == all[r - 1].high && all[r].best_low == all[r - 1].best_high));
    }
    return fit;
}

/* Gathers the records, sums the loads and applies the rule. Every rank checks all records, so all ranks return the same
 * error. Collective. */
static int look(step *s, const eqp_feedback_share *share, eqp_feedback_state *state, enum eqp_feedback_verdict *verdict)
{
    const told mine = {s->me.load, share->low, share->high, share->best_low, share->best_high};
    int64_t max = 0;

    EQP__CHECK(EQP__MPI(MPI_Allgather(&mine, TOLD, MPI_INT64_T, s->all, TOLD, MPI_INT64_T, s->comm)));
    EQP__FAIL_IF(!are_ranges(s->me.nranks, s->all), EQP_ERR_ARGUMENT);
    for (int r = 0; r < s->me.nranks; r++) {
        const int64_t load = s->all[r].load;
        EQP__FAIL_IF(load > INT64_MAX - s->me.total, EQP_ERR_OVERFLOW);
        s->me.before = r == s->me.rank ? s->me.total : s->me.before;
        s->me.total += load;
        max = load > max ? load : max;
    }
    *verdict = eqp__feedback_check(state, s->me.nranks, max, s->me.total);
    return EQP_OK;
}

static int send_bounds(step *s)
{
    for (int i = 0; i < s->count; i++) {
        const int k = s->first + i;
        s->bound[i] = eqp__feedback_bound(&s->me, k);
        EQP__FAIL_IF(MPI_Isend(&s->bound[i], 1, MPI_INT64_T, k, LOW_TAG, s->comm, &s->request[2 * i]) != MPI_SUCCESS ||
                         MPI_Isend(&s->bound[i], 1, MPI_INT64_T, k - 1, HIGH_TAG, s->comm, &s->request[2 * i + 1]) !=
                             MPI_SUCCESS,
                     EQP_ERR_MPI);
    }
    return EQP_OK;
}

/* Sends and receives the new bounds. The senders are unknown, but the numbers of messages are fixed: each rank except
 * the first receives one low bound, each rank except the last one high bound. Messages of two steps cannot mix, since
 * ranks agree in between. Collective. */
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

/* Finds the new range of this rank and the number of its iterations that go to each rank. Collective. */
static int plan_step(step *s)
{
    int code;

    eqp__feedback_inside(&s->me, &s->first, &s->count);
    s->low = s->me.low; /* stays for the first rank, and for all ranks if the total is 0 */
    s->high = s->me.high;
    code = EQP__ARRAYS(EQP__ARRAY(s->bound, s->count), {&s->request, 2 * (int64_t)s->count, sizeof(MPI_Request)});
    code = eqp_agree(s->comm, code, NULL);
    if (!code && s->me.total > 0) {
        code = exchange_bounds(s);
    }
    for (int i = 0; i <= s->count && !code; i++) {
        const eqp_feedback_piece piece = eqp__feedback_piece_at(&s->me, s->first, s->count, i);
        s->to[piece.rank] = piece.high - piece.low;
    }
    return code;
}

/* Plans the return to the best ranges. */
static void plan_return(step *s)
{
    s->low = s->all[s->me.rank].best_low;
    s->high = s->all[s->me.rank].best_high;
    for (int r = 0; r < s->me.nranks; r++) {
        const int64_t low = s->all[r].best_low > s->me.low ? s->all[r].best_low : s->me.low;
        const int64_t high = s->all[r].best_high < s->me.high ? s->all[r].best_high : s->me.high;
        s->to[r] = high > low ? high - low : 0;
    }
}

/* Moves the data. Ranges are in rank order before and after, so items need no sorting on either side. Collective. */
static int move_items(step *s, size_t item_size, const void *items)
{
    int64_t arriving = 0;
    int code = eqp__send(s->comm, EQP_OK, item_size, s->to, items, NULL, &arriving, &s->items);

    return code ? code : eqp_agree(s->comm, arriving == s->high - s->low ? EQP_OK : EQP_ERR_INTERNAL, NULL);
}

/* Checks the arguments and allocates memory on all ranks. Collective. */
static int open_step(step *s, int64_t load, size_t item_size, void *const *items, const eqp_feedback_share *share)
{
    const int range = share && share->low >= 0 && share->high >= share->low;
    int64_t print = 0;
    int code = !range || load < 0 || (item_size > 0 && (!items || (share->high > share->low && !*items)))
                   ? EQP_ERR_ARGUMENT
                   : EQP_OK;

    code = code ? code : EQP__ARRAYS(EQP__ARRAY(s->to, s->me.nranks), EQP__ARRAY(s->all, s->me.nranks));
    if (!code) {
        const int64_t whole[] = {(int64_t)item_size, share->state.checks, share->state.best_step};
        const double real[] = {share->state.value, share->state.best};
        s->me.low = share->low;
        s->me.high = share->high;
        s->me.load = share->high > share->low ? load : 0;
        print = print_of(eqp_fingerprint(0, 3, whole), &share->state.options);
        print = eqp_fingerprint(print, 2, real);
    }
    return eqp__agree_alike(s->comm, code, print);
}

/* True if the rule returns to earlier ranges, which were better than the present ones. */
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
    int code = look(s, share, &next.state, verdict);

    EQP__CHECK(code);
    if (next.state.best_step == steps) {
        next.best_low = share->low;
        next.best_high = share->high;
    }
    if (*verdict == EQP_FEEDBACK_GO_ON || goes_back(&next.state, *verdict)) {
        if (*verdict == EQP_FEEDBACK_GO_ON) {
            code = plan_step(s);
        } else {
            plan_return(s);
        }
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

    EQP__CHECK(code);
    if (data && item_size > 0) {
        memcpy(&items, data, sizeof items);
    }
    code = open_step(&s, load, item_size, data ? &items : NULL, verdict ? share : NULL);
    code = code ? code : balance(&s, item_size, &items, share, &said);
    EQP__FREE(s.bound, s.request, s.to, s.all, s.items);
    if (!code) {
        *verdict = said;
        if (data && item_size > 0) {
            memcpy(data, &items, sizeof items);
        }
    }
    return code;
}
