/* SPDX-License-Identifier: BSD-3-Clause */
/* A dense system A x = b whose rows are spread over the ranks in order, and Jacobi's iteration on it. Off the diagonal
 * coefficients are random in [0, 1), on it they are n, so the iteration converges; x is known. All calls are collective
 * and fail on all ranks or on none. */
#ifndef JACOBI_ROWS_H
#define JACOBI_ROWS_H

#include <mpi.h>
#include <stdint.h>

typedef struct jacobi_rows {
    MPI_Comm comm;
    int rank, nranks;
    int64_t n;      /* rows of the whole system */
    int64_t *share; /* [nranks] rows of each rank */
    double *row;    /* [share[rank]][n + 2]: number of the row, right side, coefficients */
    double *x;      /* [n] the same on all ranks */
    double *own;    /* [n] room for the new x of this rank's rows */
} jacobi_rows;

/* Makes the rows that each rank begins with. Start with {0}; jacobi_rows_free() in any case. */
int jacobi_rows_create(MPI_Comm comm, int64_t n, const int64_t *share, jacobi_rows *rows);
void jacobi_rows_free(jacobi_rows *rows);

/* One iteration. seconds: CPU seconds of this rank's rows, at least a nanosecond where it has any. residual: the
 * largest |b - A x| before it, over the largest |b|. */
int jacobi_rows_iterate(jacobi_rows *rows, double *seconds, double *residual);

/* Sends rows to the ranks that shall have them. moved: rows that changed their rank. */
int jacobi_rows_move(jacobi_rows *rows, const int64_t *share, int64_t *moved);

/* What came out: the residual of x, and how far x is from the truth, both relative and the largest. EQP_ERR_INTERNAL if
 * any row is not as it was made: nothing may be lost on the way. */
int jacobi_rows_check(const jacobi_rows *rows, double *residual, double *error);

#endif
