/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement and small sums: what a collective call needs to fail on all ranks or on none. */
#include "par/comm.h"

#include <equipoise/par.h>
#include <equipoise/random.h>

#include <stdlib.h>
#include <string.h>

int eqp__comm_dup(MPI_Comm comm, MPI_Comm *own)
{
    MPI_Comm copy = MPI_COMM_NULL;

    if (comm == MPI_COMM_NULL) {
        return EQP_ERR_ARGUMENT;
    }
    if (MPI_Comm_dup(comm, &copy) != MPI_SUCCESS || MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    *own = copy;
    return EQP_OK;
}

int eqp_comm_create(MPI_Comm comm, MPI_Comm *own)
{
    MPI_Comm copy = MPI_COMM_NULL;
    int code = eqp__comm_dup(comm, &copy);

    if (code) {
        return code;
    }
    if ((code = eqp_agree(copy, own ? EQP_OK : EQP_ERR_ARGUMENT, NULL))) {
        (void)MPI_Comm_free(&copy);
        return code;
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
    if (comm == MPI_COMM_NULL) {
        return EQP_ERR_ARGUMENT;
    }
    if (MPI_Comm_rank(comm, rank) != MPI_SUCCESS || MPI_Comm_size(comm, nranks) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    return EQP_OK;
}

int eqp__agree_least(MPI_Comm comm, int code, int n, int64_t *least, eqp_message *message)
{
    int64_t mine[1 + EQP__AGREE_MOST] = {INT64_MAX}, all[1 + EQP__AGREE_MOST];
    int rank, nranks, failed = eqp__comm_shape(comm, &rank, &nranks);
    struct {
        int code;
        eqp_message message;
    } told = {.code = code};

    if (failed) {
        return failed;
    }
    if (code) {
        /* Whoever only heard of a failure comes after all that failed themselves. */
        mine[0] = code == EQP_ERR_REMOTE ? nranks + rank : rank;
    }
    for (int k = 0; k < n; k++) {
        mine[1 + k] = least[k];
    }
    if (MPI_Allreduce(mine, all, 1 + n, MPI_INT64_T, MPI_MIN, comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (all[0] == INT64_MAX) {
        for (int k = 0; k < n; k++) {
            least[k] = all[1 + k];
        }
        return EQP_OK;
    }
    if (message) {
        told.message = *message;
    }
    if (MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, (int)(all[0] % nranks), comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (message) {
        *message = told.message;
    }
    return told.code;
}

int eqp_agree(MPI_Comm comm, int code, eqp_message *message)
{
    return eqp__agree_least(comm, code, 0, NULL, message);
}

int eqp__agree_alike(MPI_Comm comm, int code, int64_t value)
{
    int64_t pair[2];

    eqp__put_value(pair, value);
    code = eqp__agree_least(comm, code, 2, pair, NULL);
    return !code && eqp__pair_differs(pair) ? EQP_ERR_ARGUMENT : code;
}

int eqp_agree_same(MPI_Comm comm, int64_t value)
{
    return eqp__agree_alike(comm, EQP_OK, value);
}

int64_t eqp_fingerprint(int64_t print, int64_t n, const void *words)
{
    uint64_t hash = eqp_random_bits((uint64_t)print, (uint64_t)n, words != NULL), word;

    for (int64_t i = 0; words && i < n; i++) {
        memcpy(&word, (const char *)words + (size_t)i * sizeof word, sizeof word);
        hash = eqp_random_bits(hash, word, 0);
    }
    return (int64_t)(hash >> 1);
}

int64_t eqp__print_text(int64_t print, const char *text)
{
    for (; text && *text; text++) {
        print = eqp_fingerprint(print, 1, &(int64_t){*text});
    }
    return print;
}

int64_t eqp__bits_of(double x)
{
    int64_t bits;

    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits;
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

    for (int64_t at = 0; at < n && !code; at += piece) {
        int count = (int)(n - at < piece ? n - at : piece);
        char *part = (char *)value + (size_t)at * size;
        if (MPI_Reduce(rank == 0 ? MPI_IN_PLACE : part, part, count, type, MPI_SUM, 0, comm) != MPI_SUCCESS ||
            MPI_Bcast(part, count, type, 0, comm) != MPI_SUCCESS) {
            code = EQP_ERR_MPI;
        }
    }
    return code;
}

int eqp__sum_double(MPI_Comm comm, int64_t n, double *value)
{
    return sum_values(comm, n, value, sizeof *value, MPI_DOUBLE);
}

int eqp__sum_int64(MPI_Comm comm, int64_t n, int64_t *value)
{
    return sum_values(comm, n, value, sizeof *value, MPI_INT64_T);
}

static int agree_on_array(MPI_Comm comm, int64_t n, const void *value)
{
    return eqp__agree_alike(comm, n < 0 || (n > 0 && !value) ? EQP_ERR_ARGUMENT : EQP_OK, n);
}

int eqp_sum_double(MPI_Comm comm, int64_t n, double *value)
{
    const int code = agree_on_array(comm, n, value);

    return code ? code : eqp__sum_double(comm, n, value);
}

int eqp_sum_int64(MPI_Comm comm, int64_t n, int64_t *value)
{
    const int code = agree_on_array(comm, n, value);

    return code ? code : eqp__sum_int64(comm, n, value);
}
