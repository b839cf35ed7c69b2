/* SPDX-License-Identifier: BSD-3-Clause */
/* Jacobi's iteration for a dense system, its rows on four ranks of different speeds. A model of each rank's speed is
 * made from the times of the iterations, and rows follow. The times come from declared speed functions, two of them
 * with a cliff, so that the shares are the same on any machine. Returns nonzero where the system is not solved. */
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/models.h>
#include <equipoise/more/random.h>

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

static int rank;

/* Sends the rows to the ranks that shall have them; they arrive in their order. */
static int move_rows(const int64_t *share, int64_t *n, row **rows, int64_t *moved)
{
    row *arrived = NULL;
    int to[N] = {0}, code;

    for (int64_t k = 0; k < *n; k++) {
        for (int64_t end = share[0]; (*rows)[k].number >= end; end += share[++to[k]]) {
        }
        *moved += to[k] != rank;
    }
    EQP_TRY(eqp_send_records(MPI_COMM_WORLD, sizeof **rows, *n, to, *rows, n, &arrived));
    free(*rows);
    *rows = arrived;
done:
    return code;
}

static int iterate(int64_t n, const row *rows, const int64_t *share, double x[N])
{
    double next[N];

    for (int64_t k = 0; k < n; k++) {
        double rest = rows[k].right_side;
        for (int j = 0; j < N; j++) {
            rest -= rows[k].a[j] * x[j];
        }
        next[k] = x[rows[k].number] + rest / rows[k].a[rows[k].number];
    }
    return eqp_gather_all(MPI_COMM_WORLD, sizeof *x, n, next, share, x);
}

/* Iterations, with new shares until the times of all ranks are within 5 %. All rows begin on rank 0. */
static int solve(const eqp_speeds_functions *functions, eqp_speeds_kind kind, int64_t *moved, double x[N])
{
    int64_t n = rank == 0 ? N : 0, share[RANKS] = {N};
    double seconds[RANKS], spread = 1;
    eqp_speeds *speeds = NULL;
    row *rows = NULL;
    int code;

    EQP_TRY(eqp_speeds_create(kind, RANKS, N, &speeds));
    EQP_TRY(eqp_array_create(&rows, N, sizeof *rows));
    for (int64_t i = 0; i < n; i++) { /* the solution is 1 + j mod 7 */
        rows[i].number = i;
        for (int j = 0; j < N; j++) {
            rows[i].a[j] = j == i ? N : eqp_random_uniform(1, (uint64_t)i, (uint64_t)j);
            rows[i].right_side += rows[i].a[j] * (1 + j % 7);
        }
    }
    for (int step = 0; step < ITERATIONS; step++) {
        if (spread > 0.05) {
            EQP_TRY(eqp_speeds_share(speeds, share));
            EQP_TRY(move_rows(share, &n, &rows, moved));
        }
        EQP_TRY(iterate(n, rows, share, x));
        for (int r = 0; r < RANKS; r++) { /* an MPI_Allgather of eqp_cpu_seconds_since() in a program */
            EQP_TRY(eqp_speeds_functions_seconds(functions, r, (double)share[r], &seconds[r]));
        }
        EQP_TRY(eqp_speeds_spread(RANKS, seconds, &spread));
        EQP_TRY(eqp_speeds_record(speeds, share, seconds));
    }
    EQP_TRY(eqp_sum_int64(MPI_COMM_WORLD, 1, moved));
done:
    eqp_speeds_free(speeds);
    free(rows);
    return code;
}

int main(int argc, char **argv)
{
    eqp_speeds_functions *functions = NULL;
    double error = 0;
    int code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EQP_TRY(eqp_speeds_functions_parse(functions_text, (int64_t)strlen(functions_text), "speeds", &functions, NULL));
    for (eqp_speeds_kind kind = EQP_SPEEDS_CONSTANT; kind <= EQP_SPEEDS_AKIMA; kind++) {
        double x[N] = {0};
        int64_t moved = 0;
        EQP_TRY(solve(functions, kind, &moved, x));
        for (int j = 0; j < N; j++) {
            error = fmax(error, fabs(x[j] / (1 + j % 7) - 1));
        }
        if (rank == 0) {
            printf("%s: %lld rows moved, error %.1e\n", eqp_speeds_kind_name(kind), (long long)moved, error);
        }
    }
done:
    eqp_speeds_functions_free(functions);
    MPI_Finalize();
    return code != EQP_OK || error > 1e-9;
}
