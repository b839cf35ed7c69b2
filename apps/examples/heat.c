/* SPDX-License-Identifier: BSD-3-Clause */
/* Steady heat on a triangulated cylinder by Jacobi's method, the third application of the thesis
 * (<equipoise/schedule.h>, section 4.7): one end is hot, the other is cold, every node in between gets the weighted
 * mean of its neighbours, again and again. The nodes of every sweep are handed out to the ranks that run this program;
 * so it is a loop with time steps, from which adaptive-weighted-factoring learns. What comes out is the same to the
 * last bit on any ranks, by any method.
 *
 *     mpiexec -n 4 heat --method adaptive-weighted-factoring */
#include "heat_mesh.h"
#include "loop_program.h"

#include <equipoise/par.h>
#include <equipoise/schedule_run.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct settings {
    const char *method;
    int64_t ring, rings, steps, seed, chunk;
    int engine;
    double tolerance;
    bool yield;
} settings;

static const app_option options[] = {
    {.name = "method",
     .argument = "NAME",
     .type = APP_OPTION_TEXT,
     .offset = offsetof(settings, method),
     .fallback = "factoring",
     .help = "how nodes are handed out; `loop --method help` lists the methods"},
    {.name = "ring",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, ring),
     .fallback = "40",
     .int_low = 3,
     .int_high = 100000,
     .help = "nodes around the cylinder"},
    {.name = "rings",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, rings),
     .fallback = "25",
     .int_low = 2,
     .int_high = 100000,
     .help = "nodes along it, its ends included"},
    {.name = "tolerance",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = offsetof(settings, tolerance),
     .fallback = "1e-4",
     .real_high = 1.0,
     .help = "stop when no node changes by more in a sweep"},
    {.name = "steps",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, steps),
     .fallback = "10000",
     .int_low = 1,
     .int_high = 1000000000,
     .help = "sweeps at most"},
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
    {.name = "yield",
     .type = APP_OPTION_FLAG,
     .offset = offsetof(settings, yield),
     .help = "chunks that take long are given away in the middle"},
    {.name = "seed",
     .argument = "S",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, seed),
     .fallback = "1",
     .int_low = 0,
     .int_high = INT64_MAX,
     .help = "of the mesh"},
};

static const app_command_line command_line = {
    .program = "heat",
    .summary =
        "Computes the temperature of a cylinder with a hot and a cold end, and prints sweeps, the last change, the\n"
        "mean temperature, chunks per sweep and wall seconds.",
    .option = options,
    .noptions = sizeof options / sizeof options[0],
    .values_size = sizeof(settings),
};

typedef struct solver {
    MPI_Comm comm;
    int rank, nranks;
    heat_mesh mesh;
    double *now, *then; /* [n] temperatures of all nodes, before and after a sweep */
    double *mine;       /* [part] of this rank's nodes, after it */
    int64_t *count;     /* [nranks] nodes of each rank's part */
    eqp_loop *loop;
    int64_t chunks;
} solver;

static bool is_fixed(const heat_mesh *m, int64_t i)
{
    return i < m->ring || i >= m->n - m->ring;
}

static int compute(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    const solver *s = user;
    const heat_mesh *m = &s->mesh;

    (void)data;
    for (int64_t i = first; i < first + count; i++) {
        double sum = 0.0;
        for (int64_t k = m->first[i]; k < m->first[i + 1]; k++) {
            sum += m->weight[k] * s->now[m->neighbour[k]];
        }
        ((double *)result)[i - first] = is_fixed(m, i) ? s->now[i] : sum;
    }
    return EQP_OK;
}

/* One sweep; every rank gets all temperatures. */
static int sweep(solver *s, double *change)
{
    const eqp_loop_work work = {.compute = compute, .user = s, .result = s->mine};
    eqp_loop_result done;
    double *old = s->now;
    int code = eqp_loop_run(s->loop, &work, &done);

    if (code || (code = eqp_gather_all(s->comm, sizeof *s->mine, s->count[s->rank], s->mine, s->count, s->then))) {
        return code;
    }
    s->chunks += done.chunks;
    *change = 0.0;
    for (int64_t i = 0; i < s->mesh.n; i++) {
        *change = fmax(*change, fabs(s->then[i] - s->now[i]));
    }
    s->now = s->then;
    s->then = old;
    return EQP_OK;
}

static int prepare(solver *s, const settings *set)
{
    const eqp_loop_options how = {.size = sizeof(eqp_loop_options),
                                  .result_bytes = sizeof(double),
                                  .yield = set->yield,
                                  .engine = set->engine == 1 ? EQP_LOOP_MASTER : EQP_LOOP_ONE_SIDED};
    eqp_schedule_options rules = eqp_schedule_options_defaults();
    int code = heat_mesh_create(set->ring, set->rings, (uint64_t)set->seed, &s->mesh);

    rules.chunk = set->chunk;
    code = code ? code : eqp_array_create(&s->now, s->mesh.n, sizeof *s->now);
    code = code ? code : eqp_array_create(&s->then, s->mesh.n, sizeof *s->then);
    code = code ? code : eqp_array_create(&s->count, s->nranks, sizeof *s->count);
    code = code ? code
                : eqp_array_create(&s->mine, eqp_schedule_part(s->mesh.n, s->nranks, s->rank).count, sizeof *s->mine);
    for (int r = 0; r < s->nranks && !code; r++) {
        s->count[r] = eqp_schedule_part(s->mesh.n, s->nranks, r).count;
    }
    for (int64_t i = 0; i < s->mesh.ring && !code; i++) {
        s->now[i] = 1.0;
    }
    code = eqp_agree(s->comm, code, NULL);
    return code ? code
                : eqp_loop_create(s->comm, eqp_schedule_method_find(set->method), s->mesh.n, &rules, &how, &s->loop);
}

/* No node can be hotter than the hot end, or colder than the cold one, and the mean of a long cylinder is between. */
static int check_and_print(solver *s, const settings *set, int64_t steps, double change, double seconds)
{
    double mean = 0.0;
    bool good = true;
    int code = eqp_sum_int64(s->comm, 1, &s->chunks);

    for (int64_t i = 0; i < s->mesh.n; i++) {
        mean += s->now[i];
        good = good && s->now[i] >= 0.0 && s->now[i] <= 1.0 + 1e-12;
    }
    if (code || !good) {
        return code ? code : EQP_ERR_INTERNAL;
    }
    if (s->rank == 0) {
        printf("method\tn\tprocs\tsteps\tchange\tmean\tchunks\tseconds\n%s\t%" PRId64 "\t%d\t%" PRId64
               "\t%.17g\t%.17g\t%.6g\t%.6g\n",
               set->method, s->mesh.n, s->nranks, steps, change, mean / (double)s->mesh.n,
               (double)s->chunks / (double)steps, seconds);
    }
    return EQP_OK;
}

static int solve(MPI_Comm comm, const settings *set)
{
    solver s = {.comm = comm};
    double change = 1.0, begin;
    int64_t steps = 0;
    int code;

    MPI_Comm_rank(comm, &s.rank);
    MPI_Comm_size(comm, &s.nranks);
    code = prepare(&s, set);
    begin = eqp_wall_seconds();
    while (!code && steps < set->steps && (steps == 0 || change > set->tolerance)) {
        code = sweep(&s, &change);
        steps++;
    }
    code = code ? code : check_and_print(&s, set, steps, change, eqp_wall_seconds() - begin);
    eqp_loop_free(s.loop);
    heat_mesh_free(&s.mesh);
    free(s.now);
    free(s.then);
    free(s.mine);
    free(s.count);
    return code;
}

static int run(MPI_Comm comm, const void *settings_of_line, eqp_message *message)
{
    const settings *s = settings_of_line;
    const int code = loop_program_check_method(s->method, message);

    return code ? code : solve(comm, s);
}

int main(int argc, char **argv)
{
    settings s;
    const loop_program program = {&command_line, &s, run};

    return loop_program_main(&program, MPI_COMM_WORLD, argc, argv);
}
