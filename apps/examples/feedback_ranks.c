/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a triangle, row m with m numbers to be summed, in ranges of rows that balance themselves: after every pass
 * each rank tells how long it took, and rows move with their data. The seconds are counted here, a nanosecond for each
 * addition, so that the result is the same everywhere; in a program they are differences of eqp_cpu_seconds().
 *
 * mpicc -std=c11 feedback_ranks.c $(pkg-config --cflags --libs equipoise) -o feedback_ranks
 * mpiexec -n 4 ./feedback_ranks */

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/methods.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 5000 };

/* A row, which travels as a whole. */
typedef struct row {
    int64_t number;
    int64_t sum; /* of all passes */
} row;

/* The work of a pass: adds 1 to m for every row m. Returns how many seconds that took. */
static double add_rows(row *rows, const eqp_feedback_share *share)
{
    int64_t additions = 0;

    for (int64_t m = share->low; m < share->high; m++) {
        for (int64_t i = 1; i <= rows[m - share->low].number; i++) {
            rows[m - share->low].sum += i;
            additions++;
        }
    }
    return 1e-9 * (double)additions;
}

/* Checks that this rank's rows are the right ones and had all passes. */
static int check_rows(const row *rows, const eqp_feedback_share *share, int passes)
{
    for (int64_t m = share->low; m < share->high; m++) {
        const row *r = &rows[m - share->low];
        if (r->number != m || r->sum != passes * (m * (m + 1) / 2)) {
            return EQP_ERR_INTERNAL;
        }
    }
    return EQP_OK;
}

static void print_pass(MPI_Comm comm, int pass, double seconds)
{
    double largest, sum;
    int rank, nranks;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    MPI_Reduce(&seconds, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    MPI_Reduce(&seconds, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
    if (rank == 0) {
        printf("pass %d: largest load / mean - 1 = %.2e\n", pass, largest * nranks / sum - 1);
    }
}

/* Passes until the ranges are as good as they get. Rows share->low to share->high - 1 are mine, and change. */
static int run_passes(MPI_Comm comm, row **rows, eqp_feedback_share *share, int *passes)
{
    enum eqp_feedback_verdict verdict = EQP_FEEDBACK_GO_ON;
    int code = EQP_OK;

    for (*passes = 0; !code && verdict == EQP_FEEDBACK_GO_ON; ++*passes) {
        const double seconds = add_rows(*rows, share);
        int64_t load = 0;

        code = eqp_feedback_load(seconds, 1e-9, &load);
        code = eqp_agree(comm, code, NULL); /* what one rank cannot do, none does */
        code = code ? code : eqp_feedback_balance(comm, load, sizeof **rows, rows, share, &verdict);
        print_pass(comm, *passes + 1, seconds);
    }
    return code;
}

static int run(MPI_Comm comm)
{
    const eqp_feedback_options options = eqp_feedback_options_defaults();
    eqp_feedback_share share;
    row *rows = NULL;
    int passes = 0, code = eqp_feedback_share_init(comm, ROWS, &options, &share);

    if (code) {
        return code;
    }
    code = eqp_agree(comm, eqp_array_create(&rows, share.high - share.low, sizeof *rows), NULL);
    for (int64_t m = share.low; m < share.high && !code; m++) {
        rows[m - share.low].number = m;
    }
    code = code ? code : run_passes(comm, &rows, &share, &passes);
    code = eqp_agree(comm, code ? code : check_rows(rows, &share, passes), NULL);
    free(rows);
    return code;
}

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0, code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    code = eqp_comm_create(MPI_COMM_WORLD, &comm);
    code = code ? code : run(comm);
    if (code && rank == 0) {
        fprintf(stderr, "feedback_ranks: %s\n", eqp_error_text(code));
    }
    eqp_comm_free(&comm);
    MPI_Finalize();
    return code != EQP_OK;
}
