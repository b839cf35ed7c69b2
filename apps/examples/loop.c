/* SPDX-License-Identifier: BSD-3-Clause */
/* A parallel loop on simulated ranks: how well each method of schedule.h hands it out. One process, no MPI. */
#include "loop_costs.h"
#include "options.h"

#include <equipoise/schedule.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAD_INPUT = 2, TROUBLE = 1 };

typedef struct settings {
    const char *method, *weights, *speeds, *cost, *stall;
    int64_t n, procs, chunk, dimensions, steps, seed;
    double mean, overhead, latency, factor;
    int engine;
    bool chunks, yield;
} settings;

/* Settings, read. */
typedef struct loop_scene {
    const settings *settings;
    int64_t n;
    int nranks;
    double *cost;           /* [n] */
    double *weight, *speed; /* [nranks] or NULL */
    eqp_schedule_stall stall;
    eqp_schedule_options options;
    eqp_schedule_machine machine;
} loop_scene;

static const app_option options[] = {
    {.name = "method",
     .argument = "NAME,...",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, method),
     .fallback = "all",
     .help = "how chunks are made; all: every method; help: lists them"},
    {.name = "n",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, n),
     .fallback = "-1",
     .int_low = -1,
     .int_high = 1000000000,
     .help = "iterations; -1: as many as FILE has"},
    {.name = "procs",
     .argument = "P",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, procs),
     .fallback = "4",
     .int_low = 1,
     .int_high = 1 << 20,
     .help = "simulated ranks"},
    {.name = "weights",
     .argument = "W,W,...",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, weights),
     .help = "what the methods are told of the ranks' relative speeds, one\n"
             "for each"},
    {.name = "speeds",
     .argument = "S,S,...",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, speeds),
     .help = "how fast the ranks are; without it as the weights say"},
    {.name = "cost",
     .argument = "KIND|FILE",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, cost),
     .fallback = "uniform",
     .help = "uniform; front, back, centre or scatter: where expensive iterations\n"
             "are; or a text file of seconds"},
    {.name = "mean",
     .argument = "SECONDS",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, mean),
     .fallback = "1e-3",
     .real_high = 1e6,
     .help = "of an iteration, unless there is a file"},
    {.name = "seed",
     .argument = "S",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, seed),
     .fallback = "1",
     .int_low = 0,
     .int_high = INT64_MAX,
     .help = "of the costs"},
    {.name = "overhead",
     .argument = "SECONDS",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, overhead),
     .fallback = "5e-7",
     .real_high = 1e6,
     .help = "that handing out a chunk takes, one at a time"},
    {.name = "latency",
     .argument = "SECONDS",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, latency),
     .fallback = "1e-6",
     .real_high = 1e6,
     .help = "of a message; a chunk takes two"},
    {.name = "chunk",
     .argument = "K",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, chunk),
     .fallback = "0",
     .int_low = 0,
     .int_high = INT64_MAX,
     .help = "fixed: the size; adaptive-factoring and those with weights: a\n"
             "rank's first, from which weighted-factoring then measures the\n"
             "weights; 0: by the formula"},
    {.name = "factor",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, factor),
     .fallback = "2",
     .real_low = 1,
     .real_high = 1e6,
     .help = "factoring and its kin: a batch is 1/X of what is left"},
    {.name = "engine",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, engine),
     .choices = "one-sided|master",
     .help = "where iterations come from: the front of what is left, or first\n"
             "from a rank's own part, then from that with most left"},
    {.name = "dimensions",
     .argument = "D",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, dimensions),
     .fallback = "2",
     .int_low = 1,
     .int_high = 3,
     .help = "fractiling: of the space in whose Morton order the loop goes"},
    {.name = "steps",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, steps),
     .fallback = "1",
     .int_low = 1,
     .int_high = 1000000,
     .help = "times that the loop is run, the last of which is shown; the\n"
             "others teach adaptive methods"},
    {.name = "stall",
     .argument = "rank=R,at=T,seconds=S",
     .type = APP_OPTION_KEYED,
     .offset = offsetof(settings, stall),
     .help = "a rank that does nothing for a time"},
    {.name = "yield",
     .type = APP_OPTION_FLAG,
     .offset = offsetof(settings, yield),
     .help = "who gets no chunk takes half of what the slowest has not begun"},
    {.name = "chunks",
     .type = APP_OPTION_FLAG,
     .offset = offsetof(settings, chunks),
     .help = "print the sizes of the chunks in order, a line each, and\n"
             "nothing else"},
};

static const app_command_line command_line = {
    .program = "loop",
    .summary =
        "Hands the iterations of a loop out to simulated ranks and prints a line for each method: chunks, seconds\n"
        "until the last rank is done, their product with the number of ranks, coefficient of variation of the\n"
        "ranks' finishing times.",
    .option = options,
    .noptions = sizeof options / sizeof options[0],
    .values_size = sizeof(settings),
};

/* nranks numbers > 0. */
static int read_list(const char *text, int nranks, double **list, eqp_message *message)
{
    char **words = NULL;
    double *read = NULL;
    double sum = 0.0;
    int n = 0, code = app_parse_word_list(text, &n, &words, message);

    if (!code && n != nranks) {
        eqp_message_set(message, "%d numbers for %d ranks", n, nranks);
        code = EQP_ERR_ARGUMENT;
    }
    code = code ? code : eqp_array_create(&read, nranks, sizeof *read);
    for (int i = 0; i < n && !code; i++) {
        if ((code = eqp_read_real(words[i], 0.0, true, INFINITY, &read[i], NULL))) {
            eqp_message_set(message, "'%.40s' is not a number > 0", words[i]);
            code = EQP_ERR_ARGUMENT;
        }
        sum += code ? 0.0 : read[i];
    }
    if (!code && !isfinite(sum)) {
        eqp_message_set(message, "the sum of the numbers is too large");
        code = EQP_ERR_ARGUMENT;
    }
    free(words);
    if (code) {
        free(read);
        return code;
    }
    *list = read;
    return EQP_OK;
}

static int read_stall(loop_scene *scene, const char *text, eqp_message *message)
{
    app_keyed keyed;
    int64_t rank = 0;
    int code = app_keyed_parse(text, &keyed, message);

    if (code) {
        return code;
    }
    app_keyed_int(&keyed, "rank", 0, scene->nranks - 1, &rank);
    app_keyed_real(&keyed, "at", 0.0, false, 1e300, &scene->stall.at);
    app_keyed_real(&keyed, "seconds", 0.0, false, 1e300, &scene->stall.seconds);
    code = app_keyed_end(&keyed, message);
    if (!code && !(scene->stall.seconds > 0.0)) {
        eqp_message_set(message, "seconds: how long?");
        code = EQP_ERR_ARGUMENT;
    }
    scene->stall.rank = (int)rank;
    scene->machine.nstalls = 1;
    scene->machine.stall = &scene->stall;
    return code;
}

/* In front of what is wrong, which option is. */
static int name_option(int code, const char *option, eqp_message *message)
{
    if (code) {
        eqp_message_set(message, "--%s: %s", option, message->text[0] ? message->text : eqp_error_text(code));
    }
    return code;
}

static int read_cost(loop_scene *scene, eqp_message *message)
{
    const settings *s = scene->settings;
    int64_t n = 0;
    int code = s->n < 0 ? EQP_ERR_UNKNOWN : loop_costs_make(s->cost, s->n, s->mean, (uint64_t)s->seed, &scene->cost);

    scene->n = s->n;
    if (code != EQP_ERR_UNKNOWN) {
        return code;
    }
    if (eqp_read_choice(s->cost, LOOP_COSTS_KINDS, &(int){0}, NULL) == EQP_OK) {
        eqp_message_set(message, "--n: how many iterations?");
        return EQP_ERR_ARGUMENT;
    }
    code = name_option(loop_costs_read(s->cost, &n, &scene->cost, message), "cost", message);
    if (!code && s->n >= 0 && s->n != n) {
        eqp_message_set(message, "--cost: %s has %" PRId64 " numbers for %" PRId64 " iterations", s->cost, n, s->n);
        code = EQP_ERR_ARGUMENT;
    }
    scene->n = n;
    return code;
}

/* What `fixed` is told: eq. 2.1 wants the spread of what this very loop costs. */
static double deviation_of(int64_t n, const double *cost)
{
    double mean = 0.0, sum = 0.0;

    for (int64_t i = 0; i < n; i++) {
        mean += cost[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        sum += (cost[i] - mean) * (cost[i] - mean) / (double)n;
    }
    return isfinite(sum) ? sqrt(sum) : 0.0;
}

static int read_scene(const settings *s, loop_scene *scene, eqp_message *message)
{
    int code;

    scene->settings = s;
    scene->nranks = (int)s->procs;
    if ((code = read_cost(scene, message)) ||
        (s->weights &&
         (code = name_option(read_list(s->weights, scene->nranks, &scene->weight, message), "weights", message))) ||
        (s->speeds &&
         (code = name_option(read_list(s->speeds, scene->nranks, &scene->speed, message), "speeds", message))) ||
        (s->stall && (code = name_option(read_stall(scene, s->stall, message), "stall", message)))) {
        return code;
    }
    scene->options = (eqp_schedule_options){.size = sizeof(eqp_schedule_options),
                                            .weight = scene->weight,
                                            .factor = s->factor,
                                            .chunk = s->chunk,
                                            .overhead = s->overhead + 2.0 * s->latency,
                                            .deviation = deviation_of(scene->n, scene->cost),
                                            .dimensions = (int)s->dimensions};
    scene->machine.speed = scene->speed ? scene->speed : scene->weight;
    scene->machine.overhead = s->overhead;
    scene->machine.latency = s->latency;
    scene->machine.yield = s->yield;
    scene->machine.master = s->engine == 1;
    return EQP_OK;
}

static void print_size(void *user, const eqp_schedule_event *event)
{
    (void)user;
    if (event->kind != EQP_SCHEDULE_DONE) {
        printf("%" PRId64 "\n", event->chunk.count);
    }
}

/* header: whether the table has one by now. */
static int run_method(const loop_scene *scene, const eqp_schedule_method *method, bool *header)
{
    const settings *s = scene->settings;
    eqp_schedule_machine machine = scene->machine;
    eqp_schedule_outcome outcome;
    eqp_schedule *schedule = NULL;
    int code = eqp_schedule_create(method, scene->n, scene->nranks, &scene->options, &schedule);

    for (int64_t step = 0; step < s->steps && !code; step++) {
        if (step + 1 == s->steps && s->chunks) {
            machine.event = print_size;
        }
        code = step > 0 ? eqp_schedule_restart(schedule, scene->n) : EQP_OK;
        code = code ? code : eqp_schedule_simulate(schedule, scene->cost, &machine, &outcome);
    }
    eqp_schedule_free(schedule);
    if (!code && !s->chunks && !*header) {
        *header = true;
        printf("method\tn\tprocs\tchunks\tmakespan\tcost\tcov\n");
    }
    if (!code && !s->chunks) {
        printf("%s\t%" PRId64 "\t%d\t%" PRId64 "\t%.9g\t%.9g\t%.9g\n", method->name, scene->n, scene->nranks,
               outcome.chunks, outcome.makespan, outcome.cost, outcome.cov);
    }
    return code;
}

static int run_methods(const loop_scene *scene, int n, char *const *names, eqp_message *message)
{
    bool header = false;
    int code = EQP_OK;

    for (int i = 0; i < n; i++) {
        if (!eqp_schedule_method_find(names[i])) {
            eqp_message_set(message, "--method: '%.40s' is no method; --method help lists them", names[i]);
            return EQP_ERR_UNKNOWN;
        }
    }
    if (scene->settings->chunks && n != 1) {
        eqp_message_set(message, "--chunks: of one method only");
        return EQP_ERR_ARGUMENT;
    }
    for (int i = 0; i < n && !code; i++) {
        code = run_method(scene, eqp_schedule_method_find(names[i]), &header);
    }
    return code;
}

static void list_methods(void)
{
    for (int i = 0; i < eqp_schedule_method_count(); i++) {
        const eqp_schedule_method *method = eqp_schedule_method_at(i);
        printf("%-28s %s\n", method->name, method->summary);
    }
}

/* The names that --method stands for, [n], to be freed. */
static int name_methods(const char *text, int *n, char ***names, eqp_message *message)
{
    int code;

    if (strcmp(text, "all") != 0) {
        return name_option(app_parse_word_list(text, n, names, message), "method", message);
    }
    code = eqp_array_create(names, eqp_schedule_method_count(), sizeof **names);
    *n = code ? 0 : eqp_schedule_method_count();
    for (int i = 0; i < *n; i++) {
        (*names)[i] = (char *)eqp_schedule_method_at(i)->name;
    }
    return code;
}

static int refuse(int code, const eqp_message *message)
{
    fprintf(stderr, "loop: %s\n", message->text[0] ? message->text : eqp_error_text(code));
    return code == EQP_ERR_MEMORY ? TROUBLE : BAD_INPUT;
}

static int run(const settings *s)
{
    eqp_message message = {""};
    loop_scene scene = {0};
    char **names = NULL;
    int n = 0, code = EQP_OK;

    if (strcmp(s->method, "help") == 0) {
        list_methods();
    } else if (!(code = name_methods(s->method, &n, &names, &message)) && !(code = read_scene(s, &scene, &message))) {
        code = run_methods(&scene, n, names, &message);
    }
    free(names);
    free(scene.cost);
    free(scene.weight);
    free(scene.speed);
    if (code) {
        return refuse(code, &message);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "loop: standard output cannot be written\n");
        return BAD_INPUT;
    }
    return 0;
}

int main(int argc, char **argv)
{
    settings s;
    app_action action;
    eqp_message message = {""};
    char *text = NULL;
    int code = app_options_parse(&command_line, argc, argv, &s, NULL, &action, &message);

    if (code) {
        fprintf(stderr, "%s\n", message.text[0] ? message.text : eqp_error_text(code));
        return code == EQP_ERR_MEMORY ? TROUBLE : BAD_INPUT;
    }
    if (action == APP_RUN) {
        return run(&s);
    }
    if (action == APP_VERSION) {
        printf("loop %s\n", eqp_version());
        return 0;
    }
    if ((code = app_options_help(&command_line, &text))) {
        return refuse(code, &message);
    }
    fputs(text, stdout);
    free(text);
    return 0;
}
