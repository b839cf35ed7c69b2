/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of computed iterations, and costs, for tests of loops. Include after cmocka.h. */
#ifndef EQP_SCHEDULE_WORLD_H
#define EQP_SCHEDULE_WORLD_H

#include "unit.h"

#include <equipoise/more/loops.h>
#include <equipoise/more/random.h>

typedef struct seen {
    int64_t n;
    unsigned char *times; /* [n] how often each iteration was computed */
} seen;

static inline seen seen_create(int64_t n)
{
    seen s = {n, calloc((size_t)n + 1, 1)};

    assert_non_null(s.times);
    return s;
}

static inline void seen_add(seen *s, eqp_schedule_chunk chunk)
{
    assert_true(chunk.first >= 0 && chunk.count >= 0 && chunk.first + chunk.count <= s->n);
    for (int64_t i = 0; i < chunk.count; i++) {
        s->times[chunk.first + i]++;
    }
}

/* Every iteration was computed once; frees. */
static inline void seen_end(seen *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        if (s->times[i] != 1) {
            fail_msg("iteration %lld was computed %d times", (long long)i, s->times[i]);
        }
    }
    free(s->times);
}

static inline eqp_schedule *schedule_of(const char *name, int64_t n, int nranks, const eqp_schedule_options *options)
{
    eqp_schedule *schedule = NULL;

    assert_non_null(eqp_schedule_method_find(name));
    assert_ok(eqp_schedule_create(eqp_schedule_method_find(name), n, nranks, options, &schedule));
    return schedule;
}

static inline double *costs_of(int64_t n, uint64_t seed)
{
    double *cost = calloc((size_t)n + 1, sizeof *cost);

    assert_non_null(cost);
    for (int64_t i = 0; i < n; i++) {
        const double u = eqp_random_uniform(seed, (uint64_t)i, 0);
        /* Uneven costs, some of them 0. */
        cost[i] = u < 0.1 ? 0.0 : u > 0.95 ? 50.0 * u : u;
    }
    return cost;
}

static inline int64_t next_size(eqp_schedule *schedule, int rank)
{
    eqp_schedule_chunk chunk;

    assert_ok(eqp_schedule_next(schedule, rank, &chunk));
    return chunk.count;
}

#endif
