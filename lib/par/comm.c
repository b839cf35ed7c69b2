/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement and small sums: what a collective call needs to fail on all ranks or on none. */
#include "par/comm.h"

#include <equipoise/par.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int eqp_comm_create(MPI_Comm comm, MPI_Comm *own)
{
    MPI_Comm copy = MPI_COMM_NULL;

    if (comm == MPI_COMM_NULL || !own) {
        return EQP_ERR_ARGUMENT;
    }
    if (MPI_Comm_dup(comm, &copy) != MPI_SUCCESS || MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    *own = copy;
    return EQP_OK;
}

void eqp_comm_free(MPI_Comm *own)
{
    if (own && *own != MPI_COMM_NULL) {
        (void)MPI_Comm_free(own);
    }
}

int eqp__comm_shape(MPI_Comm comm, int *rank, int *nranks)
{
    if (MPI_Comm_rank(comm, rank) != MPI_SUCCESS || MPI_Comm_size(comm, nranks) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    return EQP_OK;
}

int eqp_agree(MPI_Comm comm, int code, eqp_message *message)
{
    int rank, nranks, first = INT_MAX, mine = INT_MAX;
    struct {
        int code;
        eqp_message message;
    } told = {.code = code};

    if (eqp__comm_shape(comm, &rank, &nranks)) {
        return EQP_ERR_MPI;
    }
    if (code) {
        /* Whoever only heard of a failure comes after all that failed themselves. */
        mine = code == EQP_ERR_REMOTE ? nranks + rank : rank;
    }
    if (MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (first == INT_MAX) {
        return EQP_OK;
    }
    if (message) {
        told.message = *message;
    }
    if (MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, first % nranks, comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (message) {
        *message = told.message;
    }
    return told.code;
}

int eqp_agree_same(MPI_Comm comm, int64_t value)
{
    /* ~value falls as value grows and cannot overflow, so one minimum finds both ends. */
    int64_t mine[2] = {value, ~value}, least[2];

    if (MPI_Allreduce(mine, least, 2, MPI_INT64_T, MPI_MIN, comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    return least[0] == ~least[1] ? EQP_OK : EQP_ERR_ARGUMENT;
}

int eqp_scan_int64(MPI_Comm comm, int64_t value, int64_t *before, int64_t *total)
{
    int64_t sum = 0, all = 0, *values = NULL;
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    if ((code = eqp_agree(comm, eqp_array_create(&values, nranks, sizeof *values), NULL))) {
        goto done;
    }
    if (MPI_Allgather(&value, 1, MPI_INT64_T, values, 1, MPI_INT64_T, comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
        goto done;
    }
    /* Every rank adds all values, so that an overflow anywhere is seen everywhere. */
    for (int r = 0; r < nranks; r++) {
        if (values[r] > 0 ? all > INT64_MAX - values[r] : all < INT64_MIN - values[r]) {
            code = EQP_ERR_OVERFLOW;
            goto done;
        }
        sum = r == rank ? all : sum;
        all += values[r];
    }
    if (before) {
        *before = sum;
    }
    if (total) {
        *total = all;
    }
done:
    free(values);
    return code;
}

/* Adds in place, a piece at a time where MPI could not count the whole. Reduce and broadcast instead of allreduce,
 * which is free to round in another order on each rank. */
static int sum_values(MPI_Comm comm, int64_t n, void *value, size_t size, MPI_Datatype type)
{
    const int64_t piece = 1 << 24;
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    if ((code = eqp_agree(comm, n < 0 || (n > 0 && !value) ? EQP_ERR_ARGUMENT : EQP_OK, NULL)) ||
        (code = eqp_agree_same(comm, n))) {
        return code;
    }
    for (int64_t at = 0; at < n; at += piece) {
        int count = (int)(n - at < piece ? n - at : piece);
        char *part = (char *)value + (size_t)at * size;
        if (MPI_Reduce(rank == 0 ? MPI_IN_PLACE : part, part, count, type, MPI_SUM, 0, comm) != MPI_SUCCESS ||
            MPI_Bcast(part, count, type, 0, comm) != MPI_SUCCESS) {
            return EQP_ERR_MPI;
        }
    }
    return EQP_OK;
}

int eqp_sum_double(MPI_Comm comm, int64_t n, double *value)
{
    return sum_values(comm, n, value, sizeof *value, MPI_DOUBLE);
}

int eqp_sum_int64(MPI_Comm comm, int64_t n, int64_t *value)
{
    return sum_values(comm, n, value, sizeof *value, MPI_INT64_T);
}
