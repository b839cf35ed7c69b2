/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of sampling on top of a force evaluation, on one rank, as CSV: the same particles' forces without and with a
 * survey, and the work units that follow from it, for several numbers of parts.
 *
 *   taskset -c 1 build/bench/bench_survey 8,64,512 --generate plummer:n=100000 --softening 0.01
 *
 * Arguments: numbers of parts, then options of barneshut. Units are those that lambda = --imbalance-tol (2 % by
 * default) on the given number of parts needs. The balancer of one rank cuts that number when the tolerance is divided
 * by the number of parts. Seconds are medians of CPU seconds over evaluations in turn; units: a whole new map,
 * whose assignment is nothing on one rank. sampling_per_force: (survey - force + units) / force. */
#include "simulation.h"
#include "timing.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_ARGUMENTS 64
#define REPETITIONS 9
#define WARM_UP 2 /* rounds: with a map the balancer requests a survey, from which the next map is made */

static void parse(bh_settings *settings, int argc, char **argv)
{
    char *words[MOST_ARGUMENTS] = {"bench_survey", "--quiet", "--balance",   "interaction",
                                   "--steps",      "1",       "--rebalance", "1"};
    int n = 8;
    eqp_message message = {""};
    app_action action;

    for (int i = 0; i < argc && n < MOST_ARGUMENTS; i++) {
        words[n++] = argv[i];
    }
    int code = app_options_parse(bh_settings_table(), n, words, settings, &action, &message);
    bench_check(code == EQP_OK ? bh_settings_complete(settings, &message) : code, message.text);
}

typedef struct outcome {
    bench_times force, survey, units;
    int64_t nunits;
} outcome;

static double evaluate(bh_simulation *sim, eqp_survey *survey, bh_evaluated *result)
{
    const eqp_map *map = eqp_balancer_map(sim->balancer);
    const double start = eqp_cpu_seconds();

    eqp_timings_clear(sim->evaluator.timings);
    bench_check(bh_evaluate(&sim->evaluator, &sim->domain, map, survey, 0, EQP_OK, result), "forces");
    return eqp_cpu_seconds_since(start);
}

/* Makes a map, by the survey of the last step if there is one. */
static double renew(eqp_balancer *balancer)
{
    eqp_message message = {""};
    eqp_advice advice;
    const double start = eqp_cpu_seconds();

    bench_check(eqp_balancer_renew(balancer, 1, &advice, &message), message.text);
    return eqp_cpu_seconds_since(start);
}

/* A new map, an evaluation without a survey, and a step with one; returns the number of units of the map. */
static int64_t run_round(bh_simulation *sim, eqp_balancer *balancer, double *force, double *with, double *units)
{
    eqp_rank_row row = {.load = 0};
    eqp_step step = eqp_step_defaults();
    bh_evaluated result;
    const eqp_work work = {.row = &row, .count = result.counts.of, .timings = sim->evaluator.timings};

    *units = renew(balancer);
    *force = evaluate(sim, NULL, &result);
    *with = evaluate(sim, eqp_balancer_survey(balancer), &result);
    row.load = result.seconds;
    bench_check(eqp_balancer_record(balancer, &work, &step), "step");
    return step.units;
}

static void measure(bh_simulation *sim, int nparts, outcome *out)
{
    bh_problem problem = {.domain = &sim->domain,
                          .evaluator = &sim->evaluator,
                          .dt = &sim->dt,
                          .rungs = &sim->rungs,
                          .on_rung = sim->on_rung};
    const eqp_problem functions = bh_problem_functions(&problem);
    eqp_balancer_options options = app_run_balancing(&sim->settings->run);
    eqp_message message = {""};

    options.imbalance_tol /= nparts;
    bench_check(eqp_balancer_create(sim->comm, &functions, &options, &problem.balancer, &message), message.text);
    for (int r = 0; r < WARM_UP + REPETITIONS; r++) {
        double force, survey, units;
        out->nunits = run_round(sim, problem.balancer, &force, &survey, &units);
        if (r >= WARM_UP) {
            bench_times_add(&out->force, force);
            bench_times_add(&out->survey, survey);
            bench_times_add(&out->units, units);
        }
    }
    eqp_balancer_free(problem.balancer);
}

int main(int argc, char **argv)
{
    bh_settings settings;
    bh_simulation sim;
    eqp_message message = {""};
    int64_t *parts = NULL;
    int nparts;

    MPI_Init(&argc, &argv);
    if (argc < 2 || app_parse_int_list(argv[1], 1, 1 << 24, &nparts, &parts, &message) != EQP_OK) {
        bench_die("give numbers of parts, then options of barneshut");
    }
    parse(&settings, argc - 2, argv + 2);
    bench_check(bh_simulation_create(MPI_COMM_SELF, &settings, &sim, &message), message.text);
    printf("parts,particles,groups,units,force_s,survey_s,units_s,sampling_per_force\n");
    for (int i = 0; i < nparts; i++) {
        outcome out = {.nunits = 0};
        measure(&sim, (int)parts[i], &out);
        const double force = bench_median(&out.force), survey = bench_median(&out.survey);
        const double units = bench_median(&out.units);
        printf("%lld,%lld,%lld,%lld,%.5f,%.5f,%.5f,%.4f\n", (long long)parts[i], (long long)sim.input.total,
               (long long)sim.domain.ngroups, (long long)out.nunits, force, survey, units,
               (survey - force + units) / force);
    }
    bh_simulation_free(&sim);
    free(parts);
    MPI_Finalize();
    return 0;
}
