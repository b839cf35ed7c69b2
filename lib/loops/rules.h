/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of a schedule, for the rules and for engines that keep the pools elsewhere. */
#ifndef EQUIPOISE_SCHEDULE_RULES_H
#define EQUIPOISE_SCHEDULE_RULES_H

#include <equipoise/more/loops.h>

#include <stdint.h>

/* Records the times of a rank's chunk, which only serve the methods that learn from them. A rank whose times sum to 0
 * counts as unmeasured. O(log nranks). EQP_OK, or EQP_ERR_DATA for times that are negative, not finite, or too small or
 * too large to compute with; the schedule is then unchanged. */
int eqp__schedule_record(eqp_schedule *schedule, int rank, const eqp_schedule_sample *sample);

/* Moves the end of a rank's last chunk, from `first` on, to another rank, which has none left: for chunks that take
 * longer than expected. The moved iterations become the last chunk of the receiver. EQP_OK, or EQP_ERR_STATE if `first`
 * is not in that chunk; `chunk` is then unchanged. */
int eqp__schedule_yield(eqp_schedule *schedule, int from, int to, int64_t first, eqp_schedule_chunk *chunk);

/* Restarts the loop with n iterations, for the next time step. Measured speeds are kept; for
 * `adaptive-weighted-factoring` they take effect now (eq. 2.4 to 2.10). `adaptive-factoring` starts again with the
 * first step of section 2.1.7. Iterations not handed out are dropped. O(nranks log nranks). */
void eqp__schedule_restart(eqp_schedule *schedule, int64_t n);

/* The part of a rank if n iterations are divided evenly in order, as by `static`. */
eqp_schedule_chunk eqp__schedule_part(int64_t n, int nranks, int rank);

/* The method's estimate of a rank's relative speed, 1 on average over the ranks. */
double eqp__schedule_weight(const eqp_schedule *schedule, int rank);

/** The chunk size of eq. 2.1 (C. Kruskal and A. Weiss, IEEE Trans. Software Eng. 11 (1985) 1001), not rounded:
 * (sqrt(2) n h / (sigma P sqrt(ln P)))^(2/3), but at least 1 and at most n / P (or 1, if n / P is less). One rank,
 * no deviation: n / P. Local, O(1).
 * \param[in] n          iterations, >= 0
 * \param[in] nranks     P >= 1
 * \param[in] overhead   h: seconds for handing out one chunk, >= 0
 * \param[in] deviation  sigma: standard deviation of an iteration's seconds, >= 0 */
double eqp__schedule_fixed_size(int64_t n, int nranks, double overhead, double deviation);

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

/* Present batch of a rule of steps or batches. It follows from the loop's progress and is cached. */
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

/* eqp__schedule_restart() with given parts, which are also the pools of owned methods: rank r has the iterations
 * first[r] to first[r + 1] - 1. `first`: [nranks + 1], nondecreasing from 0. */
void eqp__schedule_restart_parts(eqp_schedule *schedule, const int64_t *first);

/* Ends the time step of eq. 2.4. */
void eqp__schedule_fold_step(eqp_schedule *schedule);

/* Proposes tiles: its pools begin at multiples of a tile. */
void eqp__propose_fractiling(eqp_schedule *schedule, int rank, int *pool, int64_t *count);

#endif
