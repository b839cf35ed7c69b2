/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of ranks whose speed depends on how much they hold, without the ranks: declared speed functions say what each
 * iteration takes, a model learns from that, and the shares follow. Prints every iteration until the times agree. */
#include "options.h"
#include "shell.h"
#include "speeds_settled.h"

#include <equipoise/speeds.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "speeds"

enum { EXIT_SETTLED = 0, EXIT_TROUBLE = 1, EXIT_BAD_INPUT = 2 };

typedef struct settings {
    int model; /* an eqp_speeds_kind */
    const char *functions;
    int64_t n;
    double tolerance;
    int64_t iterations;
    bool given[8];
} settings;

static const app_option options[] = {
    {.name = "model",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, model),
     .choices = EQP_SPEEDS_KINDS,
     .fallback = "akima",
     .help = "what a rank's speed is thought to be between measured sizes"},
    {.name = "functions",
     .argument = "FILE",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, functions),
     .help = "declared speed functions, one per rank: see below"},
    {.name = "n",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, n),
     .int_low = 0,
     .int_high = (int64_t)EQP_SPEEDS_ITEMS,
     .help = "items to divide among the ranks"},
    {.name = "tolerance",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, tolerance),
     .fallback = "0.05",
     .open_low = true,
     .help = "settled when no |ti - tj| / ti is larger"},
    {.name = "iterations",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, iterations),
     .fallback = "50",
     .int_low = 1,
     .int_high = 100000,
     .help = "give up after so many"},
};

static const app_command_line command_line = {
    .program = PROGRAM,
    .summary = "Divides items among ranks whose speed depends on how many they hold, and prints each iteration until\n"
               "the times of all ranks agree: lines of iteration, rank, share, seconds, separated by tabs.",
    .option = options,
    .noptions = sizeof options / sizeof options[0],
    .values_size = sizeof(settings),
    .given_offset = offsetof(settings, given),
    .given_room = sizeof(((settings *)0)->given) / sizeof(bool),
    .epilogue =
        "FILE has a line RANK SIZE SPEED for each point of a rank's speed function: items, items per second. Ranks "
        "count\n"
        "from 0, the points of a rank stand together and their sizes increase; speed is linear between points and\n"
        "constant outside. # begins a comment.\n"
        "Exit status: 0 settled, or as even as whole items can be; 1 not settled within the iterations; 2 bad input.",
};

/* A run: what the ranks have and take in this iteration. */
typedef struct run {
    const settings *settings;
    const eqp_speeds_functions *functions;
    eqp_speeds *speeds;
    int nranks;
    int64_t iteration;
    int64_t *history; /* [iteration + 1][nranks] shares */
    int64_t room;     /* of history, in numbers */
    int64_t *share;   /* [nranks] of this iteration, within history */
    double *seconds;  /* [nranks] */
    double spread;
} run;

static void measure(run *r)
{
    for (int rank = 0; rank < r->nranks; rank++) {
        (void)eqp_speeds_functions_seconds(r->functions, rank, (double)r->share[rank], &r->seconds[rank]);
        (void)printf("%" PRId64 "\t%d\t%" PRId64 "\t%.9g\n", r->iteration, rank, r->share[rank], r->seconds[rank]);
    }
}

/* The latest earlier iteration with these shares, or -1. */
static int64_t find_same_shares(const run *r)
{
    const size_t bytes = (size_t)r->nranks * sizeof *r->share;

    for (int64_t i = r->iteration - 1; i >= 0; i--) {
        if (memcmp(r->history + i * r->nranks, r->share, bytes) == 0) {
            return i;
        }
    }
    return -1;
}

static int say(const char *what)
{
    (void)fprintf(stderr, "%s\n", what);
    return EXIT_TROUBLE;
}

static int say_unsettled(const run *r)
{
    const int64_t same = find_same_shares(r);
    eqp_message m;

    if (same >= 0 && same < r->iteration - 1) {
        eqp_message_set(&m,
                        PROGRAM ": not settled after %" PRId64
                                " iterations: the shares swing, those of iteration %" PRId64 " came back in %" PRId64
                                "; times differ by %.3g %%",
                        r->iteration + 1, same, r->iteration, 100.0 * r->spread);
    } else {
        eqp_message_set(&m, PROGRAM ": not settled after %" PRId64 " iteration%s: times differ by %.3g %%%s",
                        r->iteration + 1, r->iteration > 0 ? "s" : "", 100.0 * r->spread,
                        same >= 0 ? ", the shares stay" : "");
    }
    return say(m.text);
}

static bool is_settled(const run *r)
{
    const speeds_iteration it = {
        .nranks = r->nranks,
        .n = r->settings->n,
        .functions = r->functions,
        .share = r->share,
        .last_share = r->iteration > 0 ? r->share - r->nranks : NULL,
        .seconds = r->seconds,
        .spread = r->spread,
    };
    return speeds_settled(&it, r->settings->tolerance);
}

static int iterate(run *r)
{
    int code = EQP_OK;

    (void)printf("iteration\trank\tshare\tseconds\n");
    for (r->iteration = 0;; r->iteration++) {
        if ((code = eqp_array_reserve(&r->history, &r->room, (r->iteration + 1) * r->nranks, sizeof *r->history))) {
            break;
        }
        r->share = r->history + r->iteration * r->nranks;
        if ((code = eqp_speeds_share(r->speeds, r->share, NULL))) {
            break;
        }
        measure(r);
        if ((code = eqp_speeds_spread(r->nranks, r->seconds, &r->spread))) {
            break;
        }
        if (is_settled(r)) {
            return EXIT_SETTLED;
        }
        if (r->iteration + 1 == r->settings->iterations) {
            return say_unsettled(r);
        }
        if ((code = eqp_speeds_record(r->speeds, r->share, r->seconds))) {
            break;
        }
    }
    eqp_message m;
    eqp_message_set(&m, PROGRAM ": iteration %" PRId64 ": %s", r->iteration, eqp_error_text(code));
    (void)say(m.text);
    return code == EQP_ERR_DATA ? EXIT_BAD_INPUT : EXIT_TROUBLE;
}

static int simulate(const settings *s)
{
    eqp_speeds_functions *functions = NULL;
    eqp_message message = {""};
    run r = {.settings = s};
    int status, code = eqp_speeds_functions_read(s->functions, &functions, &message);

    if (code) {
        (void)fprintf(stderr, PROGRAM ": %s\n", message.text);
        return app_exit_status(code);
    }
    r.functions = functions;
    r.nranks = eqp_speeds_functions_ranks(functions);
    code = eqp_speeds_create((eqp_speeds_kind)s->model, r.nranks, (double)s->n, &r.speeds);
    code = code ? code : eqp_array_create(&r.seconds, r.nranks, sizeof *r.seconds);
    if (code) {
        eqp_message_set(&message, PROGRAM ": %s", eqp_error_text(code));
        status = say(message.text);
    } else {
        status = iterate(&r);
        if (app_check_printed(PROGRAM, &message)) {
            status = say(message.text);
        }
    }
    free(r.seconds);
    free(r.history);
    eqp_speeds_free(r.speeds);
    eqp_speeds_functions_free(functions);
    return status;
}

static int answer(app_action action)
{
    eqp_message message = {""};
    char *text = NULL;

    if (action == APP_VERSION) {
        (void)printf(PROGRAM " %s\n", eqp_version());
    } else if (app_options_help(&command_line, &text) == EQP_OK) {
        (void)fputs(text, stdout);
        free(text);
    } else {
        return say(PROGRAM ": out of memory");
    }
    return app_check_printed(PROGRAM, &message) ? say(message.text) : EXIT_SETTLED;
}

int main(int argc, char **argv)
{
    app_action action = APP_RUN;
    eqp_message message = {""};
    settings s;
    const int code = app_options_parse(&command_line, argc, argv, &s, NULL, &action, &message);

    if (code) {
        (void)say(message.text);
        return app_exit_status(code);
    }
    if (action != APP_RUN) {
        return answer(action);
    }
    if (!s.functions || !app_options_given(&command_line, &s, "n")) {
        (void)say(s.functions ? PROGRAM ": --n is missing; try --help"
                              : PROGRAM ": --functions is missing; try --help");
        return EXIT_BAD_INPUT;
    }
    return simulate(&s);
}
