/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of a loop on MPI ranks. */
#ifndef EQUIPOISE_LOOPS_SCHEDULE_LOOP_H
#define EQUIPOISE_LOOPS_SCHEDULE_LOOP_H

#include "loops/rules.h"

#include <equipoise/more/loops.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct eqp__talk;

struct eqp_loop {
    MPI_Comm comm;
    int rank, nranks;
    eqp_loop_options options;
    eqp_loop_work work;
    eqp_schedule *schedule; /* this rank's view; pools only shrink, so it never misses iterations */
    bool ran;
    int64_t *part, *wanted; /* [nranks + 1] with bundles: start of each rank's part; buffer for reading it */
    eqp_loop_result result;
    double looked; /* when this rank last made progress in MPI, by the loop's clock */
    double since;  /* when that call returned, by MPI's clock */
    MPI_Win words; /* every rank: the stealable end of its chunk; rank 0 also: pools, shares */
    int64_t *word;
    int64_t cell;           /* this rank's word, as last seen */
    int64_t *cells;         /* [nranks] buffer for all words */
    int64_t *pool;          /* [npools] buffer for the pools */
    double *share;          /* [nranks][EQP__SHARES] buffer for all shares */
    struct eqp__talk *talk; /* with a master */
};

/* The two engines: hand out all iterations and compute this rank's. */
int eqp__loop_help_yourselves(eqp_loop *loop);
int eqp__loop_ask_master(eqp_loop *loop);

/* Creates the state of the engine with a master. Local. */
int eqp__loop_talk_create(const eqp_loop *loop, struct eqp__talk **talk);
void eqp__loop_talk_free(struct eqp__talk *talk);

double eqp__loop_now(const eqp_loop *loop);

/* Iterations of a piece of a chunk. */
int64_t eqp__loop_grain(const eqp_loop *loop, int64_t count);

/* Estimates the sum of squares of single iterations from times of pieces: the variance of the mean of g iterations is
 * that of one iteration / g. `squares`: the sum of t^2 / g. */
double eqp__loop_squares(double seconds, double squares, int64_t count, int64_t pieces);

/* Records the time of this rank's chunk. Returns true if the method can use it. */
bool eqp__loop_learn(eqp_loop *loop, const eqp_schedule_sample *sample);

/* Words of the window on rank 0, after the rank's own word. */
enum { EQP__LOOP_CELL = 0, EQP__LOOP_POOLS = 1 };

static inline MPI_Aint eqp__loop_shares_at(const eqp_loop *loop)
{
    return EQP__LOOP_POOLS + loop->schedule->npools;
}

#endif
