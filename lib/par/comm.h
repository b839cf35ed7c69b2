/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement for collective calls: on a code, and in the same allreduce on what must be equal on all ranks. */
#ifndef EQUIPOISE_PAR_COMM_H
#define EQUIPOISE_PAR_COMM_H

#include <equipoise/par.h>

/* Rank and number of ranks; EQP_OK, EQP_ERR_ARGUMENT for MPI_COMM_NULL, EQP_ERR_MPI. Local. */
int eqp__comm_shape(MPI_Comm comm, int *rank, int *nranks);

/* eqp_comm_create() for an `own` that is there on all ranks, without agreement. Collective. */
int eqp__comm_dup(MPI_Comm comm, MPI_Comm *own);

/* Most numbers that ranks can compare at once. */
enum { EQP__AGREE_MOST = 40 };

/* eqp_agree() with the least of each of n numbers, by the same allreduce.
 * least: [n] of this rank; then of all ranks; unchanged on error */
int eqp__agree_least(MPI_Comm comm, int code, int n, int64_t *least, eqp_message *message);

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

/* eqp_fingerprint() of a text; NULL is as an empty one. */
int64_t eqp__print_text(int64_t print, const char *text);

/* The bits of a number, as such a word; -0 is the same number as 0. */
int64_t eqp__bits_of(double x);

/* eqp_sum_double(), eqp_sum_int64() of arrays that are there and equally long on all ranks, without agreement. */
int eqp__sum_double(MPI_Comm comm, int64_t n, double *value);
int eqp__sum_int64(MPI_Comm comm, int64_t n, int64_t *value);

#endif
