/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of a schedule: what the rules see, and what engines need who keep the pools elsewhere. */
#ifndef EQUIPOISE_SCHEDULE_RULES_H
#define EQUIPOISE_SCHEDULE_RULES_H

#include <equipoise/schedule.h>

/* What a rank's measurements contribute to the sums over the ranks: all zero before it has any. */
enum {
    EQP__MEASURED, /* 1 */
    EQP__FIRST,    /* speeds: WAP, eq. 2.4; spread: sigma^2 / mu, eq. 2.14 */
    EQP__INVERSE,  /* speeds: 1 / WAP; spread: 1 / mu, eq. 2.15 */
    EQP__GIVEN,    /* the weight that it began with */
    EQP__SHARES
};

typedef struct eqp__share {
    double of[EQP__SHARES];
} eqp__share;

/* Where a rule that goes in steps or batches is: a function of how far the loop is, kept so that nobody starts anew. */
typedef struct eqp__cursor {
    int64_t first; /* of the present batch */
    int64_t size;  /* of a chunk in it; 0: not begun */
} eqp__cursor;

typedef struct eqp__rank {
    double given;                    /* weight that it began with, mean 1 */
    double weight;                   /* `adaptive`: that of its present batch */
    int64_t weighed;                 /* first iteration of that batch; -1: none */
    eqp_schedule_chunk last;         /* what it got last */
    double folds;                    /* chunks or time steps that were taken in: i of eq. 2.4 */
    double seconds, items;           /* sums of eq. 2.4; spread: plain sums */
    double squares;                  /* spread: of eq. 2.12 */
    double step_seconds, step_items; /* of the present time step */
} eqp__rank;

struct eqp_schedule {
    const eqp_schedule_method *method;
    eqp_schedule_options options; /* without weights */
    int64_t n;
    int64_t left;
    int nranks, npools;
    int64_t *next, *end; /* [npools] a pool has the iterations next to end - 1 left */
    eqp__cursor cursor;
    eqp__rank *rank;   /* [nranks] */
    eqp__share *share; /* [2 leaves] a tree of sums: the parent of k is k / 2, rank r is leaf leaves + r */
    int leaves;
};

/* ceil(x), at least 1 and at most `most` >= 1. */
int64_t eqp__at_most(double x, int64_t most);

/* The method's proposal for a rank, made legal: within the pool; count 0 if nothing is left for it. */
void eqp__schedule_propose(eqp_schedule *schedule, int rank, int *pool, int64_t *count);

/* A rank has got the first `count` of the pool, which begins at `first`: of the pools only this one is known to have
 * moved. */
void eqp__schedule_take(eqp_schedule *schedule, int rank, int pool, int64_t first, int64_t count);

/* Pool p begins at next[p] now. A cursor only goes forward, and so do pools. */
void eqp__schedule_set_next(eqp_schedule *schedule, int pool, int64_t next);

/* A rank's contribution to the sums, and how it is replaced. */
eqp__share eqp__schedule_share(const eqp_schedule *schedule, int rank);
void eqp__schedule_set_share(eqp_schedule *schedule, int rank, const eqp__share *share);

/* eqp_schedule_restart() with parts that are given, and owned pools that are these: rank r has the iterations first[r]
 * to first[r + 1] - 1. `first`: [nranks + 1] rising from 0. */
void eqp__schedule_restart_parts(eqp_schedule *schedule, const int64_t *first);

/* The time step of eq. 2.4 is over. */
void eqp__schedule_fold_step(eqp_schedule *schedule);

/* Rows of the table. */
extern const eqp_schedule_method eqp__schedule_static, eqp__schedule_self, eqp__schedule_fixed, eqp__schedule_guided,
    eqp__schedule_trapezoid, eqp__schedule_factoring, eqp__schedule_weighted, eqp__schedule_awf, eqp__schedule_awf_b,
    eqp__schedule_awf_c, eqp__schedule_awf_d, eqp__schedule_awf_e, eqp__schedule_adaptive_factoring,
    eqp__schedule_fractiling;

#endif
