/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of 11,000 rows for ranks whose speeds depend on their shares, by each model of eqp_speeds. The file that the
 * command line names declares the real speeds of four ranks; the models see only the times that follow from them.
 * Prints each iteration until all times are within 5 %. */
#include <equipoise/more/models.h>

#include <inttypes.h>
#include <stdio.h>

enum { ROWS = 11000, RANKS = 4, ITERATIONS = 50 };

static int simulate(eqp_speeds_kind kind, const eqp_speeds_functions *functions)
{
    eqp_speeds *speeds = NULL;
    int64_t share[RANKS];
    double seconds[RANKS], spread = 1;
    int code;

    EQP_TRY(eqp_speeds_create(kind, RANKS, ROWS, &speeds));
    for (int i = 0; i < ITERATIONS && spread > 0.05; i++) {
        EQP_TRY(eqp_speeds_share(speeds, share));
        for (int rank = 0; rank < RANKS; rank++) {
            EQP_TRY(eqp_speeds_functions_seconds(functions, rank, (double)share[rank], &seconds[rank]));
            printf("%s\t%d\t%d\t%" PRId64 "\t%.9g\n", eqp_speeds_kind_name(kind), i, rank, share[rank], seconds[rank]);
        }
        EQP_TRY(eqp_speeds_spread(RANKS, seconds, &spread));
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
    int code;

    EQP_TRY(eqp_speeds_functions_read(argc > 1 ? argv[1] : "cliff.txt", &functions, &message));
    EQP_TRY(eqp_speeds_functions_ranks(functions) == RANKS ? EQP_OK : EQP_ERR_ARGUMENT);
    printf("model\titeration\trank\tshare\tseconds\n");
    for (int kind = 0; kind < 3; kind++) {
        EQP_TRY(simulate((eqp_speeds_kind)kind, functions));
    }
done:
    if (code) {
        fprintf(stderr, "speeds: %s\n", message.text[0] ? message.text : eqp_error_text(code));
    }
    eqp_speeds_functions_free(functions);
    return code != EQP_OK;
}
