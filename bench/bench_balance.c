/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of balancing next to that of the forces, as CSV: whole runs of barneshut, step by step in turn, so
 * that all rows share the machine's moods.
 *
 *   mpirun -n 4 taskset -c 1 build/bench/bench_balance 10 --generate plummer:n=100000 --softening 0.01
 *   taskset -c 1 build/bench/bench_balance 10 --generate plummer:n=100000 --softening 0.01
 *
 * Arguments: steps, then options of barneshut (not --balance, --rebalance or --steps). Each row is a method whose map
 * is kept (never) or renewed before every step (1). Seconds are CPU seconds of one step, added over the ranks, median
 * over the steps: of the whole step, of lists and forces, of making the map. Ranks that wait for each other burn CPU
 * seconds too. balance_per_force: all that a new map costs (making it, and what the survey adds to the forces) over the
 * forces of the same method without it. step_per_count: the whole step over that of `count` with its map kept. */
#include "simulation.h"
#include "timing.h"

#include <equipoise/more/comm.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ARGUMENTS 64

typedef struct variant {
    const char *method, *rebalance;
    bh_settings settings;
    bh_simulation sim;
    bench_times step, force, balance, exchange;
} variant;

static variant variants[] = {
    {.method = "count", .rebalance = "never"},   {.method = "sfc", .rebalance = "never"},
    {.method = "sfc", .rebalance = "1"},         {.method = "rcb", .rebalance = "never"},
    {.method = "rcb", .rebalance = "1"},         {.method = "interaction", .rebalance = "never"},
    {.method = "interaction", .rebalance = "1"},
};

#define VARIANTS ((int)(sizeof variants / sizeof variants[0]))

static void start(variant *v, int argc, char **argv, const char *steps)
{
    char *words[MOST_ARGUMENTS] = {"bench_balance",      "--quiet", "--balance",  (char *)v->method, "--rebalance",
                                   (char *)v->rebalance, "--steps", (char *)steps};
    int n = 8;
    eqp_message message = {""};
    app_action action;

    for (int i = 0; i < argc && n < MOST_ARGUMENTS; i++) {
        words[n++] = argv[i];
    }
    int code = app_options_parse(bh_settings_table(), n, words, &v->settings, NULL, &action, &message);
    if (code == EQP_OK) {
        code = bh_settings_complete(&v->settings, &message);
    }
    if (code == EQP_OK) {
        code = bh_simulation_create(MPI_COMM_WORLD, &v->settings, &v->sim, &message);
    }
    if (code != EQP_OK) {
        bench_die("bench_balance", message.text);
    }
}

static void step(variant *v)
{
    eqp_message message = {""};
    double begin = eqp_cpu_seconds(), sum[1], force = 0.0, balance = 0.0, exchange = 0.0;

    if (bh_simulation_step(&v->sim, &message) != EQP_OK) {
        bench_die("bench_balance", message.text);
    }
    sum[0] = eqp_cpu_seconds() - begin;
    if (eqp_sum_double(MPI_COMM_WORLD, 1, sum) != EQP_OK) {
        bench_die("bench_balance", "no sum over the ranks");
    }
    for (int r = 0; r < v->sim.domain.nranks; r++) {
        force += v->sim.row[r].common.load;
        balance += v->sim.row[r].common.balance_seconds;
        exchange += v->sim.row[r].common.exchange_seconds;
    }
    bench_times_add(&v->step, sum[0]);
    bench_times_add(&v->force, force);
    bench_times_add(&v->balance, balance);
    bench_times_add(&v->exchange, exchange);
}

static void print_row(const variant *v, const variant *kept)
{
    const double force = bench_median(&kept->force);
    const double extra = bench_median(&v->force) - force + bench_median(&v->balance);

    printf("%s,%s,%d,%lld,%.5f,%.5f,%.5f,%.5f,%.3f,%.3f,%lld,%lld,%.4f\n", v->method, v->rebalance,
           v->sim.domain.nranks, (long long)v->sim.input.total, bench_median(&v->step), bench_median(&v->force),
           bench_median(&v->exchange), bench_median(&v->balance), v == kept ? 0.0 : extra / force,
           bench_median(&v->step) / bench_median(&variants[0].step), (long long)v->sim.now.common.units,
           (long long)v->sim.now.common.ghosts_total, v->sim.now.common.imbalance_predicted);
}

int main(int argc, char **argv)
{
    int rank, steps;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    steps = argc > 1 ? atoi(argv[1]) : 0;
    if (steps < 1 || steps > BENCH_MOST_TIMES) {
        bench_die("bench_balance", "give a number of steps, then options of barneshut");
    }
    for (int i = 0; i < VARIANTS; i++) {
        start(&variants[i], argc - 2, argv + 2, argv[1]);
    }
    for (int s = 0; s < steps; s++) {
        for (int i = 0; i < VARIANTS; i++) {
            step(&variants[i]);
        }
    }
    if (rank == 0) {
        const variant *kept = &variants[0];
        printf("method,rebalance,ranks,particles,step_s,force_s,exchange_s,balance_s,balance_per_force,step_per_count,"
               "units,ghosts,imbalance\n");
        for (int i = 0; i < VARIANTS; i++) {
            kept = strcmp(variants[i].rebalance, "never") == 0 ? &variants[i] : kept;
            print_row(&variants[i], kept);
        }
    }
    for (int i = 0; i < VARIANTS; i++) {
        bh_simulation_free(&variants[i].sim);
    }
    MPI_Finalize();
    return 0;
}
