/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of a schedule, for the rules and for engines that keep the pools elsewhere. */
#ifndef EQUIPOISE_SCHEDULE_RULES_H
#define EQUIPOISE_SCHEDULE_RULES_H

#include <equipoise/more/loops.h>

/* Contributions of a rank to the sums over the ranks; 0 before its first measurement. */
enum {
    EQP__MEASURED, /* 1 */
    EQP__FIRST,    /* speeds: WAP, eq. 2.4; spread: sigma^2 / mu, eq. 2.14 */
    EQP__INVERSE,  /* speeds: 1 / WAP; spread: 1 / mu, eq. 2.15 */
    EQP__GIVEN,    /* initial weight */
    EQP__SHARES
};

typedef struct eqp__share {
    double of[EQP__SHARES];
} eqp__share;

/* Position of a rule of steps or batches. It is a function of the loop's progress, cached to avoid starting over. */
typedef struct eqp__cursor {
    int64_t first; /* of the present batch */
    int64_t size;  /* of a chunk in it; 0: not begun */
} eqp__cursor;

typedef struct eqp__rank {
    double given;                    /* initial weight, mean 1 */
    double weight;                   /* `adaptive`: weight in its present batch */
    int64_t weighed;                 /* first iteration of that batch; -1: none */
    eqp_schedule_chunk last;         /* its last chunk */
    double folds;                    /* chunks or time steps added: i of eq. 2.4 */
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
    int64_t *next, *end; /* [npools] remaining iterations of a pool: next to end - 1 */
    eqp__cursor cursor;
    eqp__rank *rank;   /* [nranks] */
    eqp__share *share; /* [2 leaves] a tree of sums: the parent of k is k / 2, rank r is leaf leaves + r */
    int leaves;
};

/* ceil(x), at least 1 and at most `most` >= 1. */
int64_t eqp__at_most(double x, int64_t most);

/* The method's proposal for a rank, cut to the pool; count 0: nothing left. */
void eqp__schedule_propose(eqp_schedule *schedule, int rank, int *pool, int64_t *count);

/* Records that a rank took the first `count` iterations of the pool that begins at `first`. Other pools may have moved
 * unseen. */
void eqp__schedule_take(eqp_schedule *schedule, int rank, int pool, int64_t first, int64_t count);

/* Moves the start of pool p to next[p]. Cursors and pools only move forward. */
void eqp__schedule_set_next(eqp_schedule *schedule, int pool, int64_t next);

/* A rank's contribution to the sums; replaces it. */
eqp__share eqp__schedule_share(const eqp_schedule *schedule, int rank);
void eqp__schedule_set_share(eqp_schedule *schedule, int rank, const eqp__share *share);

/* eqp_schedule_restart() with given parts, which are also the pools of owned methods: rank r has the iterations
 * first[r] to first[r + 1] - 1. `first`: [nranks + 1], nondecreasing from 0. */
void eqp__schedule_restart_parts(eqp_schedule *schedule, const int64_t *first);

/* Ends the time step of eq. 2.4. */
void eqp__schedule_fold_step(eqp_schedule *schedule);

/* Rows of the table of methods. */
extern const eqp_schedule_method eqp__schedule_static, eqp__schedule_self, eqp__schedule_fixed, eqp__schedule_guided,
    eqp__schedule_trapezoid, eqp__schedule_factoring, eqp__schedule_weighted, eqp__schedule_awf, eqp__schedule_awf_b,
    eqp__schedule_awf_c, eqp__schedule_awf_d, eqp__schedule_awf_e, eqp__schedule_adaptive_factoring,
    eqp__schedule_fractiling;

#endif
