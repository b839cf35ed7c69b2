/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of a loop on MPI ranks. */
#ifndef EQUIPOISE_PAR_SCHEDULE_LOOP_H
#define EQUIPOISE_PAR_SCHEDULE_LOOP_H

#include "loops/rules.h"

#include <equipoise/schedule_run.h>

struct eqp__talk;

struct eqp_loop {
    MPI_Comm comm;
    int rank, nranks;
    eqp_loop_options options;
    eqp_loop_work work;
    eqp_schedule *schedule; /* as far as this rank knows: pools only shrink, so it never knows of too few iterations */
    bool ran;
    int64_t *part, *wanted; /* [nranks + 1] with bundles: where each rank's part begins; to read into */
    eqp_loop_result result;
    double looked; /* when this rank last let MPI get on with what others want, by the loop's clock */
    double since;  /* when it came back from that, by MPI's */
    MPI_Win words; /* every rank: the end of its chunk that others may take; rank 0 also: the pools, the shares */
    int64_t *word;
    int64_t cell;           /* this rank's word, as it was last seen */
    int64_t *cells;         /* [nranks] of all, to read into */
    int64_t *pool;          /* [npools] to read into */
    double *share;          /* [nranks][EQP__SHARES] of all, to read into and to write from */
    MPI_Win bytes;          /* every rank: data and results of its part; MPI_WIN_NULL: nothing travels */
    char *byte;             /* its memory here */
    char *data, *back;      /* [piece] data and results of somebody else's iterations */
    struct eqp__talk *talk; /* with a master */
    int64_t piece;          /* iterations that these can hold */
};

/* Hands out all iterations and computes this rank's: the two engines. */
int eqp__loop_help_yourselves(eqp_loop *loop);
int eqp__loop_ask_master(eqp_loop *loop);

/* What the master and its workers keep; NULL without a master. Local. */
int eqp__loop_talk_create(const eqp_loop *loop, struct eqp__talk **talk);
void eqp__loop_talk_free(struct eqp__talk *talk);

/* Seconds by the loop's clock. */
double eqp__loop_now(const eqp_loop *loop);

/* Iterations of a piece of a chunk that is cut. */
int64_t eqp__loop_grain(const eqp_loop *loop, int64_t count);

/* The squares of single iterations from the times of pieces: the spread of the means of pieces of g iterations is that
 * of iterations / g. `squares`: the sum of t^2 / g. */
double eqp__loop_squares(double seconds, double squares, int64_t count, int64_t pieces);

/* Takes in what this rank's chunk took. Returns whether the method could use it. */
bool eqp__loop_learn(eqp_loop *loop, const eqp_schedule_sample *sample);

/* Computes consecutive iterations whose data may be anywhere. */
int eqp__loop_compute(eqp_loop *loop, int64_t first, int64_t count);

/* The buffers, and where there is no master the window of data: MPI_WIN_NULL if nothing travels. Collective. */
int eqp__loop_data_create(eqp_loop *loop);
void eqp__loop_data_free(eqp_loop *loop);

/* Copies this rank's data into the window, its results out of it. Local, between two collective calls. */
void eqp__loop_data_put(eqp_loop *loop);
void eqp__loop_data_get(eqp_loop *loop);

/* Words of the window on rank 0, after each rank's own. */
enum { EQP__LOOP_CELL = 0, EQP__LOOP_POOLS = 1 };

static inline MPI_Aint eqp__loop_shares_at(const eqp_loop *loop)
{
    return EQP__LOOP_POOLS + loop->schedule->npools;
}

#endif
