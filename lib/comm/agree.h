/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement for collective calls: on a code, and in the same allreduce on what must be equal on all ranks. */
#ifndef EQUIPOISE_COMM_AGREE_H
#define EQUIPOISE_COMM_AGREE_H

#include <equipoise/survey.h>

#include <math.h>
#include <mpi.h>
#include <stdint.h>

/* Marks an MPI call that may wait for other ranks; its value is the call's. */
#define EQP__WAITS(call) (eqp_wait_begin(), eqp__waited(call))
static inline int eqp__waited(int code)
{
    eqp_wait_end();
    return code;
}

/* Rank and number of ranks; EQP_OK, EQP_ERR_ARGUMENT for MPI_COMM_NULL, EQP_ERR_MPI. Local. */
int eqp__comm_shape(MPI_Comm comm, int *rank, int *nranks);

/* eqp_comm_create() for an `own` that is there on all ranks, without agreement. Collective. */
int eqp__comm_dup(MPI_Comm comm, MPI_Comm *own);

/* A key for attributes of communicators, which MPI_Finalize() frees. key: static. Local; EQP_OK or EQP_ERR_MPI. */
int eqp__key_create(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *forget, int *key);

/* Counts bytes to a rank where traffic is watched. Local. */
void eqp__traffic_add(MPI_Comm comm, int to, int64_t bytes);

/* Most numbers that ranks can compare at once. */
enum { EQP__AGREE_MOST = 56 };

/* eqp_agree() with the least of each of n numbers, by the same allreduce.
 * least: [n] of this rank; then of all ranks; unchanged on error */
int eqp__agree_least(MPI_Comm comm, int code, int n, int64_t *least, eqp_message *message);

/* An agreement on its way: no call of it waits for anybody but the end. */
typedef struct eqp__agreement {
    MPI_Comm comm;
    int code, n, nranks;
    int64_t mine[1 + EQP__AGREE_MOST], all[1 + EQP__AGREE_MOST];
    MPI_Request request; /* may be tested */
} eqp__agreement;

/* eqp__agree_least() in two halves, between which other messages of the communicator may travel. Collective; EQP_OK or
 * EQP_ERR_MPI of this rank, then the code of all ranks. The agreement stays where it is meanwhile. */
int eqp__agree_begin(MPI_Comm comm, int code, int n, const int64_t *least, eqp__agreement *a);
int eqp__agree_end(eqp__agreement *a, int64_t *least);

/* Most numbers that ranks can add up when they meet. */
enum { EQP__MEET_MOST = 256 };

/* eqp__agree_least() with sums of nsum doubles, in the same allreduce, in the order of the ranks: the same bits on all
 * of them. nleast, nsum: the same on all ranks, at most EQP__AGREE_MOST and EQP__MEET_MOST
 * sum: [nsum] of this rank; then of all ranks; unchanged on error */
int eqp__meet(MPI_Comm comm, int code, int nleast, int64_t *least, int nsum, double *sum, eqp_message *message);

/* Numbers in the order of doubles, for their least; NaN comes first or last. */
int64_t eqp__rank_of_double(double x);
double eqp__double_of_rank(int64_t rank);

/* eqp_agree(), and EQP_ERR_ARGUMENT on all ranks if they differ in `value`, by the same allreduce. */
int eqp__agree_alike(MPI_Comm comm, int code, int64_t value);

/* Numbers whose least over the ranks show whether a value is the same on all: the value itself and what falls as it
 * grows. A rank that leaves both at INT64_MAX has no say. */
static inline void eqp__put_value(int64_t pair[2], int64_t value)
{
    pair[0] = value;
    pair[1] = ~value;
}

static inline int eqp__pair_differs(const int64_t least[2])
{
    return least[0] != INT64_MAX && least[0] != ~least[1];
}

/* A number that has to be the same on all ranks, and what it is of. */
typedef struct eqp__same {
    int64_t value;
    const char *what;
} eqp__same;

/* eqp_fingerprint() of a text; NULL is as an empty one. */
int64_t eqp__print_text(int64_t print, const char *text);

/* The bits of a number, as such a word; -0 is the same number as 0. */
int64_t eqp__bits_of(double x);

/* eqp_sum_double(), eqp_sum_int64() of arrays that are there and equally long on all ranks, without agreement. */
int eqp__sum_double(MPI_Comm comm, int64_t n, double *value);
int eqp__sum_int64(MPI_Comm comm, int64_t n, int64_t *value);

/* eqp__sum_double() where all sums are exact, whoever adds up what in which order: half the calls. */
int eqp__sum_exact(MPI_Comm comm, int64_t n, double *value);

/* Rounds weights >= 0 of all ranks to multiples of one power of two, so small that 2^52 of it are more than all weights
 * together. Then sums of any of them are exact, whoever adds up what in which order, and what is decided by sums does
 * not depend on the ranks. Collective, one meeting. */
int eqp__weights_round(MPI_Comm comm, int64_t n, double *weight);

/* That power of two for `total` numbers of at most `most`, 0: smaller than all doubles, so that nothing is rounded. */
double eqp__quantum(double most, double total);

/* x as such a multiple. */
static inline double eqp__round_to(double quantum, double x)
{
    return quantum > 0 ? rint(x / quantum) * quantum : x;
}

#endif
