/* SPDX-License-Identifier: BSD-3-Clause */
#include "jacobi_rows.h"

#include <equipoise/par.h>
#include <equipoise/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER, RIGHT_SIDE, COEFFICIENTS, SEED = 1 };

static double find_truth(int64_t j)
{
    return 1.0 + (double)(j % 7);
}

static void fill_row(int64_t n, int64_t i, double *row)
{
    row[NUMBER] = (double)i;
    row[RIGHT_SIDE] = 0.0;
    for (int64_t j = 0; j < n; j++) {
        row[COEFFICIENTS + j] = j == i ? (double)n : eqp_random_uniform(SEED, (uint64_t)i, (uint64_t)j);
        row[RIGHT_SIDE] += row[COEFFICIENTS + j] * find_truth(j);
    }
}

static double *get_row(const jacobi_rows *rows, int64_t k)
{
    return rows->row + k * (rows->n + COEFFICIENTS);
}

static int64_t find_first(const int64_t *share, int rank)
{
    int64_t first = 0;

    for (int r = 0; r < rank; r++) {
        first += share[r];
    }
    return first;
}

static int create_arrays(jacobi_rows *rows)
{
    int code = eqp_array_create(&rows->share, rows->nranks, sizeof *rows->share);

    code = code ? code : eqp_array_create(&rows->x, rows->n, sizeof *rows->x);
    return code ? code : eqp_array_create(&rows->own, rows->n, sizeof *rows->own);
}

int jacobi_rows_create(MPI_Comm comm, int64_t n, const int64_t *share, jacobi_rows *rows)
{
    int code;

    rows->comm = comm;
    rows->n = n;
    MPI_Comm_rank(comm, &rows->rank);
    MPI_Comm_size(comm, &rows->nranks);
    const int64_t first = find_first(share, rows->rank), nown = share[rows->rank];
    size_t bytes;

    code = eqp_array_bytes(n + COEFFICIENTS, sizeof *rows->row, &bytes);
    code = code ? code : eqp_array_create(&rows->row, nown, bytes);
    code = code ? code : create_arrays(rows);
    if ((code = eqp_agree(comm, code, NULL))) {
        return code;
    }
    memcpy(rows->share, share, (size_t)rows->nranks * sizeof *share);
    for (int64_t k = 0; k < nown; k++) {
        fill_row(n, first + k, get_row(rows, k));
    }
    return EQP_OK;
}

void jacobi_rows_free(jacobi_rows *rows)
{
    free(rows->own);
    free(rows->x);
    free(rows->row);
    free(rows->share);
}

/* b - A x of one row. */
static double find_rest(const jacobi_rows *rows, const double *row)
{
    double rest = row[RIGHT_SIDE];

    for (int64_t j = 0; j < rows->n; j++) {
        rest -= row[COEFFICIENTS + j] * rows->x[j];
    }
    return rest;
}

int jacobi_rows_iterate(jacobi_rows *rows, double *seconds, double *residual)
{
    const double begin = eqp_cpu_seconds();
    double worst[2] = {0.0, 0.0};

    for (int64_t k = 0; k < rows->share[rows->rank]; k++) {
        const double *row = get_row(rows, k);
        const int64_t i = (int64_t)row[NUMBER];
        const double rest = find_rest(rows, row);

        rows->own[k] = rows->x[i] + rest / row[COEFFICIENTS + i];
        worst[0] = fmax(worst[0], fabs(rest));
        worst[1] = fmax(worst[1], fabs(row[RIGHT_SIDE]));
    }
    /* A clock may not have moved. */
    *seconds = rows->share[rows->rank] > 0 ? fmax(eqp_cpu_seconds_since(begin), 1e-9) : 0.0;
    if (MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, rows->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    *residual = worst[0] / worst[1];
    return eqp_gather_all(rows->comm, sizeof *rows->own, rows->share[rows->rank], rows->own, rows->share, rows->x);
}

/* Who has to have each of this rank's rows. */
static void find_owners(const jacobi_rows *rows, const int64_t *share, int *dest, int64_t *leaving)
{
    const int64_t first = find_first(rows->share, rows->rank);
    int64_t end = share[0];
    int owner = 0;

    *leaving = 0;
    for (int64_t k = 0; k < rows->share[rows->rank]; k++) {
        while (first + k >= end) {
            end += share[++owner];
        }
        dest[k] = owner;
        *leaving += owner != rows->rank;
    }
}

int jacobi_rows_move(jacobi_rows *rows, const int64_t *share, int64_t *moved)
{
    const int64_t nown = rows->share[rows->rank];
    const size_t bytes = (size_t)(rows->n + COEFFICIENTS) * sizeof *rows->row;
    int64_t leaving = 0, arrived = 0;
    double *row = NULL;
    int *dest = NULL;
    int code = eqp_array_create(&dest, nown, sizeof *dest);

    if ((code = eqp_agree(rows->comm, code, NULL))) {
        goto done;
    }
    find_owners(rows, share, dest, &leaving);
    /* Rows come by sending rank and else in their order: in order of their numbers again. */
    if ((code = eqp_send_records(rows->comm, bytes, nown, dest, rows->row, &arrived, &row)) ||
        (code = eqp_sum_int64(rows->comm, 1, &leaving))) {
        goto done;
    }
    if ((code = eqp_agree(rows->comm, arrived == share[rows->rank] ? EQP_OK : EQP_ERR_INTERNAL, NULL))) {
        goto done;
    }
    free(rows->row);
    rows->row = row;
    row = NULL;
    memcpy(rows->share, share, (size_t)rows->nranks * sizeof *share);
    *moved = leaving;
done:
    free(row);
    free(dest);
    return code;
}

int jacobi_rows_check(const jacobi_rows *rows, double *residual, double *error)
{
    const int64_t first = find_first(rows->share, rows->rank);
    const size_t length = (size_t)(rows->n + COEFFICIENTS);
    double worst[3] = {0.0, 0.0, 0.0};
    double *made = NULL;
    int code = eqp_array_create(&made, (int64_t)length, sizeof *made);

    for (int64_t k = 0; k < rows->share[rows->rank] && !code; k++) {
        const double *row = get_row(rows, k);

        fill_row(rows->n, first + k, made);
        if (memcmp(made, row, length * sizeof *row) != 0) {
            code = EQP_ERR_INTERNAL;
        }
        worst[0] = fmax(worst[0], fabs(find_rest(rows, row)));
        worst[1] = fmax(worst[1], fabs(row[RIGHT_SIDE]));
    }
    free(made);
    if ((code = eqp_agree(rows->comm, code, NULL))) {
        return code;
    }
    for (int64_t j = 0; j < rows->n; j++) {
        worst[2] = fmax(worst[2], fabs(rows->x[j] / find_truth(j) - 1.0));
    }
    if (MPI_Allreduce(MPI_IN_PLACE, worst, 3, MPI_DOUBLE, MPI_MAX, rows->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    *residual = worst[0] / worst[1];
    *error = worst[2];
    return EQP_OK;
}
