/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a triangle, row m with m numbers to be summed, in ranges of rows that balance themselves: after every pass
 * each rank tells how long it took, and rows move with their data. The seconds are counted here, a nanosecond for each
 * addition, so that the result is the same everywhere; in a program they are differences of eqp_cpu_seconds(). Returns
 * nonzero where a row is not the right one or missed a pass.
 *
 * mpicc -std=c11 feedback_ranks.c $(pkg-config --cflags --libs equipoise) -o feedback_ranks
 * mpiexec -n 4 ./feedback_ranks */
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/methods.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 5000 };

/* A row, which travels as a whole. */
typedef struct row {
    int64_t number, sum; /* sum: of all passes */
} row;

/* The work of a pass: adds 1 to m for every row m. Returns how many seconds that took. */
static double add_rows(row *rows, const eqp_feedback_share *share)
{
    int64_t additions = 0;

    for (row *r = rows; r < rows + (share->high - share->low); r++) {
        for (int64_t i = 1; i <= r->number; i++) {
            r->sum += i;
        }
        additions += r->number;
    }
    return 1e-9 * (double)additions;
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
        printf("pass %d: %.6f seconds\n", *passes + 1, seconds);
    }
    return code;
}

int main(int argc, char **argv)
{
    const eqp_feedback_options options = eqp_feedback_options_defaults();
    eqp_feedback_share share;
    row *rows = NULL;
    int passes = 0, code;

    MPI_Init(&argc, &argv);
    EQP_TRY(eqp_feedback_share_init(MPI_COMM_WORLD, ROWS, &options, &share));
    EQP_TRY(eqp_agree(MPI_COMM_WORLD, eqp_array_create(&rows, share.high - share.low, sizeof *rows), NULL));
    for (int64_t m = share.low; m < share.high; m++) {
        rows[m - share.low].number = m;
    }
    EQP_TRY(run_passes(MPI_COMM_WORLD, &rows, &share, &passes));
    for (int64_t m = share.low; m < share.high; m++) {
        const row *r = &rows[m - share.low];
        EQP_TRY(r->number == m && r->sum == passes * (m * (m + 1) / 2) ? EQP_OK : EQP_ERR_INTERNAL);
    }
done:
    free(rows);
    MPI_Finalize();
    return code != EQP_OK;
}
