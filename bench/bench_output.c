/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU seconds and memory of --output beyond the run, per million particles, as CSV.
 *
 *     mpirun -n 4 --oversubscribe --bind-to none build/bench/bench_output FILE.hdf5 5 --generate plummer:n=1e6
 *
 * Arguments: the snapshot, which is removed afterwards; how often it is written; options of barneshut. first, others:
 * CPU seconds of rank 0, which writes the file, and of all other ranks in sum; total: both. polling: CPU seconds of the
 * other ranks if they wait in MPI_Barrier() while rank 0 computes for as long as it takes to write the file. Medians.
 * grown: bytes by which the peak of the largest rank's memory rises, of all particles. */
#include "files/output.h"
#include "simulation.h"
#include "timing.h"

#include <equipoise/more/comm.h>
#include <equipoise/survey.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int64_t peak_bytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* Adds the CPU seconds of rank 0 and of the other ranks since `start`, on rank 0. */
static void add_since(const bh_simulation *sim, double start, bench_times *first, bench_times *others)
{
    const double mine = eqp_cpu_seconds_since(start);
    double sum = mine;

    if (eqp_sum_double(sim->comm, 1, &sum) != EQP_OK) {
        bench_die("no sum over the ranks");
    }
    if (first != NULL) {
        bench_times_add(first, mine);
    }
    bench_times_add(others, sum - mine);
}

static void poll(const bh_simulation *sim, double seconds, bench_times *polling)
{
    MPI_Barrier(sim->comm);
    const double start = eqp_cpu_seconds(), begun = MPI_Wtime();

    while (sim->domain.rank == 0 && MPI_Wtime() - begun < seconds) {
    }
    MPI_Barrier(sim->comm);
    add_since(sim, start, NULL, polling);
}

static void measure(bh_simulation *sim, const char *path, int times)
{
    bench_times first = {0}, others = {0}, total = {0}, wall = {0}, polling = {0};
    const int64_t before = peak_bytes();
    eqp_message message = {""};

    for (int i = 0; i < times; i++) {
        MPI_Barrier(sim->comm);
        const double start = eqp_cpu_seconds(), begun = MPI_Wtime();
        if (bh_output_snapshot(sim, path, &message) != EQP_OK) {
            bench_die(message.text);
        }
        bench_times_add(&wall, MPI_Wtime() - begun);
        add_since(sim, start, &first, &others);
        bench_times_add(&total, first.seconds[i] + others.seconds[i]);
        poll(sim, wall.seconds[i], &polling);
    }
    int64_t grown = peak_bytes() - before;
    MPI_Allreduce(MPI_IN_PLACE, &grown, 1, MPI_INT64_T, MPI_MAX, sim->comm);
    if (sim->domain.rank == 0) {
        const double millions = 1e-6 * (double)sim->input.total;
        printf("ranks,particles,first,others,total,wall,polling,grown\n%d,%lld,%.3f,%.3f,%.3f,%.3f,%.3f,%lld\n",
               sim->domain.nranks, (long long)sim->input.total, bench_median(&first) / millions,
               bench_median(&others) / millions, bench_median(&total) / millions, bench_median(&wall) / millions,
               bench_median(&polling) / millions, (long long)grown);
        unlink(path);
    }
}

int main(int argc, char **argv)
{
    bh_settings settings;
    bh_simulation sim;
    eqp_message message = {""};
    app_action action;

    MPI_Init(&argc, &argv);
    const int times = argc > 2 ? atoi(argv[2]) : 0;
    if (times < 1 || times > BENCH_MOST_TIMES) {
        bench_die("give a file, a number of times and options of barneshut");
    }
    if (app_options_parse(bh_settings_table(), argc - 2, argv + 2, &settings, NULL, &action, &message) != EQP_OK ||
        bh_settings_complete(&settings, &message) != EQP_OK ||
        bh_simulation_create(MPI_COMM_WORLD, &settings, &sim, &message) != EQP_OK) {
        bench_die(message.text);
    }
    measure(&sim, argv[1], times);
    bh_simulation_free(&sim);
    MPI_Finalize();
    return 0;
}
