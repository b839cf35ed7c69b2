/* SPDX-License-Identifier: BSD-3-Clause */
/* Jacobi's iteration on ranks of different speed. Every rank holds rows of a dense system; a model of its speed is made
 * from what the iterations take, and the rows follow. With --emulate declared speed functions say what they take, so
 * that the shares are the same on any machine; the system is solved all the same. */
#include "jacobi_rows.h"
#include "options.h"
#include "shell.h"
#include "speeds_settled.h"

#include <equipoise/par.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "jacobi"
#define MOST_ROWS 100000

typedef struct settings {
    int model; /* an eqp_speeds_kind */
    const char *emulate;
    int64_t n;
    double tolerance, residual;
    int64_t iterations;
} settings;

static const app_option options[] = {
    {.name = "n",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, n),
     .fallback = "1000",
     .int_low = 1,
     .int_high = MOST_ROWS,
     .help = "rows and columns of the system"},
    {.name = "model",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, model),
     .choices = EQP_SPEEDS_KINDS,
     .fallback = "akima",
     .help = "what a rank's speed is thought to be between measured sizes"},
    {.name = "emulate",
     .argument = "FILE",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, emulate),
     .help =
         "speed functions of all ranks, RANK SIZE SPEED in rows and rows a second;\nwithout: CPU seconds are measured"},
    {.name = "tolerance",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, tolerance),
     .fallback = "0.05",
     .open_low = true,
     .help = "rows stay when no |ti - tj| / ti is larger"},
    {.name = "residual",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, residual),
     .fallback = "1e-10",
     .open_low = true,
     .help = "solved when no |b - A x| is larger, over the largest |b|"},
    {.name = "iterations",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, iterations),
     .fallback = "1000",
     .int_low = 1,
     .int_high = 1000000,
     .help = "give up after so many"},
};

static const app_command_line command_line = {
    .program = PROGRAM,
    .summary =
        "Solves a dense system by Jacobi's iteration, its rows on ranks of different speed. Prints iteration, rank,\n"
        "share, seconds until the times of all ranks agree, and a last line that begins with #.",
    .option = options,
    .noptions = sizeof options / sizeof options[0],
    .values_size = sizeof(settings),
    .epilogue = "Exit status: 0 solved; 1 not solved within the iterations; 2 bad input.",
};

/* A run. Everything but the rows is the same on all ranks. */
typedef struct run {
    MPI_Comm comm;
    const settings *settings;
    int rank, nranks;
    eqp_speeds_functions *functions; /* NULL: times are measured */
    eqp_speeds *speeds;
    jacobi_rows rows;
    int64_t *share, *last_share; /* [nranks] */
    double *seconds;             /* [nranks] of the last iteration */
    int64_t iterations, moved;
    int64_t settled; /* iterations until the shares stayed; 0: they move */
    double residual;
    eqp_message *message;
} run;

static int create(run *r, const settings *s)
{
    int code = s->emulate ? eqp_speeds_functions_read(s->emulate, &r->functions, r->message) : EQP_OK;

    if (!code && r->functions && eqp_speeds_functions_ranks(r->functions) != r->nranks) {
        eqp_message_set(r->message, "%.300s: holds %d speed functions for %d ranks", s->emulate,
                        eqp_speeds_functions_ranks(r->functions), r->nranks);
        code = EQP_ERR_ARGUMENT;
    }
    code = code ? code : eqp_speeds_create((eqp_speeds_kind)s->model, r->nranks, (double)s->n, &r->speeds);
    code = code ? code : eqp_array_create(&r->share, r->nranks, sizeof *r->share);
    code = code ? code : eqp_array_create(&r->last_share, r->nranks, sizeof *r->last_share);
    code = code ? code : eqp_array_create(&r->seconds, r->nranks, sizeof *r->seconds);
    code = code ? code : eqp_speeds_share(r->speeds, r->share, NULL);
    code = eqp_agree(r->comm, code, r->message);
    return code ? code : jacobi_rows_create(r->comm, s->n, r->share, &r->rows);
}

static void destroy(run *r)
{
    jacobi_rows_free(&r->rows);
    free(r->seconds);
    free(r->last_share);
    free(r->share);
    eqp_speeds_free(r->speeds);
    eqp_speeds_functions_free(r->functions);
}

static void print_iteration(const run *r)
{
    for (int k = 0; k < r->nranks && r->rank == 0; k++) {
        (void)printf("%" PRId64 "\t%d\t%" PRId64 "\t%.9g\n", r->iterations, k, r->share[k], r->seconds[k]);
    }
}

/* Looks at the times of an iteration; where they differ the rows move. */
static int balance(run *r)
{
    speeds_iteration it = {.nranks = r->nranks,
                           .n = r->settings->n,
                           .functions = r->functions,
                           .share = r->share,
                           .last_share = r->iterations > 0 ? r->last_share : NULL,
                           .seconds = r->seconds};
    int64_t moved = 0;
    int code = eqp_speeds_spread(r->nranks, r->seconds, &it.spread);

    if (!code && speeds_settled(&it, r->settings->tolerance)) {
        r->settled = r->iterations + 1;
        return EQP_OK;
    }
    code = code ? code : eqp_speeds_record(r->speeds, r->share, r->seconds);
    memcpy(r->last_share, r->share, (size_t)r->nranks * sizeof *r->share);
    code = code ? code : eqp_speeds_share(r->speeds, r->share, NULL);
    if ((code = eqp_agree(r->comm, code, NULL)) || (code = jacobi_rows_move(&r->rows, r->share, &moved))) {
        return code;
    }
    r->moved += moved;
    return EQP_OK;
}

static int iterate(run *r)
{
    double seconds;
    int code = jacobi_rows_iterate(&r->rows, &seconds, &r->residual);

    if (!code && r->functions) {
        code = eqp_speeds_functions_seconds(r->functions, r->rank, (double)r->share[r->rank], &seconds);
    }
    if (code) {
        return code;
    }
    if (MPI_Allgather(&seconds, 1, MPI_DOUBLE, r->seconds, 1, MPI_DOUBLE, r->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (r->settled == 0) {
        print_iteration(r);
        code = balance(r);
    }
    r->iterations++;
    return code;
}

/* *solved: whether the system was. */
static int solve(MPI_Comm comm, const settings *s, bool *solved, eqp_message *message)
{
    run r = {.comm = comm, .settings = s, .residual = INFINITY, .message = message};
    double residual, error;
    int code;

    MPI_Comm_rank(comm, &r.rank);
    MPI_Comm_size(comm, &r.nranks);
    if ((code = create(&r, s))) {
        goto done;
    }
    if (r.rank == 0) {
        (void)printf("iteration\trank\tshare\tseconds\n");
    }
    while (r.residual > s->residual && r.iterations < s->iterations) {
        if ((code = iterate(&r))) {
            goto done;
        }
    }
    if ((code = jacobi_rows_check(&r.rows, &residual, &error))) {
        goto done;
    }
    *solved = residual <= s->residual;
    if (r.rank == 0) {
        (void)printf("# %s after %" PRId64 " iterations: residual %.2e, error %.2e; %" PRId64 " rows moved, ",
                     *solved ? "solved" : "not solved", r.iterations, residual, error, r.moved);
        if (r.settled > 0) {
            (void)printf("shares settled after %" PRId64 " iterations\n", r.settled);
        } else {
            (void)printf("shares did not settle\n");
        }
        code = app_check_printed(PROGRAM, message);
    }
    code = eqp_agree(comm, code, message);
done:
    destroy(&r);
    return code;
}

static int say(int rank, const eqp_message *message, int code)
{
    if (rank == 0) {
        (void)fprintf(stderr, "%s%s\n", message->text[0] ? "" : PROGRAM ": ",
                      message->text[0] ? message->text : eqp_error_text(code));
    }
    return app_exit_status(code);
}

static int answer(int rank, app_action action)
{
    eqp_message message = {""};
    char *text = NULL;
    int code = EQP_OK;

    if (rank == 0 && action == APP_VERSION) {
        (void)printf(PROGRAM " %s\n", eqp_version());
    } else if (rank == 0 && (code = app_options_help(&command_line, &text)) == EQP_OK) {
        (void)fputs(text, stdout);
        free(text);
    }
    code = code || rank != 0 ? code : app_check_printed(PROGRAM, &message);
    return code ? say(rank, &message, code) : 0;
}

static int program(MPI_Comm comm, int argc, char **argv)
{
    app_action action = APP_RUN;
    eqp_message message = {""};
    bool solved = false;
    settings s;
    int rank, code;

    MPI_Comm_rank(comm, &rank);
    if ((code = app_options_parse(&command_line, argc, argv, &s, NULL, &action, &message))) {
        return say(rank, &message, code);
    }
    if (action != APP_RUN) {
        return answer(rank, action);
    }
    if ((code = solve(comm, &s, &solved, &message))) {
        return say(rank, &message, code);
    }
    return solved ? 0 : 1;
}

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int status = 1;

    MPI_Init(&argc, &argv);
    if (eqp_comm_create(MPI_COMM_WORLD, &comm) == EQP_OK) {
        status = program(comm, argc, argv);
    }
    eqp_comm_free(&comm);
    MPI_Finalize();
    return status;
}
