/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of 11,000 rows for ranks whose speeds depend on their shares, by each model of eqp_speeds. The file that is
 * named on the command line declares the ranks' real speeds; the models see only the times that follow from them.
 * Prints each iteration until all times are within 5 %. Returns nonzero where only the constant model should fail. */
#include <equipoise/more/models.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 11000, MOST_RANKS = 64, ITERATIONS = 50 };

/* *settled: the iteration whose times agree, or ITERATIONS. */
static int simulate(eqp_speeds_kind kind, const eqp_speeds_functions *functions, int *settled)
{
    const int nranks = eqp_speeds_functions_ranks(functions);
    eqp_speeds *speeds = NULL;
    int64_t share[MOST_RANKS];
    double seconds[MOST_RANKS], spread = 1;
    int code;

    EQP_TRY(eqp_speeds_create(kind, nranks, ROWS, &speeds));
    for (*settled = 0; *settled < ITERATIONS; ++*settled) {
        EQP_TRY(eqp_speeds_share(speeds, share, NULL));
        for (int rank = 0; rank < nranks; rank++) {
            EQP_TRY(eqp_speeds_functions_seconds(functions, rank, (double)share[rank], &seconds[rank]));
            printf("%s\t%d\t%d\t%" PRId64 "\t%.9g\n", eqp_speeds_kind_name(kind), *settled, rank, share[rank],
                   seconds[rank]);
        }
        EQP_TRY(eqp_speeds_spread(nranks, seconds, &spread));
        if (spread <= 0.05) {
            break;
        }
        EQP_TRY(eqp_speeds_record(speeds, share, seconds));
    }
done:
    eqp_speeds_free(speeds);
    return code;
}

int main(int argc, char **argv)
{
    eqp_speeds_functions *functions = NULL;
    eqp_message message = {""};
    int code = EQP_ERR_ARGUMENT, settled[3] = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: speeds FILE\n");
        return 2;
    }
    EQP_TRY(eqp_speeds_functions_read(argv[1], &functions, &message));
    if (eqp_speeds_functions_ranks(functions) > MOST_RANKS) {
        code = EQP_ERR_ARGUMENT;
        goto done;
    }
    printf("model\titeration\trank\tshare\tseconds\n");
    for (int kind = 0; kind < 3; kind++) {
        EQP_TRY(simulate((eqp_speeds_kind)kind, functions, &settled[kind]));
    }
done:
    if (code) {
        fprintf(stderr, "speeds: %s\n", message.text[0] ? message.text : eqp_error_text(code));
    }
    eqp_speeds_functions_free(functions);
    return code != EQP_OK || settled[EQP_SPEEDS_PIECEWISE] == ITERATIONS || settled[EQP_SPEEDS_AKIMA] == ITERATIONS;
}
