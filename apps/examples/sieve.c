/* SPDX-License-Identifier: BSD-3-Clause */
/* The modified sieve of Eratosthenes over MPI ranks, cut linearly and by the cumulative time function: how well the
 * ranks' work is balanced, in counted divisions, so that the answer is the same on every machine. */
#include "shell.h"
#include "sieve_work.h"

#include <equipoise/functional.h>
#include <equipoise/par.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PROGRAM "sieve"

enum { FIT_SAMPLES, FIT_PRIMES };

typedef struct settings {
    int64_t max, nodes;
    int divisors, split, fit; /* words of the options */
    double exponent;          /* 0: fitted */
    bool table;
} settings;

static const app_option options[] = {
    {.name = "max",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, max),
     .fallback = "2000000",
     .int_low = 2,
     .int_high = 1000000000000,
     .help = "primes up to N"},
    {.name = "nodes",
     .argument = "P",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, nodes),
     .fallback = "0",
     .int_low = 0,
     .int_high = 1000000,
     .help = "ranges that the numbers are cut into; the ranks take turns with them; 0: one for each rank"},
    {.name = "divisors",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, divisors),
     .choices = "both|primes|odd",
     .help = "what numbers are divided by, up to their root: the primes, or all odd numbers"},
    {.name = "split",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, split),
     .choices = "both|linear|functional",
     .help = "how numbers are cut: into equal lengths, or into equal times; without --exponent\n"
             "these follow from what the linear split counted, which is run first"},
    {.name = "fit",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, fit),
     .choices = "samples|primes",
     .help = "time as a function: A x^P / (ln x - 1.08366) fitted to what was counted, or through\n"
             "what was counted, with that form in between"},
    {.name = "exponent",
     .argument = "P",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, exponent),
     .fallback = "0",
     .real_high = 10,
     .help = "P of that function, such as 1.43: nothing has to be counted before; 0: fitted"},
    {.name = "table", .type = APP_OPTION_FLAG, .offset = offsetof(settings, table), .help = "a line for every node"},
};

static const app_command_line command_line = {
    .program = PROGRAM,
    .summary =
        "Finds primes by trial division on all ranks, counts the divisions of every range, and says how balanced\n"
        "they are: efficiency = mean / largest, in per cent.",
    .option = options,
    .noptions = sizeof options / sizeof options[0],
    .values_size = sizeof(settings),
};

/* One sieving of all numbers. */
typedef struct sieving {
    MPI_Comm comm;
    int rank, nranks, nnodes;
    const settings *settings;
    sieve_table table;
    sieve_divisors divisors;
    double *bound;                /* [nnodes + 1] */
    int64_t *first;               /* [nnodes + 1] node i tries first[i] to first[i + 1] - 1 */
    int64_t *primes, *operations; /* [nnodes] */
    double *time;                 /* [nnodes] operations */
    double *x, *t;                /* [nnodes + 1] samples of cumulative time */
} sieving;

static int open_sieving(sieving *s)
{
    const int64_t n = s->nnodes;
    int code = sieve_table_create(s->settings->max, &s->table);

    code = code ? code : eqp_array_create(&s->bound, n + 1, sizeof *s->bound);
    code = code ? code : eqp_array_create(&s->first, n + 1, sizeof *s->first);
    code = code ? code : eqp_array_create(&s->primes, n, sizeof *s->primes);
    code = code ? code : eqp_array_create(&s->operations, n, sizeof *s->operations);
    code = code ? code : eqp_array_create(&s->time, n, sizeof *s->time);
    code = code ? code : eqp_array_create(&s->x, n + 1, sizeof *s->x);
    code = code ? code : eqp_array_create(&s->t, n + 1, sizeof *s->t);
    return eqp_agree(s->comm, code, NULL);
}

static void close_sieving(sieving *s)
{
    sieve_table_free(&s->table);
    free(s->bound);
    free(s->first);
    free(s->primes);
    free(s->operations);
    free(s->time);
    free(s->x);
    free(s->t);
}

static int try_range(sieving *s, int node, sieve_count *count)
{
    int64_t check = 0;
    int code;

    sieve_try(&s->table, s->divisors, s->first[node], s->first[node + 1], count);
    code = sieve_cross_out(&s->table, s->first[node], s->first[node + 1], &check);
    return code ? code : check == count->primes ? EQP_OK : EQP_ERR_INTERNAL;
}

/* Collective: all nodes' counts on all ranks. */
static int try_all(sieving *s, eqp_message *message)
{
    int code = EQP_OK;

    for (int node = 0; node < s->nnodes && !code; node++) {
        sieve_count count = {0};
        if (node % s->nranks == s->rank) {
            code = try_range(s, node, &count);
        }
        s->primes[node] = count.primes;
        s->operations[node] = count.operations;
    }
    if (code == EQP_ERR_INTERNAL) {
        eqp_message_set(message, PROGRAM ": trial division and crossing out find different numbers of primes");
    }
    if ((code = eqp_agree(s->comm, code, message))) {
        return code;
    }
    MPI_Allreduce(MPI_IN_PLACE, s->primes, s->nnodes, MPI_INT64_T, MPI_SUM, s->comm);
    MPI_Allreduce(MPI_IN_PLACE, s->operations, s->nnodes, MPI_INT64_T, MPI_SUM, s->comm);
    for (int node = 0; node < s->nnodes; node++) {
        s->time[node] = (double)s->operations[node];
    }
    return EQP_OK;
}

static int print_lines(const sieving *s, const char *split)
{
    const char *divisors = s->divisors == SIEVE_PRIMES ? "primes" : "odd";
    int64_t primes = 0, operations = 0, most = 0;
    double inefficiency = 0, efficiency = 0;
    int code = eqp_functional_efficiency(s->nnodes, s->time, &inefficiency, &efficiency);

    for (int i = 0; i < s->nnodes && s->rank == 0; i++) {
        if (s->settings->table) {
            printf("%s\t%s\t%d\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n", divisors, split, i, s->first[i],
                   s->first[i + 1] - 1, s->primes[i], s->operations[i]);
        }
        primes += s->primes[i];
        operations += s->operations[i];
        most = s->operations[i] > most ? s->operations[i] : most;
    }
    if (!code && s->rank == 0 && !s->settings->table) {
        printf("%s\t%s\t%d\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%.2f\n", divisors, split, s->nnodes, primes,
               operations, most, efficiency);
    }
    return code;
}

/* The numbers from 2 on, at whole ones; the first bound is where t(x) begins to make sense. */
static int place_items(sieving *s)
{
    s->bound[0] = 2;
    s->bound[s->nnodes] = (double)s->settings->max + 1;
    for (int i = 1; i < s->nnodes; i++) {
        s->bound[i] = s->bound[i] < 2 ? 2 : s->bound[i];
    }
    return eqp_functional_items(s->nnodes, s->bound, s->first);
}

static int split_linear(sieving *s)
{
    for (int i = 0; i <= s->nnodes; i++) {
        s->bound[i] = 2 + ((double)s->settings->max - 1) * i / s->nnodes;
    }
    return place_items(s);
}

/* Below this the form of t(x) falls for some exponent above 0.9, or there is nothing to be divided by. */
#define FORM_LOW 9.0

static int cut(sieving *s, const eqp_functional_time *time)
{
    const int code = eqp_functional_cut(time, s->nnodes, NULL, s->bound, NULL);

    return code ? code : place_items(s);
}

/* The form as given, or fitted to what was counted. */
static int find_form(const sieving *s, int64_t nsamples, eqp_functional_family *family, eqp_functional_time *time)
{
    int code = EQP_OK;

    *family = (eqp_functional_family){EQP_FUNCTIONAL_PRIMES, {1, s->settings->exponent}};
    if (s->settings->exponent == 0) {
        code = eqp_functional_fit(family->form, nsamples, s->x, s->t, family, NULL);
    }
    return code ? code : eqp_functional_family_time(family, FORM_LOW, (double)s->settings->max + 1, time);
}

/* Through what was counted, from 0 at 2 on, as steep there as the form says. */
static int cut_through_samples(sieving *s, int64_t nsamples, const eqp_functional_time *form)
{
    eqp_functional_samples *samples = NULL;
    double *slope = NULL;
    int code = eqp_array_create(&slope, nsamples + 1, sizeof *slope);

    for (int64_t i = nsamples; i >= 0 && !code; i--) {
        s->x[i] = i > 0 ? s->x[i - 1] : 2;
        s->t[i] = i > 0 ? s->t[i - 1] : 0;
        slope[i] = form->slope(form->user, fmax(s->x[i], FORM_LOW));
    }
    code = code ? code : eqp_functional_samples_create(nsamples + 1, s->x, s->t, slope, &samples);
    if (!code) {
        const eqp_functional_time time = eqp_functional_samples_time(samples);
        code = cut(s, &time);
    }
    eqp_functional_samples_free(samples);
    free(slope);
    return code;
}

/* What was counted up to the end of each node's range. Ranges without work, which are there if numbers are few, say
 * nothing. */
static int64_t collect_samples(sieving *s)
{
    double sum = 0;
    int64_t n = 0;

    for (int i = 0; i < s->nnodes; i++) {
        sum += s->time[i];
        if (s->time[i] > 0 && (double)s->first[i + 1] > FORM_LOW) {
            s->x[n] = (double)s->first[i + 1];
            s->t[n++] = sum;
        }
    }
    return n;
}

/* Too few numbers to know a function by: the linear split stays. */
static int split_functional(sieving *s)
{
    const bool given = s->settings->exponent > 0;
    const int64_t n = given ? 0 : collect_samples(s);
    eqp_functional_family family;
    eqp_functional_time form;

    if (s->settings->max < 2 * (int64_t)FORM_LOW || (!given && n < 2) || find_form(s, n, &family, &form)) {
        return split_linear(s);
    }
    return given || s->settings->fit == FIT_PRIMES ? cut(s, &form) : cut_through_samples(s, n, &form);
}

static int sieve_with(sieving *s, sieve_divisors divisors, eqp_message *message)
{
    const settings *o = s->settings;
    const bool functional = o->split != 1;
    const bool count_first = functional && o->exponent == 0;
    int code = EQP_OK;

    s->divisors = divisors;
    if (o->split != 2 || count_first) {
        code = split_linear(s);
        code = code ? code : try_all(s, message);
        if (!code && o->split != 2) {
            code = print_lines(s, "linear");
        }
    }
    if (functional && !code) {
        code = split_functional(s);
        code = code ? code : try_all(s, message);
        if (!code) {
            code = print_lines(s, "functional");
        }
    }
    return code;
}

static int run(MPI_Comm comm, const void *values, const char *command, int *stopped, eqp_message *message)
{
    const settings *o = values;
    sieving s = {.comm = comm, .settings = o};
    int code;

    (void)command;
    (void)stopped;
    MPI_Comm_rank(comm, &s.rank);
    MPI_Comm_size(comm, &s.nranks);
    s.nnodes = o->nodes > 0 ? (int)o->nodes : s.nranks;
    code = open_sieving(&s);
    if (!code && s.rank == 0) {
        printf(o->table ? "divisors\tsplit\tnode\tfirst\tlast\tprimes\toperations\n"
                        : "divisors\tsplit\tnodes\tprimes\toperations\toperations_max\tefficiency\n");
    }
    if (!code && o->divisors != 2) {
        code = sieve_with(&s, SIEVE_PRIMES, message);
    }
    if (!code && o->divisors != 1) {
        code = sieve_with(&s, SIEVE_ODD, message);
    }
    code = eqp_agree(comm, code || s.rank != 0 ? code : app_check_printed(PROGRAM, message), message);
    close_sieving(&s);
    return code;
}

static int answer(const void *values, char **text, eqp_message *message)
{
    (void)values;
    (void)text;
    (void)message;
    return EQP_OK;
}

static int complete(void *values, eqp_message *message)
{
    const settings *s = values;

    if (s->exponent > 0 && s->exponent < 1) {
        eqp_message_set(message, PROGRAM ": --exponent: %g is below 1, with which t(x) falls at small x", s->exponent);
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

int main(int argc, char **argv)
{
    settings values;
    const app_program program = {&command_line, &values, answer, complete, run, NULL, {0, 0, 0}};

    return app_main(&program, MPI_COMM_WORLD, argc, argv);
}
