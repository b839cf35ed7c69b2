/* SPDX-License-Identifier: BSD-3-Clause */
/* Feedback-guided balancing of synthetic loads over simulated ranks: how many steps it takes, how good it gets. One
 * process, no MPI: 4096 ranks take milliseconds. */
#include "shell.h"

#include <equipoise/feedback.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "feedback"

/* What is held in memory: 8 bytes for each iteration, its load, and 32 for each rank. */
#define MOST_ITERATIONS 500000000 /* 4 GB */
#define MOST_PROCS 10000000       /* 0.3 GB */

typedef struct settings {
    int64_t function, iterations, steps, patience, data;
    const char *procs;
    int rule;
    double threshold;
    bool history;
} settings;

static const app_option options[] = {
    {.name = "function",
     .argument = "F",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, function),
     .fallback = "1",
     .int_low = 1,
     .int_high = EQP_FEEDBACK_FUNCTIONS,
     .help = "load: 1 rises with the iteration, 2 all on the first rank,\n"
             "3 sine, 4 sine with spikes, 5 shorter sine"},
    {.name = "iterations",
     .argument = "M",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, iterations),
     .fallback = "500000",
     .int_low = 1,
     .int_high = MOST_ITERATIONS,
     .help = "iterations that are divided, at most 500,000,000; each takes 8 bytes of memory"},
    {.name = "procs",
     .argument = "P,P,...",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, procs),
     .fallback = "2,8,16,32,64,128,256,1024,4096",
     .help = "numbers of simulated ranks, a line of the table each; at most 10,000,000"},
    {.name = "rule",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, rule),
     .choices = "paper|guarded",
     .help = "when to stop: paper as soon as the largest load does not fall;\n"
             "guarded goes on past bad steps"},
    {.name = "steps",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, steps),
     .fallback = "25",
     .int_low = 0,
     .int_high = 1000000,
     .help = "steps at most"},
    {.name = "threshold",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, threshold),
     .fallback = "0",
     .real_high = 1e9,
     .help = "guarded: an imbalance up to this is good enough"},
    {.name = "patience",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, patience),
     .fallback = "4",
     .int_low = 1,
     .int_high = 1000000,
     .help = "guarded: stop after so many steps without a better one"},
    {.name = "data",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, data),
     .fallback = "0",
     .int_low = 0,
     .int_high = 1000000,
     .help = "integers that belong to an iteration: a column more, how many were moved in all steps"},
    {.name = "history",
     .type = APP_OPTION_FLAG,
     .offset = offsetof(settings, history),
     .help = "a line for every step, from 0, with the load difference after it"},
};

static const app_command_line command_line = {
    .program = PROGRAM,
    .summary = "Simulates feedback-guided load balancing and prints a table: steps until the rule says stop, and the\n"
               "smallest load difference, (largest load - mean) / total, on the way.",
    .option = options,
    .noptions = sizeof options / sizeof options[0],
    .values_size = sizeof(settings),
};

static eqp_feedback_options rule_of(const settings *s)
{
    return (eqp_feedback_options){.size = sizeof(eqp_feedback_options),
                                  .rule = s->rule == 0 ? EQP_FEEDBACK_PAPER : EQP_FEEDBACK_GUARDED,
                                  .max_steps = (int)s->steps,
                                  .threshold = s->threshold,
                                  .patience = (int)s->patience};
}

static void print_header(const settings *s)
{
    printf("function\titerations\tprocs\tsteps\tload_difference%s\n", s->data > 0 ? "\tmoved" : "");
}

/* moved: iterations that changed their rank */
static void print_line(const settings *s, int64_t procs, int steps, double difference, int64_t moved)
{
    printf("%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%d\t%.6e", s->function, s->iterations, procs, steps, difference);
    if (s->data > 0) {
        printf("\t%.0f", (double)moved * (double)s->data);
    }
    printf("\n");
}

/* A line of the table, or its lines; `first` makes them the first ones. */
static int simulate(const settings *s, int64_t procs, bool first, int64_t *load, double *difference)
{
    const eqp_feedback_options rule = rule_of(s);
    eqp_feedback_run run;
    int code = EQP_OK;

    if (first || s->function == 2) { /* the others are the same for all ranks */
        code = eqp_feedback_function((int)s->function, s->iterations, (int)procs, load);
    }
    if (code || (code = eqp_feedback_simulate(s->iterations, load, (int)procs, &rule, NULL, difference, &run))) {
        return code;
    }
    if (first) {
        print_header(s);
    }
    for (int step = 0; s->history && step <= run.steps; step++) {
        print_line(s, procs, step, difference[step], 0);
    }
    if (!s->history) {
        print_line(s, procs, run.steps, run.load_difference, run.moved);
    }
    return EQP_OK;
}

static int print_table(const settings *s, int n, const int64_t *procs)
{
    int64_t *load = NULL;
    double *difference = NULL;
    int code = eqp_array_create(&load, s->iterations, sizeof *load);

    code = code ? code : eqp_array_create(&difference, s->steps + 1, sizeof *difference);
    for (int i = 0; i < n && !code; i++) {
        code = simulate(s, procs[i], i == 0, load, difference);
    }
    free(load);
    free(difference);
    return code;
}

static int run(const settings *s, eqp_message *message)
{
    int64_t *procs = NULL;
    int n = 0, code;

    if (s->history && s->data > 0) {
        eqp_message_set(message, PROGRAM ": --data: not with --history, which tells of single steps");
        return EQP_ERR_ARGUMENT;
    }
    code = app_parse_int_list(s->procs, 1, MOST_PROCS, &n, &procs, message);

    if (code) {
        eqp_message_set(message, PROGRAM ": --procs: %s", message->text[0] ? message->text : eqp_error_text(code));
        return code;
    }
    code = print_table(s, n, procs);
    free(procs);
    return code;
}

static int answer(app_action action)
{
    char *text = NULL;
    int code = EQP_OK;

    if (action == APP_VERSION) {
        printf(PROGRAM " %s\n", eqp_version());
    } else if (!(code = app_options_help(&command_line, &text))) {
        fputs(text, stdout);
    }
    free(text);
    return code;
}

int main(int argc, char **argv)
{
    settings s;
    app_action action = APP_RUN;
    eqp_message message = {""};
    int code = app_options_parse(&command_line, argc, argv, &s, NULL, &action, &message);

    if (!code) {
        code = action == APP_RUN ? run(&s, &message) : answer(action);
        code = code ? code : app_check_printed(PROGRAM, &message);
    }
    if (code) {
        fprintf(stderr, "%s%s\n", message.text[0] ? "" : PROGRAM ": ",
                message.text[0] ? message.text : eqp_error_text(code));
    }
    return app_exit_status(code);
}
