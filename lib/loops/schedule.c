/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a scheduled loop. */
#include "rules.h"

#include "base/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t part_first(int64_t n, int nranks, int rank)
{
    const int64_t rest = n % nranks;

    return rank * (n / nranks) + (rank < rest ? rank : rest);
}

eqp_schedule_chunk eqp__schedule_part(int64_t n, int nranks, int rank)
{
    const int64_t first = part_first(n, nranks, rank);

    return (eqp_schedule_chunk){first, part_first(n, nranks, rank + 1) - first};
}

int64_t eqp__at_most(double x, int64_t most)
{
    /* NaN becomes 1. */
    return !(x > 1.0) ? 1 : x >= (double)most ? most : (int64_t)ceil(x) < most ? (int64_t)ceil(x) : most;
}

static int check_options(const eqp_schedule_options *o, int nranks)
{
    double sum = 0.0;

    EQP__FAIL_IF(o->size != sizeof *o || !isfinite(o->factor) || o->factor < 1.0 || o->chunk < 0 ||
                     !eqp__is_amount(o->overhead) || !eqp__is_amount(o->deviation) || o->dimensions < 1 ||
                     o->dimensions > 3,
                 EQP_ERR_ARGUMENT);
    for (int r = 0; o->weight && r < nranks; r++) {
        EQP__FAIL_IF(!eqp__is_positive(o->weight[r]), EQP_ERR_ARGUMENT);
        sum += o->weight[r];
    }
    return isfinite(sum) ? EQP_OK : EQP_ERR_ARGUMENT;
}

/* Owned parts begin at multiples of a small tile, at least eight to a part, so that no tile is cut. */
static int64_t part_boundary(const eqp_schedule *s, int p)
{
    int64_t first = part_first(s->n, s->nranks, p), tile = 1;

    if (s->method->propose != eqp__propose_fractiling || p == 0 || p == s->nranks) {
        return first;
    }
    while (tile <= s->n / s->nranks / 8 >> s->options.dimensions) {
        tile <<= s->options.dimensions;
    }
    return first / tile * tile;
}

/* `first`: start of each part; NULL: even parts. */
static void fill_pools(eqp_schedule *s, const int64_t *first)
{
    for (int p = 0; p < s->npools; p++) {
        s->next[p] = s->npools == 1 ? 0 : first ? first[p] : part_boundary(s, p);
        s->end[p] = s->npools == 1 ? s->n : first ? first[p + 1] : part_boundary(s, p + 1);
    }
    s->left = s->n;
    s->cursor = (eqp__cursor){0, 0};
    for (int r = 0; r < s->nranks; r++) {
        s->rank[r].last = (eqp_schedule_chunk){0, 0};
        s->rank[r].weighed = -1;
    }
}

/* Normalizes the mean to 1 (eq. 2.7). Each weight is divided before summing, as the sum may overflow. */
static void set_weights(eqp_schedule *s, const double *weight)
{
    double mean = 0.0;

    for (int r = 0; weight && r < s->nranks; r++) {
        mean += weight[r] / s->nranks;
    }
    for (int r = 0; r < s->nranks; r++) {
        s->rank[r].given = weight && mean > 0.0 ? weight[r] / mean : 1.0;
        s->rank[r].weight = s->rank[r].given;
    }
}

int eqp_schedule_create(const eqp_schedule_method *method, int64_t n, int nranks, const eqp_schedule_options *options,
                        eqp_schedule **schedule)
{
    const eqp_schedule_options defaults = eqp_schedule_options_defaults();
    eqp_schedule *s = NULL;
    int code;

    options = options ? options : &defaults;
    EQP__FAIL_IF(!method || n < 0 || nranks < 1 || (code = check_options(options, nranks)), EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(nranks > INT32_MAX / 4, EQP_ERR_OVERFLOW);
    EQP__CHECK(eqp_array_create(&s, 1, sizeof *s));
    s->method = method;
    s->options = *options;
    s->options.weight = NULL;
    s->n = n;
    s->nranks = nranks;
    s->npools = method->owned ? nranks : 1;
    for (s->leaves = 1; s->leaves < nranks; s->leaves *= 2) {
    }
    code = EQP__ARRAYS(EQP__ARRAY(s->next, s->npools), EQP__ARRAY(s->end, s->npools), EQP__ARRAY(s->rank, nranks),
                       EQP__ARRAY(s->share, 2 * (int64_t)s->leaves));
    if (code) {
        eqp_schedule_free(s);
        return code;
    }
    set_weights(s, options->weight);
    fill_pools(s, NULL);
    *schedule = s;
    return EQP_OK;
}

void eqp_schedule_free(eqp_schedule *schedule)
{
    if (schedule) {
        EQP__FREE(schedule->next, schedule->end, schedule->rank, schedule->share, schedule);
    }
}

void eqp__schedule_propose(eqp_schedule *s, int rank, int *pool, int64_t *count)
{
    int64_t left;

    *pool = 0;
    *count = 0;
    if (s->left > 0) {
        s->method->propose(s, rank, pool, count);
    }
    left = s->end[*pool] - s->next[*pool];
    *count = *count < 0 ? 0 : *count > left ? left : *count;
}

void eqp__schedule_set_next(eqp_schedule *s, int pool, int64_t next)
{
    s->left -= next - s->next[pool];
    s->next[pool] = next;
}

void eqp__schedule_take(eqp_schedule *s, int rank, int pool, int64_t first, int64_t count)
{
    eqp__schedule_set_next(s, pool, first + count);
    s->rank[rank].last = (eqp_schedule_chunk){first, count};
}

int eqp_schedule_next(eqp_schedule *schedule, int rank, eqp_schedule_chunk *chunk)
{
    EQP_REQUIRE(schedule && chunk);
    int64_t count;
    int pool;

    EQP__FAIL_IF(rank < 0 || rank >= schedule->nranks, EQP_ERR_ARGUMENT);
    eqp__schedule_propose(schedule, rank, &pool, &count);
    eqp__schedule_take(schedule, rank, pool, schedule->next[pool], count);
    *chunk = schedule->rank[rank].last;
    return EQP_OK;
}

int eqp__schedule_yield(eqp_schedule *schedule, int from, int to, int64_t first, eqp_schedule_chunk *chunk)
{
    eqp_schedule_chunk *giver = &schedule->rank[from].last;
    const int64_t end = giver->first + giver->count;

    EQP__FAIL_IF(first < giver->first || first >= end, EQP_ERR_STATE);
    giver->count = first - giver->first;
    *chunk = (eqp_schedule_chunk){first, end - first};
    schedule->rank[to].last = *chunk;
    return EQP_OK;
}

void eqp__schedule_restart(eqp_schedule *schedule, int64_t n)
{
    eqp__schedule_fold_step(schedule);
    schedule->n = n;
    fill_pools(schedule, NULL);
}

void eqp__schedule_restart_parts(eqp_schedule *schedule, const int64_t *first)
{
    eqp__schedule_fold_step(schedule);
    schedule->n = first[schedule->nranks];
    fill_pools(schedule, first);
}
