/* SPDX-License-Identifier: BSD-3-Clause */
/* How well each method balances a dislocation network, and what that costs, as CSV: whole runs of dislocation, step by
 * step in turn, so that all rows share the machine's moods.
 *
 *   mpirun -n 4 taskset -c 1 build/bench/bench_network 30 10 180chains_16.10e.data
 *
 * Arguments: steps before, steps that are measured (they follow), then options of dislocation (not --balance,
 * --rebalance or --steps). The methods of ParaDiS move their walls after every step, all other methods renew their maps
 * when the policy says so. lambda: imbalance (max / mean - 1) of the ranks' CPU seconds in forces, summed over the
 * measured steps; lambda_median: of single steps; lambda_work: what the cost model says of the same. force_s,
 * balance_s, exchange_s: CPU seconds of one step, all ranks together, mean over all steps; ranks that wait for each
 * other burn exchange seconds. balance_share: balancing over forces, over all steps, the first map among it. */
#include "simulation.h"
#include "timing.h"

#include <equipoise/more/base.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ARGUMENTS 64

typedef struct variant {
    const char *method, *rebalance;
    dd_settings settings;
    dd_simulation sim;
    double *load; /* [ranks] of the measured steps */
    double force, balance, exchange, work;
    int64_t maps;
    bench_times lambda;
} variant;

static variant variants[] = {
    {.method = "count", .rebalance = "auto"},  {.method = "sfc", .rebalance = "auto"},
    {.method = "rcb", .rebalance = "auto"},    {.method = "sectioning", .rebalance = "1"},
    {.method = "bisection", .rebalance = "1"}, {.method = "interaction", .rebalance = "auto"},
};

#define VARIANTS ((int)(sizeof variants / sizeof variants[0]))

static void start(variant *v, int argc, char **argv)
{
    char *words[MOST_ARGUMENTS] = {"bench_network",      "--quiet", "--balance", (char *)v->method, "--rebalance",
                                   (char *)v->rebalance, "--steps", "1000000"};
    int n = 8;
    eqp_message message = {""};
    app_action action;

    for (int i = 0; i < argc && n < MOST_ARGUMENTS; i++) {
        words[n++] = argv[i];
    }
    int code = app_options_parse(dd_settings_table(), n, words, &v->settings, v->settings.given, &action, &message);
    if (code == EQP_OK) {
        code = dd_settings_complete(&v->settings, &message);
    }
    if (code == EQP_OK) {
        code = dd_simulation_create(MPI_COMM_WORLD, &v->settings, &v->sim, &message);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&v->load, v->sim.domain.nranks, sizeof *v->load);
    }
    if (code != EQP_OK) {
        bench_die("bench_network", message.text);
    }
    for (int r = 0; r < v->sim.domain.nranks; r++) {
        v->balance += v->sim.row[r].common.balance_seconds; /* of the first map */
    }
}

static void step(variant *v, bool measured)
{
    eqp_message message = {""};

    if (dd_simulation_step(&v->sim, &message) != EQP_OK) {
        bench_die("bench_network", message.text);
    }
    for (int r = 0; r < v->sim.domain.nranks; r++) {
        const eqp_rank_row *row = &v->sim.row[r].common;
        v->force += row->load;
        v->balance += row->balance_seconds;
        v->exchange += row->exchange_seconds;
        v->load[r] += measured ? row->load : 0.0;
    }
    v->maps += v->sim.now.common.rebalanced;
    if (measured) {
        bench_times_add(&v->lambda, v->sim.now.common.imbalance_measured);
        v->work += v->sim.now.common.imbalance_predicted;
    }
}

static void print_row(const variant *v, int steps, int measured)
{
    double most = 0.0, sum = 0.0;

    for (int r = 0; r < v->sim.domain.nranks; r++) {
        most = v->load[r] > most ? v->load[r] : most;
        sum += v->load[r];
    }
    printf("%s,%d,%lld,%lld,%d,%.4f,%.4f,%.4f,%lld,%lld,%lld,%.4f,%.4f,%.4f,%.4f\n", v->method, v->sim.domain.nranks,
           (long long)v->sim.now.nodes, (long long)v->sim.now.common.interactions, steps,
           most * v->sim.domain.nranks / sum - 1.0, bench_median(&v->lambda), v->work / measured, (long long)v->maps,
           (long long)v->sim.now.common.ghosts_total, (long long)v->sim.now.common.ghosts_max, v->force / steps,
           v->balance / steps, v->exchange / steps, v->balance / v->force);
}

int main(int argc, char **argv)
{
    int rank, before, measured;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    before = argc > 3 ? atoi(argv[1]) : -1;
    measured = argc > 3 ? atoi(argv[2]) : 0;
    if (before < 0 || measured < 1 || measured > BENCH_MOST_TIMES) {
        bench_die("bench_network", "give steps before and steps measured, then options of dislocation");
    }
    for (int i = 0; i < VARIANTS; i++) {
        start(&variants[i], argc - 3, argv + 3);
    }
    for (int s = 0; s < before + measured; s++) {
        for (int i = 0; i < VARIANTS; i++) {
            step(&variants[i], s >= before);
        }
    }
    if (rank == 0) {
        printf("method,ranks,nodes,pairs,steps,lambda,lambda_median,lambda_work,maps,ghosts,ghosts_max,force_s,"
               "balance_s,exchange_s,balance_share\n");
    }
    for (int i = 0; i < VARIANTS; i++) {
        if (rank == 0) {
            print_row(&variants[i], before + measured, measured);
        }
        free(variants[i].load);
        dd_simulation_free(&variants[i].sim);
    }
    MPI_Finalize();
    return 0;
}
