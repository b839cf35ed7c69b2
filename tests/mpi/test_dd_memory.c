/* SPDX-License-Identifier: BSD-3-Clause */
/* A failed allocation on any rank of the dislocation app: all ranks return the same code, none waits, nothing
 * leaks. */
#include "harness.h"

#include "forces/evaluate.h"
#include "simulation.h"

#define FAILING_RANKS_TIMES 1 /* steps are alike */
#include "failing_ranks.h"

#define CHAINS                                                                                                         \
    "--generate=chains:n=1,box=2000,maxseg=600 --cells=3 --far-order=2 --stress=0,0,0,5e8,5e8,0 --costs=nominal "

typedef struct scene {
    dd_settings settings;
    dd_simulation sim;
} scene;

/* Options separated by blanks, with no other options given. */
static void parse(dd_settings *settings, const char *options)
{
    static char words[400];
    char *argv[32] = {"test"};
    eqp_message message = {""};
    app_action action;
    int argc = 1;

    snprintf(words, sizeof words, "%s", options);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    CHECK_EQUAL(app_options_parse(dd_settings_table(), argc, argv, settings, &action, &message), EQP_OK);
    CHECK_EQUAL(dd_settings_complete(settings, &message), EQP_OK);
}

/* Input, first map, two steps with a new map before each, restart files. */
static int run(MPI_Comm comm, void *user)
{
    scene *s = user;
    eqp_message message = {""};
    int code;

    failing_ranks_begin();
    code = dd_simulation_create(comm, &s->settings, &s->sim, &message);
    if (code == EQP_OK) {
        for (int step = 0; step < 2 && code == EQP_OK; step++) {
            code = dd_simulation_step(&s->sim, &message);
        }
        dd_simulation_free(&s->sim);
    }
    failing_ranks_end();
    return code;
}

MPI_TEST(runs_fail_on_all_ranks)
{
    static scene s;

    parse(&s.settings,
          CHAINS "--balance=tiles:aspect=20 --sample-rate=0.6 --imbalance-tol=0.0005 --rebalance=1 --steps=2 "
                 "--r-tol=20 --rann=60");
    CHECK(failing_ranks_check(comm, run, &s) > 100);
    app_run_settings_free(&s.settings.run);
}

static int evaluate(MPI_Comm comm, void *user)
{
    scene *s = user;
    int code;

    (void)comm;
    eqp_timings_clear(s->sim.evaluator.timings);
    failing_ranks_begin();
    code = dd_evaluate(&s->sim.evaluator, &s->sim.domain, &s->sim.halo, &s->sim.stage, EQP_OK);
    failing_ranks_end();
    return code;
}

MPI_TEST(handed_out_pairs_fail_on_all_ranks)
{
    static scene s;
    eqp_message message = {""};

    parse(&s.settings, CHAINS "--balance=none --steps=0 --schedule=self");
    CHECK_EQUAL(dd_simulation_create(comm, &s.settings, &s.sim, &message), EQP_OK);
    CHECK(failing_ranks_check(comm, evaluate, &s) > 5);
    dd_simulation_free(&s.sim);
    app_run_settings_free(&s.settings.run);
}

static int compare(MPI_Comm comm, void *user)
{
    static const eqp_network network = EQP_NETWORK_DEFAULTS;
    scene *s = user;
    const app_run_settings *run = &s->settings.run;
    const eqp_comparison comparison = {.nchoices = run->ncompare,
                                       .choice = run->compare,
                                       .ncounts = run->nparts_list,
                                       .parts = run->parts,
                                       .network = &network};
    eqp_compared *rows = NULL;
    eqp_message message = {""};
    int code;

    (void)comm;
    CHECK_EQUAL(dd_plan(&s->sim), EQP_OK);
    CHECK_EQUAL(dd_forces(&s->sim), EQP_OK);
    eqp_timings_clear(s->sim.evaluator.timings);
    failing_ranks_begin();
    code = eqp_balancer_compare(s->sim.balancer, &comparison, &rows, &message);
    failing_ranks_end();
    free(rows);
    return code;
}

MPI_TEST(comparisons_fail_on_all_ranks)
{
    static scene s;
    eqp_message message = {""};

    parse(&s.settings, CHAINS "--steps=0 --compare=sfc,tiles:rate=0.6,sectioning --parts=5");
    CHECK_EQUAL(dd_simulation_create(comm, &s.settings, &s.sim, &message), EQP_OK);
    CHECK(failing_ranks_check(comm, compare, &s) > 20);
    dd_simulation_free(&s.sim);
    app_run_settings_free(&s.settings.run);
}
