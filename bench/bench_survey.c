/* SPDX-License-Identifier: BSD-3-Clause */
/* What sampling costs on top of a force evaluation, on one rank, as CSV: the same particles' forces without and with a
 * survey, and the work units that follow from it, for several numbers of parts.
 *
 *   taskset -c 1 build/bench/bench_survey 8,64,512 --generate plummer:n=100000 --softening 0.01
 *
 * Arguments: numbers of parts, then options of barneshut. Units are those that lambda = --imbalance-tol (2 % by
 * default) on so many parts needs. Seconds are medians of CPU seconds over evaluations in turn; sampling_per_force:
 * (survey - force + units) / force. tiles: those that were kept of groups that are heavier than a unit. */
#include "simulation.h"
#include "timing.h"

#include <equipoise/base.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_ARGUMENTS 64
#define REPETITIONS 9

static void check(int code, const char *what)
{
    if (code != EQP_OK) {
        fprintf(stderr, "bench_survey: %s: %s\n", what, eqp_error_text(code));
        exit(2);
    }
}

static void parse(bh_settings *settings, int argc, char **argv)
{
    char *words[MOST_ARGUMENTS] = {"bench_survey", "--quiet", "--balance", "interaction", "--steps", "1"};
    int n = 6;
    eqp_message message = {""};
    app_action action;

    for (int i = 0; i < argc && n < MOST_ARGUMENTS; i++) {
        words[n++] = argv[i];
    }
    int code = app_options_parse(bh_settings_table(), n, words, settings, NULL, &action, &message);
    check(code == EQP_OK ? bh_settings_complete(settings, &message) : code, message.text);
}

typedef struct outcome {
    bench_times force, survey, units;
    int64_t nunits, ntiles, npins;
} outcome;

static double evaluate(bh_simulation *sim, bh_survey *survey)
{
    bh_evaluated result;
    const double start = eqp_cpu_seconds();

    check(bh_evaluate(&sim->evaluator, &sim->domain, &sim->map, survey, &result), "forces");
    app_timings_free(&result.timings);
    return eqp_cpu_seconds() - start;
}

/* Work units for so many parts from a survey. */
static double cut(bh_simulation *sim, const app_rebalance_options *options, int nparts, const app_survey *survey,
                  eqp_units_totals *totals, int64_t *nunits)
{
    app_owners owners;
    app_units units;
    uint64_t *key = NULL;
    int64_t bytes = 0;
    const double start = eqp_cpu_seconds();

    check(eqp_array_create(&key, sim->domain.ngroups, sizeof *key), "keys");
    for (int64_t g = 0; g < sim->domain.ngroups; g++) {
        key[g] = sim->domain.group[g].key;
    }
    check(app_owners_line_up(sim->comm, survey, &bh_work_model, &sim->costs, sim->domain.ngroups, key, &owners, &bytes),
          "owners");
    check(app_units_make(sim->comm, options, nparts, &owners, totals, &units, NULL), "units");
    *nunits = units.n;
    app_units_free(&units);
    app_owners_free(&owners);
    free(key);
    return eqp_cpu_seconds() - start;
}

static void measure(bh_simulation *sim, const app_rebalance_options *options, int nparts, outcome *out)
{
    eqp_units_totals totals = sim->totals;
    bh_survey survey = {.brief = NULL};

    for (int r = 0; r <= REPETITIONS; r++) {
        const app_survey_detail detail = app_rebalance_detail(options, nparts, &totals);
        app_survey_clear(&survey.owners, &detail);
        const double force = evaluate(sim, NULL), with = evaluate(sim, &survey);
        const double units = cut(sim, options, nparts, &survey.owners, &totals, &out->nunits);
        if (r > 0) { /* the first round warms up, and gives the totals for this number of parts */
            bench_times_add(&out->force, force);
            bench_times_add(&out->survey, with);
            bench_times_add(&out->units, units);
        }
        out->ntiles = survey.owners.ntiles;
        out->npins = survey.owners.npins;
    }
    bh_survey_free(&survey);
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
        bench_die("bench_survey", "give numbers of parts, then options of barneshut");
    }
    parse(&settings, argc - 2, argv + 2);
    check(bh_simulation_create(MPI_COMM_SELF, &settings, &sim, &message), message.text);
    const app_rebalance_options options = app_rebalance_of(&settings.run);
    printf("parts,particles,groups,units,tiles,pins,force_s,survey_s,units_s,sampling_per_force\n");
    for (int i = 0; i < nparts; i++) {
        outcome out = {.nunits = 0};
        measure(&sim, &options, (int)parts[i], &out);
        const double force = bench_median(&out.force), survey = bench_median(&out.survey);
        const double units = bench_median(&out.units);
        printf("%lld,%lld,%lld,%lld,%lld,%lld,%.5f,%.5f,%.5f,%.4f\n", (long long)parts[i], (long long)sim.input.total,
               (long long)sim.domain.ngroups, (long long)out.nunits, (long long)out.ntiles, (long long)out.npins, force,
               survey, units, (survey - force + units) / force);
    }
    bh_simulation_free(&sim);
    free(parts);
    MPI_Finalize();
    return 0;
}
