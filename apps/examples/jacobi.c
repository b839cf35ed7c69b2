/* SPDX-License-Identifier: BSD-3-Clause */
/* Jacobi's iteration for a dense system, its rows on four ranks of different speeds. A model of each rank's speed is
 * made from the times of the iterations, and rows follow. The times come from declared speed functions, two of them
 * with a cliff, so that the shares are the same on any machine. Returns nonzero where the system is not solved or a row
 * is lost. */
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/models.h>
#include <equipoise/more/random.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 400, RANKS = 4, ITERATIONS = 34 };

/* RANK SIZE SPEED: rows, rows a second. */
static const char functions_text[] = "0 87 900\n0 96 30\n1 84 750\n1 92 25\n2 189 850\n2 208 28\n3 327 840\n";

typedef struct row {
    int64_t number;
    double right_side, a[N];
} row;

/* The solution is 1 + j mod 7. */
static void fill_row(int64_t i, row *r)
{
    *r = (row){.number = i};
    for (int j = 0; j < N; j++) {
        r->a[j] = j == i ? N : eqp_random_uniform(1, (uint64_t)i, (uint64_t)j);
        r->right_side += r->a[j] * (1 + j % 7);
    }
}

/* Collective: sends the rows to the ranks that shall have them; they arrive in their order. */
static int move_rows(MPI_Comm comm, const int64_t *share, int64_t *n, row **rows, int64_t *moved)
{
    row *arrived = NULL;
    int *to = NULL;
    int rank, code;

    MPI_Comm_rank(comm, &rank);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&to, *n, sizeof *to), NULL));
    for (int64_t k = 0; k < *n; k++) {
        for (int64_t end = share[0]; (*rows)[k].number >= end; end += share[++to[k]]) {
        }
        *moved += to[k] != rank;
    }
    EQP_TRY(eqp_send_records(comm, sizeof **rows, *n, to, *rows, n, &arrived));
    free(*rows);
    *rows = arrived;
done:
    free(to);
    return code;
}

/* One iteration, x on all ranks. */
static int iterate(MPI_Comm comm, int64_t n, const row *rows, const int64_t *share, double x[N])
{
    double next[N];

    for (int64_t k = 0; k < n; k++) {
        double rest = rows[k].right_side;
        for (int j = 0; j < N; j++) {
            rest -= rows[k].a[j] * x[j];
        }
        next[k] = x[rows[k].number] + rest / rows[k].a[rows[k].number];
    }
    return eqp_gather_all(comm, sizeof *x, n, next, share, x);
}

/* Iterations, with new shares until the times of all ranks are within 5 %. */
static int solve(MPI_Comm comm, eqp_speeds_kind kind, int64_t *moved, double x[N])
{
    eqp_speeds_functions *functions = NULL;
    eqp_speeds *speeds = NULL;
    int64_t n = 0, share[RANKS] = {N};
    double seconds[RANKS], spread = 1;
    row *rows = NULL;
    int rank, code;

    MPI_Comm_rank(comm, &rank);
    code = eqp_speeds_functions_parse(functions_text, (int64_t)strlen(functions_text), "speeds", &functions, NULL);
    code = code ? code : eqp_speeds_create(kind, RANKS, N, &speeds);
    code = code ? code : eqp_array_create(&rows, n = rank == 0 ? N : 0, sizeof *rows);
    EQP_TRY(eqp_agree(comm, code, NULL));
    for (int64_t i = 0; i < n; i++) {
        fill_row(i, &rows[i]);
    }
    for (int step = 0; step < ITERATIONS; step++) {
        if (spread > 0.05) {
            EQP_TRY(eqp_agree(comm, eqp_speeds_share(speeds, share, NULL), NULL));
            EQP_TRY(move_rows(comm, share, &n, &rows, moved));
        }
        EQP_TRY(iterate(comm, n, rows, share, x));
        for (int r = 0; r < RANKS; r++) { /* an MPI_Allgather of eqp_cpu_seconds_since() in a program */
            EQP_TRY(eqp_speeds_functions_seconds(functions, r, (double)share[r], &seconds[r]));
        }
        EQP_TRY(eqp_speeds_spread(RANKS, seconds, &spread));
        EQP_TRY(eqp_agree(comm, eqp_speeds_record(speeds, share, seconds), NULL));
    }
    EQP_TRY(eqp_sum_int64(comm, 1, moved));
    for (int64_t k = 0; k < n; k++) {
        row wanted;
        fill_row(rows[k].number, &wanted);
        code = memcmp(&rows[k], &wanted, sizeof wanted) == 0 ? code : EQP_ERR_INTERNAL;
    }
    EQP_TRY(eqp_agree(comm, n == share[rank] ? code : EQP_ERR_INTERNAL, NULL));
done:
    free(rows);
    eqp_speeds_free(speeds);
    eqp_speeds_functions_free(functions);
    return code;
}

int main(int argc, char **argv)
{
    int64_t moved[3] = {0};
    double error = 0;
    int rank, size, code = EQP_ERR_ARGUMENT;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int kind = 0; kind < 3 && size == RANKS; kind++) {
        double x[N] = {0};
        EQP_TRY(solve(MPI_COMM_WORLD, (eqp_speeds_kind)kind, &moved[kind], x));
        for (int j = 0; j < N; j++) {
            error = fmax(error, fabs(x[j] / (1 + j % 7) - 1));
        }
        if (rank == 0) {
            printf("%s: %" PRId64 " rows moved, error %.1e\n", eqp_speeds_kind_name((eqp_speeds_kind)kind), moved[kind],
                   error);
        }
    }
done:
    if (rank == 0 && code) {
        fprintf(stderr, "jacobi: %s\n", size == RANKS ? eqp_error_text(code) : "it takes four ranks");
    }
    MPI_Finalize();
    return code != EQP_OK || error > 1e-9 || 4 * moved[EQP_SPEEDS_AKIMA] > moved[EQP_SPEEDS_CONSTANT];
}
