/* SPDX-License-Identifier: BSD-3-Clause */
/* What handing out a chunk costs a rank: loops whose iterations do nothing.
 *
 *     mpiexec -n 2 build/bench/bench_schedule [ITERATIONS [REPETITIONS]]
 *
 * By default 200,000 iterations, 9 times. CSV of rank 0: chunks are those of all ranks in the median run, cpu_us CPU
 * microseconds of all ranks for each of them, least and median of the runs; wall_us wall microseconds of the run, times
 * the ranks, for each of them: on ranks that share a core, or wait for one, it says little. Methods
 * with few chunks show what a whole run costs: its agreements are in it. `fixed` has chunks of one iteration and
 * `yield`: what that costs where there is nothing to give. Row `swap` is one compare-and-swap in a window of
 * rank 0 by the last rank alone, the others waiting in a barrier. */
#include "timing.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/loops.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct bench_scene {
    MPI_Comm comm;
    int rank, nranks;
    int64_t n;
    int repetitions;
} bench_scene;

static void check(int code)
{
    if (code) {
        bench_die("bench_schedule", eqp_error_text(code));
    }
}

static int nothing(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    (void)user;
    (void)first;
    (void)count;
    (void)data;
    (void)result;
    return EQP_OK;
}

static void print_row(const bench_scene *s, const char *name, int64_t n, int64_t chunks, const bench_times *cpu,
                      const bench_times *wall)
{
    if (s->rank == 0) {
        printf("%s,%d,%" PRId64 ",%" PRId64 ",%.4f,%.4f,%.4f,%.4f\n", name, s->nranks, n, chunks,
               1e6 * bench_least(cpu), 1e6 * bench_median(cpu), 1e6 * bench_least(wall), 1e6 * bench_median(wall));
        fflush(stdout);
    }
}

static void measure_method(const bench_scene *s, const char *name, eqp_loop_engine engine)
{
    const eqp_schedule_options defaults = eqp_schedule_options_defaults();
    eqp_schedule_options rules = defaults;
    eqp_loop_options options = eqp_loop_options_defaults();
    const eqp_loop_work work = {.compute = nothing};
    char label[64];
    bench_times cpu = {0}, wall = {0};
    eqp_loop *loop = NULL;
    int64_t all = 0;

    rules.chunk = eqp_schedule_method_find(name) == eqp_schedule_method_find("fixed");
    options.yield = rules.chunk == 1;
    options.engine = engine;
    check(eqp_loop_create(s->comm, eqp_schedule_method_find(name), s->n, &rules, &options, &loop));
    for (int i = -1; i < s->repetitions; i++) {
        eqp_loop_result result = {0};
        const double cpu_start = eqp_cpu_seconds(), wall_start = eqp_wall_seconds();
        check(eqp_loop_run(loop, &work, &result));
        double seconds = eqp_cpu_seconds() - cpu_start;
        double longest = eqp_wall_seconds() - wall_start;
        all = result.chunks;
        check(eqp_sum_int64(s->comm, 1, &all));
        check(eqp_sum_double(s->comm, 1, &seconds));
        MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_DOUBLE, MPI_MAX, s->comm);
        if (i >= 0) { /* the first is a warm-up */
            bench_times_add(&cpu, seconds / (double)(all > 0 ? all : 1));
            bench_times_add(&wall, longest * s->nranks / (double)(all > 0 ? all : 1));
        }
    }
    eqp_loop_free(loop);
    (void)snprintf(label, sizeof label, "%s%s", name, engine == EQP_LOOP_MASTER ? " by master" : "");
    print_row(s, label, s->n, all, &cpu, &wall);
}

static void measure_swap(const bench_scene *s)
{
    const int64_t n = 100000;
    bench_times cpu = {0}, wall = {0};
    int64_t *word, found;
    MPI_Win window;

    MPI_Win_allocate(s->rank == 0 ? 8 : 0, 8, MPI_INFO_NULL, s->comm, &word, &window);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    for (int i = 0; i < s->repetitions; i++) {
        double seconds[2] = {0, 0};
        if (s->rank == 0) {
            *word = 0;
        }
        MPI_Win_sync(window);
        MPI_Barrier(s->comm);
        if (s->rank == s->nranks - 1) {
            const double cpu_start = eqp_cpu_seconds(), wall_start = eqp_wall_seconds();
            for (int64_t k = 0; k < n; k++) {
                const int64_t next = k + 1;
                MPI_Compare_and_swap(&next, &k, &found, MPI_INT64_T, 0, 0, window);
                MPI_Win_flush(0, window);
            }
            seconds[0] = (eqp_cpu_seconds() - cpu_start) / (double)n;
            seconds[1] = (eqp_wall_seconds() - wall_start) / (double)n;
        }
        MPI_Barrier(s->comm);
        check(eqp_sum_double(s->comm, 2, seconds));
        bench_times_add(&cpu, seconds[0]);
        bench_times_add(&wall, seconds[1]);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    print_row(s, "swap", n, n, &cpu, &wall);
}

int main(int argc, char **argv)
{
    bench_scene s = {.n = argc > 1 ? (int64_t)atof(argv[1]) : 200000, .repetitions = argc > 2 ? atoi(argv[2]) : 9};

    MPI_Init(&argc, &argv);
    if (s.n < 1 || s.n > INT32_MAX || s.repetitions < 1) {
        bench_die("bench_schedule", "usage: bench_schedule [ITERATIONS [REPETITIONS]]");
    }
    check(eqp_comm_create(MPI_COMM_WORLD, &s.comm));
    MPI_Comm_rank(s.comm, &s.rank);
    MPI_Comm_size(s.comm, &s.nranks);
    if (s.rank == 0) {
        printf("method,ranks,iterations,chunks,cpu_us,cpu_us_median,wall_us,wall_us_median\n");
    }
    measure_swap(&s);
    measure_method(&s, "self", EQP_LOOP_ONE_SIDED);
    measure_method(&s, "self", EQP_LOOP_MASTER);
    measure_method(&s, "fixed", EQP_LOOP_ONE_SIDED);
    for (int m = 2; m < eqp_schedule_method_count(); m++) {
        if (eqp_schedule_method_at(m) != eqp_schedule_method_find("fixed")) {
            measure_method(&s, eqp_schedule_method_at(m)->name, EQP_LOOP_ONE_SIDED);
        }
    }
    eqp_comm_free(&s.comm);
    MPI_Finalize();
    return 0;
}
