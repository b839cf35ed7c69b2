/* SPDX-License-Identifier: BSD-3-Clause */
/* Factoring and its variants (sections 2.1.4 to 2.1.7 of the thesis): each batch is a fixed fraction of the remaining
 * iterations and has one chunk per rank. The number of iterations alone determines where batches begin. */
#include "rules.h"

#include <math.h>

/* Eq. 2.2: the chunk of a rank of weight 1 when `left` iterations are left. */
static int64_t chunk_of(const eqp_schedule *s, int64_t left)
{
    return eqp__at_most((double)left / (s->nranks * s->options.factor), left);
}

/* End of the batch at the cursor. */
static int64_t batch_end(const eqp_schedule *s)
{
    const eqp__cursor *c = &s->cursor;

    return c->size > (s->n - c->first) / s->nranks ? s->n : c->first + c->size * s->nranks;
}

/* Moves the cursor to the batch of the next iteration and returns the rest of that batch. The user may set the size of
 * the chunks in the first batch, which measure the weights (section 4.8). */
static int64_t find_batch(eqp_schedule *s)
{
    eqp__cursor *c = &s->cursor;

    if (c->size == 0) {
        c->size = s->options.chunk > 0 && s->method->learns != EQP_SCHEDULE_LEARNS_NOTHING
                      ? eqp__at_most((double)s->options.chunk, s->n)
                      : chunk_of(s, s->n);
    }
    while (s->next[0] >= batch_end(s)) {
        c->first = batch_end(s);
        c->size = chunk_of(s, s->n - c->first);
    }
    return batch_end(s) - s->next[0];
}

static int64_t weighted(double weight, int64_t size, int64_t most)
{
    return eqp__at_most(floor(weight * (double)size + 0.5), most);
}

static void propose_factoring(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    const int64_t most = find_batch(s);

    (void)rank;
    (void)pool;
    *count = s->cursor.size < most ? s->cursor.size : most;
}

static void propose_weighted(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    const int64_t most = find_batch(s);

    (void)pool;
    *count = weighted(eqp__schedule_weight(s, rank), s->cursor.size, most);
}

/* A rank's weight is updated at its first chunk of a batch. */
static void propose_by_batch(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    eqp__rank *me = &s->rank[rank];
    const int64_t most = find_batch(s);

    (void)pool;
    if (me->weighed != s->cursor.first) {
        me->weighed = s->cursor.first;
        me->weight = eqp__schedule_weight(s, rank);
    }
    *count = weighted(me->weight, s->cursor.size, most);
}

/* Every chunk is a batch. The user sets the size of the first. */
static void propose_by_chunk(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    const bool first = s->options.chunk > 0 && !(eqp__schedule_share(s, rank).of[EQP__MEASURED] > 0.0);
    const int64_t size = first ? eqp__at_most((double)s->options.chunk, s->left) : chunk_of(s, s->left);

    (void)pool;
    *count = weighted(first ? s->rank[rank].given : eqp__schedule_weight(s, rank), size, s->left);
}

/* Eq. 2.16, with the difference of the root rewritten to avoid cancellation. Ranks without measurements count as the
 * mean of the measured ones in eq. 2.14 and 2.15; their chunk is the first one, n / 4P. */
static void propose_adaptive(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    const eqp__rank *me = &s->rank[rank];
    const eqp__share *sum = &s->share[1];
    const int64_t first =
        s->options.chunk > 0 ? s->options.chunk : eqp__at_most((double)s->n / (4.0 * s->nranks), s->n);
    double scale, d, tr;

    (void)pool;
    *count = first;
    if (eqp__schedule_share(s, rank).of[EQP__MEASURED] > 0.0) {
        scale = s->nranks / sum->of[EQP__MEASURED];
        d = sum->of[EQP__FIRST] * scale;
        tr = (double)s->left / (sum->of[EQP__INVERSE] * scale);
        *count = eqp__at_most(
            floor(2.0 * tr * tr / ((me->seconds / me->items) * (d + 2.0 * tr + sqrt(d * d + 4.0 * d * tr))) + 0.5),
            s->left);
    }
}

const eqp_schedule_method eqp__schedule_factoring = {"factoring",
                                                     "half of what is left in equal chunks, again and again",
                                                     EQP_SCHEDULE_LEARNS_NOTHING, false, propose_factoring};
const eqp_schedule_method eqp__schedule_weighted = {"weighted-factoring", "factoring in proportion to given weights",
                                                    EQP_SCHEDULE_LEARNS_FIRST, false, propose_weighted};
const eqp_schedule_method eqp__schedule_awf = {"adaptive-weighted-factoring",
                                               "factoring in proportion to the speeds of earlier time steps",
                                               EQP_SCHEDULE_LEARNS_STEPS, false, propose_by_batch};
const eqp_schedule_method eqp__schedule_awf_b = {"awf-b", "speeds from the chunks of this loop, renewed by the batch",
                                                 EQP_SCHEDULE_LEARNS_CHUNKS, false, propose_by_batch};
const eqp_schedule_method eqp__schedule_awf_c = {"awf-c", "speeds from the chunks of this loop, renewed by the chunk",
                                                 EQP_SCHEDULE_LEARNS_CHUNKS, false, propose_by_chunk};
const eqp_schedule_method eqp__schedule_awf_d = {"awf-d", "as awf-b, the time of handing out included",
                                                 EQP_SCHEDULE_LEARNS_OVERHEAD, false, propose_by_batch};
const eqp_schedule_method eqp__schedule_awf_e = {"awf-e", "as awf-c, the time of handing out included",
                                                 EQP_SCHEDULE_LEARNS_OVERHEAD, false, propose_by_chunk};
const eqp_schedule_method eqp__schedule_adaptive_factoring = {"adaptive-factoring",
                                                              "from mean and spread of each rank's times",
                                                              EQP_SCHEDULE_LEARNS_SPREAD, false, propose_adaptive};
