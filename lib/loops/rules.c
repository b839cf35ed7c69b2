/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that depend on the remaining iterations only: sections 2.1.1 to 2.1.3 of the thesis, and trapezoid. */
#include "rules.h"

#include <math.h>

static void propose_static(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    *pool = rank;
    *count = s->end[rank] - s->next[rank];
}

static void propose_self(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    (void)s;
    (void)rank;
    (void)pool;
    *count = 1;
}

double eqp__schedule_fixed_size(int64_t n, int nranks, double overhead, double deviation)
{
    const double most = fmax(1.0, (double)n / nranks);
    const double spread = deviation * nranks * sqrt(log(nranks));

    if (!(spread > 0.0)) {
        return most;
    }
    return fmin(most, fmax(1.0, pow(sqrt(2.0) * (double)n * overhead / spread, 2.0 / 3.0)));
}

static void propose_fixed(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    const eqp_schedule_options *o = &s->options;

    (void)rank;
    (void)pool;
    if (s->cursor.size == 0) {
        s->cursor.size = o->chunk > 0
                             ? o->chunk
                             : eqp__at_most(eqp__schedule_fixed_size(s->n, s->nranks, o->overhead, o->deviation), s->n);
    }
    *count = s->cursor.size;
}

static void propose_guided(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    (void)rank;
    (void)pool;
    *count = s->left / s->nranks + (s->left % s->nranks != 0);
}

/* Chunks decrease from n / 2P to 1 by a constant step, rounded down. The iterations left at the end go out in chunks of
 * the smallest size reached. */
static void propose_trapezoid(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    const int64_t largest = eqp__at_most((double)s->n / (2.0 * s->nranks), s->n);
    const int64_t chunks = (int64_t)ceil(2.0 * (double)s->n / (double)(largest + 1));
    const int64_t step = chunks > 1 ? (largest - 1) / (chunks - 1) : 0;
    eqp__cursor *c = &s->cursor;

    (void)rank;
    (void)pool;
    c->size = c->size == 0 ? largest : c->size;
    while (s->next[0] - c->first >= c->size) {
        c->first += c->size;
        c->size = c->size - step > 1 ? c->size - step : 1;
    }
    *count = c->first + c->size - s->next[0];
}

/* Factoring and its variants (sections 2.1.4 to 2.1.7 of the thesis): each batch is a fixed fraction of the remaining
 * iterations and has one chunk per rank. The number of iterations alone determines where batches begin. */

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

/* Fractiling (section 2.1.8): every rank starts with one tile, a range of the Morton order, and takes subtiles of
 * decreasing size; a rank that has finished helps where most is left. */

/* The fullest pool; among equals, the first at or after the rank's own, so that helpers spread. */
static int fullest_pool(const eqp_schedule *s, int rank)
{
    int best = rank;

    for (int k = 0; k < s->npools; k++) {
        const int p = (rank + k) % s->npools;
        best = s->end[p] - s->next[p] > s->end[best] - s->next[best] ? p : best;
    }
    return best;
}

/* The chunk is the largest tile, growing by 2^d per level, that is not larger than eq. 2.2 allows, or the iterations up
 * to the start of one. */
void eqp__propose_fractiling(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    const int64_t wanted = eqp__at_most((double)s->left / (s->nranks * s->options.factor), s->left);
    int64_t tile = 1;

    *pool = s->next[rank] < s->end[rank] ? rank : fullest_pool(s, rank);
    while (tile <= wanted >> s->options.dimensions) {
        tile <<= s->options.dimensions;
    }
    *count = tile - s->next[*pool] % tile;
}

const eqp_schedule_method *eqp_schedule_method_at(int i)
{
    static const eqp_schedule_method methods[] = {
        {"static", "one chunk for each rank, equally large", EQP_SCHEDULE_LEARNS_NOTHING, true, propose_static},
        {"self", "one iteration at a time", EQP_SCHEDULE_LEARNS_NOTHING, false, propose_self},
        {"fixed", "chunks of one size, from the overhead and the spread of the times", EQP_SCHEDULE_LEARNS_NOTHING,
         false, propose_fixed},
        {"guided", "what is left, divided by the ranks", EQP_SCHEDULE_LEARNS_NOTHING, false, propose_guided},
        {"factoring", "half of what is left in equal chunks, again and again", EQP_SCHEDULE_LEARNS_NOTHING, false,
         propose_factoring},
        {"weighted-factoring", "factoring in proportion to given weights", EQP_SCHEDULE_LEARNS_FIRST, false,
         propose_weighted},
        {"adaptive-weighted-factoring", "factoring in proportion to the speeds of earlier time steps",
         EQP_SCHEDULE_LEARNS_STEPS, false, propose_by_batch},
        {"awf-b", "speeds from the chunks of this loop, renewed by the batch", EQP_SCHEDULE_LEARNS_CHUNKS, false,
         propose_by_batch},
        {"awf-c", "speeds from the chunks of this loop, renewed by the chunk", EQP_SCHEDULE_LEARNS_CHUNKS, false,
         propose_by_chunk},
        {"awf-d", "as awf-b, the time of handing out included", EQP_SCHEDULE_LEARNS_OVERHEAD, false, propose_by_batch},
        {"awf-e", "as awf-c, the time of handing out included", EQP_SCHEDULE_LEARNS_OVERHEAD, false, propose_by_chunk},
        {"adaptive-factoring", "from mean and spread of each rank's times", EQP_SCHEDULE_LEARNS_SPREAD, false,
         propose_adaptive},
        {"fractiling", "tiles of the Morton order, first each rank's own", EQP_SCHEDULE_LEARNS_NOTHING, true,
         eqp__propose_fractiling},
        {"trapezoid", "sizes that fall by the same step", EQP_SCHEDULE_LEARNS_NOTHING, false, propose_trapezoid},
    };

    return i >= 0 && i < (int)(sizeof methods / sizeof methods[0]) ? &methods[i] : NULL;
}
