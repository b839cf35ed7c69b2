/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of a loop on MPI ranks. */
#ifndef EQUIPOISE_PAR_SCHEDULE_LOOP_H
#define EQUIPOISE_PAR_SCHEDULE_LOOP_H

#include "schedule/rules.h"

#include <equipoise/schedule_run.h>

struct eqp_loop {
    MPI_Comm comm;
    int rank, nranks;
    eqp_loop_options options;
    eqp_loop_work work;
    eqp_schedule *schedule; /* as far as this rank knows: pools only shrink, so it never knows of too few iterations */
    bool ran;
    eqp_loop_result result;
    double looked; /* when this rank last let MPI get on with what others want */
    MPI_Win words; /* every rank: what is left of its chunk; rank 0 also: the pools, the shares */
    int64_t *word;
    int64_t cell;      /* this rank's word, as it was last seen */
    int64_t *pool;     /* [npools] to read into */
    double *share;     /* [nranks][EQP__SHARES] of all, to read into and to write from */
    MPI_Win bytes;     /* every rank: data and results of its part; MPI_WIN_NULL: nothing travels */
    char *byte;        /* its memory here */
    char *data, *back; /* [piece] data and results of somebody else's iterations */
    int64_t piece;     /* iterations that these can hold */
};

/* Hands out all iterations and computes this rank's. Local, but for one-sided operations. */
int eqp__loop_hand_out(eqp_loop *loop);

/* Computes consecutive iterations whose data may be anywhere. */
int eqp__loop_compute(eqp_loop *loop, int64_t first, int64_t count);

/* The window of data: NULL and MPI_WIN_NULL if nothing travels. Collective. */
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
