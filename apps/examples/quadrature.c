/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles of an adaptive integrator, the second application of the thesis (<equipoise/schedule.h>, section 4.6): n
 * sets of integrals, of which some take much longer than others, are handed out to the ranks that run this program.
 * What is to be integrated comes from a set's owner, and what came out goes there. Compares every integral with its
 * exact value.
 *
 *     mpiexec -n 4 quadrature --method factoring --n 3780 --cost front */
#include "loop_costs.h"
#include "loop_program.h"
#include "quadrature_integrands.h"

#include <equipoise/file.h>
#include <equipoise/par.h>
#include <equipoise/schedule_run.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_SAMPLES = 64 };

typedef struct settings {
    const char *method, *trace;
    int64_t n, samples, seed, chunk;
    int cost, rule, engine;
    double tolerance;
    bool yield;
} settings;

/* What travels: a set of integrals, and what is known of it afterwards. */
typedef struct set {
    int64_t number;
    int64_t hard;
} set;

typedef struct profile {
    int64_t evaluations;
    int64_t wrong; /* integrals whose error is more than 100 tolerances */
} profile;

typedef struct job {
    const settings *settings;
    quadrature_rule rule;
    double begun, done; /* wall seconds: of the run, and of this rank's last set */
} job;

static const app_option options[] = {
    {.name = "method",
     .argument = "NAME",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, method),
     .fallback = "factoring",
     .help = "how sets are handed out; `loop --method help` lists the methods"},
    {.name = "n",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, n),
     .fallback = "3780",
     .int_low = 0,
     .int_high = 100000000,
     .help = "sets of integrals"},
    {.name = "cost",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, cost),
     .choices = LOOP_COSTS_KINDS,
     .fallback = "front",
     .help = "where the hard sets are: one in five, but for uniform"},
    {.name = "samples",
     .argument = "K",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, samples),
     .fallback = "4",
     .int_low = 1,
     .int_high = MOST_SAMPLES,
     .help = "integrals in a set"},
    {.name = "tolerance",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, tolerance),
     .fallback = "1e-6",
     .real_low = 1e-9,
     .real_high = 1e-2,
     .help = "error of an interval"},
    {.name = "integrator",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, rule),
#ifdef QUADRATURE_GSL
     .choices = "own|gsl",
#else
     .choices = "own",
#endif
     .help = "own: Gauss and Kronrod with bisection; gsl: QAGS, if built in"},
    {.name = "chunk",
     .argument = "K",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, chunk),
     .fallback = "0",
     .int_low = 0,
     .int_high = INT64_MAX,
     .help = "as that of `loop`: the size of the first chunks, or of all; 0: by\n"
             "the method's formula"},
    {.name = "engine",
     .type = APP_OPTION_CHOICE,
     .offset = offsetof(settings, engine),
     .choices = "one-sided|master",
     .help = "who hands out: every rank helps itself, or rank 0"},
    {.name = "seed",
     .argument = "S",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, seed),
     .fallback = "1",
     .int_low = 0,
     .int_high = INT64_MAX,
     .help = "of the integrands"},
    {.name = "yield",
     .type = APP_OPTION_FLAG,
     .offset = offsetof(settings, yield),
     .help = "chunks that take long are given away in the middle"},
    {.name = "trace",
     .argument = "FILE",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, trace),
     .help = "write what each set costs, 1e-7 s for an evaluation, a line each:\n"
             "`loop --cost FILE` shows what many ranks would make of it"},
};

static const app_command_line command_line = {
    .program = "quadrature",
    .summary =
        "Hands sets of integrals out to the ranks that run it, and prints chunks, wall seconds until the last rank\n"
        "is done, their product with the number of ranks, coefficient of variation of the finishing times.",
    .option = options,
    .noptions = sizeof options / sizeof options[0],
    .values_size = sizeof(settings),
};

static profile profile_of(const job *j, const set *s)
{
    profile p = {0, 0};

    for (int k = 0; k < (int)j->settings->samples; k++) {
        const quadrature_integrand f = quadrature_draw((uint64_t)j->settings->seed, s->number, k, s->hard != 0);
        double value;
        p.evaluations += j->rule(&f, j->settings->tolerance, &value);
        p.wrong += !(fabs(value - quadrature_exact(&f)) <= 100.0 * j->settings->tolerance);
    }
    return p;
}

static int compute(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    job *j = user;

    (void)first;
    for (int64_t i = 0; i < count; i++) {
        ((profile *)result)[i] = profile_of(j, (const set *)data + i);
    }
    j->done = eqp_wall_seconds() - j->begun;
    return EQP_OK;
}

static int write_trace(const char *path, int64_t n, const profile *profiles, eqp_message *message)
{
    eqp_output *file;
    int code = eqp_output_create(path, &file, message);

    if (code) {
        return code;
    }
    for (int64_t i = 0; i < n; i++) {
        (void)fprintf(eqp_output_stream(file), "%.9g\n", 1e-7 * (double)profiles[i].evaluations);
    }
    return eqp_output_commit(file, message);
}

/* One line, of all ranks' numbers. */
static int print_row(MPI_Comm comm, const settings *s, const eqp_loop_result *mine, double done)
{
    int rank, nranks;
    double *all = NULL, last = 0.0, mean = 0.0, square = 0.0;
    int64_t chunks = mine->chunks, n = 0;
    int code;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    if ((code = eqp_sum_int64(comm, 1, &chunks)) ||
        (code = eqp_gather_records(comm, sizeof done, 1, &done, &n, &all))) {
        return code;
    }
    for (int r = 0; r < nranks; r++) {
        last = fmax(last, all[r]);
        mean += all[r] / nranks;
    }
    for (int r = 0; r < nranks; r++) {
        square += (all[r] - mean) * (all[r] - mean);
    }
    free(all);
    if (rank == 0) {
        printf("method\tn\tprocs\tchunks\tmakespan\tcost\tcov\n%s\t%" PRId64 "\t%d\t%" PRId64 "\t%.6g\t%.6g\t%.6g\n",
               s->method, s->n, nranks, chunks, last, nranks * last,
               nranks > 1 && mean > 0.0 ? sqrt(square / (nranks - 1)) / mean : 0.0);
    }
    return EQP_OK;
}

/* All sets were integrated, and well: an integrator may be deceived now and then. Writes the trace. */
static int check_profiles(MPI_Comm comm, const settings *s, int64_t n, const profile *mine, eqp_message *message)
{
    profile *all = NULL;
    int64_t total = 0, sum[2] = {0, 0};
    int rank, code;

    MPI_Comm_rank(comm, &rank);
    for (int64_t i = 0; i < n; i++) {
        sum[0] += mine[i].wrong;
        sum[1] += mine[i].evaluations > 0;
    }
    if ((code = eqp_sum_int64(comm, 2, sum))) {
        return code;
    }
    if (sum[1] != s->n || sum[0] > s->n * s->samples / 1000) {
        eqp_message_set(message, "%" PRId64 " of %" PRId64 " sets were integrated, %" PRId64 " integrals are wrong",
                        sum[1], s->n, sum[0]);
        return EQP_ERR_INTERNAL;
    }
    if (s->trace && (code = eqp_gather_records(comm, sizeof *mine, n, mine, &total, &all))) {
        return code;
    }
    code = eqp_agree(comm, s->trace && rank == 0 ? write_trace(s->trace, total, all, message) : EQP_OK, message);
    free(all);
    return code;
}

static int run_loop(MPI_Comm comm, const settings *s, eqp_message *message)
{
    const eqp_loop_options how = {.size = sizeof(eqp_loop_options),
                                  .data_bytes = sizeof(set),
                                  .result_bytes = sizeof(profile),
                                  .yield = s->yield,
                                  .engine = s->engine == 1 ? EQP_LOOP_MASTER : EQP_LOOP_ONE_SIDED};
    eqp_schedule_options rules = eqp_schedule_options_defaults();
    job j = {.settings = s, .rule = quadrature_own};
    eqp_loop *loop = NULL;
    eqp_loop_result mine;
    eqp_schedule_chunk part;
    set *sets = NULL;
    profile *profiles = NULL;
    int rank, nranks, code;

#ifdef QUADRATURE_GSL
    j.rule = s->rule == 1 ? quadrature_gsl : quadrature_own;
#endif
    rules.chunk = s->chunk;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    part = eqp_schedule_part(s->n, nranks, rank);
    code = eqp_array_create(&sets, part.count, sizeof *sets);
    code = code ? code : eqp_array_create(&profiles, part.count, sizeof *profiles);
    for (int64_t i = 0; i < part.count && !code; i++) {
        const int64_t number = part.first + i;
        sets[i] = (set){number, loop_costs_is_heavy(s->cost, ((double)number + 0.5) / (double)s->n)};
    }
    if ((code = eqp_agree(comm, code, NULL)) ||
        (code = eqp_loop_create(comm, eqp_schedule_method_find(s->method), s->n, &rules, &how, &loop))) {
        goto done;
    }
    j.begun = eqp_wall_seconds();
    const eqp_loop_work work = {.compute = compute, .user = &j, .data = sets, .result = profiles};
    if (!(code = eqp_loop_run(loop, &work, &mine)) &&
        !(code = check_profiles(comm, s, part.count, profiles, message))) {
        code = print_row(comm, s, &mine, j.done);
    }
done:
    eqp_loop_free(loop);
    free(sets);
    free(profiles);
    return code;
}

static int run(MPI_Comm comm, const void *settings_of_line, eqp_message *message)
{
    const settings *s = settings_of_line;
    const int code = loop_program_check_method(s->method, message);

    return code ? code : run_loop(comm, s, message);
}

int main(int argc, char **argv)
{
    settings s;
    const loop_program program = {&command_line, &s, run};

    return loop_program_main(&program, MPI_COMM_WORLD, argc, argv);
}
