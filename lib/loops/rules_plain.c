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

const eqp_schedule_method eqp__schedule_static = {"static", "one chunk for each rank, equally large",
                                                  EQP_SCHEDULE_LEARNS_NOTHING, true, propose_static};
const eqp_schedule_method eqp__schedule_self = {"self", "one iteration at a time", EQP_SCHEDULE_LEARNS_NOTHING, false,
                                                propose_self};
const eqp_schedule_method eqp__schedule_fixed = {"fixed",
                                                 "chunks of one size, from the overhead and the spread of the times",
                                                 EQP_SCHEDULE_LEARNS_NOTHING, false, propose_fixed};
const eqp_schedule_method eqp__schedule_guided = {"guided", "what is left, divided by the ranks",
                                                  EQP_SCHEDULE_LEARNS_NOTHING, false, propose_guided};
const eqp_schedule_method eqp__schedule_trapezoid = {"trapezoid", "sizes that fall by the same step",
                                                     EQP_SCHEDULE_LEARNS_NOTHING, false, propose_trapezoid};
