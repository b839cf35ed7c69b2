/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops handed out to simulated ranks (schedule.h), with costs from a file of seconds:
 *     bench_loops FILE PROCS one-sided|master CHUNK STEPS METHOD...
 * CHUNK is that of eqp_schedule_options; the last of STEPS runs counts, the earlier ones teach adaptive methods. One
 * process, no MPI. Prints method,cost,cov. */
#include "loops/rules.h"

#include <equipoise/more/base.h>
#include <equipoise/more/loops.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_costs(const char *path, int64_t *n, double **cost)
{
    FILE *const file = fopen(path, "r");
    int64_t room = 0;
    double value;
    int code = EQP_OK;

    while (!code && file && fscanf(file, "%lf", &value) == 1) {
        code = value >= 0 ? eqp_array_reserve(cost, &room, *n + 1, sizeof **cost) : EQP_ERR_DATA;
        if (!code) {
            (*cost)[(*n)++] = value;
        }
    }
    if (!file || !feof(file)) {
        code = code ? code : EQP_ERR_FORMAT;
    }
    if (file) {
        fclose(file);
    }
    return code;
}

/* `fixed` depends on the spread of the costs: eq. 2.1. */
static double deviation_of(int64_t n, const double *cost)
{
    double mean = 0, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        mean += cost[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        sum += (cost[i] - mean) * (cost[i] - mean) / (double)n;
    }
    return sqrt(sum);
}

static int simulate(const char *name, int64_t n, const double *cost, int nranks, const eqp_schedule_options *options,
                    const eqp_schedule_machine *machine, int steps)
{
    eqp_schedule *schedule = NULL;
    eqp_schedule_outcome outcome;
    int code;

    EQP_TRY(eqp_schedule_create(eqp_schedule_method_find(name), n, nranks, options, &schedule));
    for (int step = 0; step < steps; step++) {
        if (step > 0) {
            eqp__schedule_restart(schedule, n);
        }
        EQP_TRY(eqp_schedule_simulate(schedule, cost, machine, &outcome));
    }
    printf("%s,%.9g,%.9g\n", name, outcome.cost, outcome.cov);
done:
    eqp_schedule_free(schedule);
    return code;
}

int main(int argc, char **argv)
{
    eqp_schedule_machine machine = EQP_SCHEDULE_MACHINE_DEFAULTS;
    eqp_schedule_options options = eqp_schedule_options_defaults();
    double *cost = NULL;
    int64_t n = 0;
    int code = EQP_ERR_ARGUMENT;

    if (argc < 7) {
        fprintf(stderr, "usage: bench_loops FILE PROCS one-sided|master CHUNK STEPS METHOD...\n");
        return 2;
    }
    EQP_TRY(read_costs(argv[1], &n, &cost));
    machine.master = strcmp(argv[3], "master") == 0;
    options.chunk = atoll(argv[4]);
    options.overhead = machine.overhead + 2 * machine.latency;
    options.deviation = deviation_of(n, cost);
    printf("method,cost,cov\n");
    for (int i = 6; i < argc; i++) {
        EQP_TRY(simulate(argv[i], n, cost, atoi(argv[2]), &options, &machine, atoi(argv[5])));
    }
done:
    if (code) {
        fprintf(stderr, "bench_loops: %s\n", eqp_error_text(code));
    }
    free(cost);
    return code != EQP_OK;
}
