/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement of all ranks: on a code and, in the same allreduce, on arguments that must be equal on all ranks. */
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

/* eqp_comm_create() without the check of `own`, and so without agreement. Collective. */
int eqp__comm_dup(MPI_Comm comm, MPI_Comm *own);

/* Largest number of minima in an agreement. */
enum { EQP__AGREE_MOST = 56 };

/* eqp_agree() and the minima of n numbers in the same allreduce.
 * least: [n] of this rank; then the minima over all ranks; unchanged on error */
int eqp__agree_least(MPI_Comm comm, int code, int n, int64_t *least, eqp_message *message);

typedef struct eqp__agreement {
    MPI_Comm comm;
    int code, n, nranks;
    int64_t mine[1 + EQP__AGREE_MOST], all[1 + EQP__AGREE_MOST];
    MPI_Request request; /* may be tested */
} eqp__agreement;

/* eqp__agree_least() in two halves; the communicator may be used in between. Collective. begin returns EQP_OK or this
 * rank's EQP_ERR_MPI, end the code of all ranks. The agreement must not move in memory before its end. */
int eqp__agree_begin(MPI_Comm comm, int code, int n, const int64_t *least, eqp__agreement *a);
int eqp__agree_end(eqp__agreement *a, int64_t *least);

/* Largest number of sums in a meeting. */
enum { EQP__MEET_MOST = 256 };

/* eqp__agree_least() and sums of nsum doubles in the same allreduce. Numbers are added in the order of the ranks, so
 * all ranks get the same bits. nleast, nsum: the same on all ranks, at most EQP__AGREE_MOST and EQP__MEET_MOST sum:
 * [nsum] of this rank; then the sums over all ranks; unchanged on error */
int eqp__meet(MPI_Comm comm, int code, int nleast, int64_t *least, int nsum, double *sum, eqp_message *message);

/* Integers in the order of doubles, so that integer minima are minima of doubles. NaN comes first or last. */
int64_t eqp__rank_of_double(double x);
double eqp__double_of_rank(int64_t rank);

/* eqp_agree(), and EQP_ERR_ARGUMENT on all ranks if `value` differs between them, in the same allreduce. */
int eqp__agree_alike(MPI_Comm comm, int code, int64_t value);

/* Two numbers whose minima over the ranks differ from each other's complement if the ranks' values differ. A rank
 * without a value leaves both at INT64_MAX. */
static inline void eqp__put_value(int64_t pair[2], int64_t value)
{
    pair[0] = value;
    pair[1] = ~value;
}

static inline int eqp__pair_differs(const int64_t least[2])
{
    return least[0] != INT64_MAX && least[0] != ~least[1];
}

/* A number that must be the same on all ranks, and its name in error messages. */
typedef struct eqp__same {
    int64_t value;
    const char *what;
} eqp__same;

/* eqp_fingerprint() of a text; NULL counts as empty. */
int64_t eqp__print_text(int64_t print, const char *text);

/* The bits of a double; those of 0 for -0. */
int64_t eqp__bits_of(double x);

/* eqp_sum_double() and eqp_sum_int64() without agreement: the caller knows that n is equal on all ranks. */
int eqp__sum_double(MPI_Comm comm, int64_t n, double *value);
int eqp__sum_int64(MPI_Comm comm, int64_t n, int64_t *value);

/* eqp__sum_double() for numbers whose sums are exact in any order. It takes half the collective calls. */
int eqp__sum_exact(MPI_Comm comm, int64_t n, double *value);

/* Rounds the weights >= 0 of all ranks to multiples of a power of two, chosen so small that 2^52 multiples exceed the
 * sum of all weights. Sums of such weights are exact in any order, so decisions based on them do not depend on the
 * number of ranks. Collective, one meeting. */
int eqp__weights_round(MPI_Comm comm, int64_t n, double *weight);

/* That power of two for `total` numbers of at most `most`. 0: it would underflow, and numbers are not rounded. */
double eqp__quantum(double most, double total);

/* The multiple of a quantum that is nearest to x. */
static inline double eqp__round_to(double quantum, double x)
{
    return quantum > 0 ? rint(x / quantum) * quantum : x;
}

#endif
