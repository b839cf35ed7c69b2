/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that runs out of memory in a what-if of the dislocation app, wherever: all ranks have the same code, none
 * waits for another for ever. */
#include "harness.h"

#include "balance/trace.h"
#include "balance/whatif.h"
#include "dd_definitions.h"

#include "failing_ranks.h"

typedef struct scene {
    dd_simulation sim;
    known k;
    app_verdict *verdict;
} scene;

static void scene_create(MPI_Comm comm, scene *s)
{
    static dd_settings settings;
    char *argv[] = {"test",      "--generate", "chains:n=4,box=4000,maxseg=600",
                    "--steps=0", "--cells=4",  "--stress=0,0,0,5e8,5e8,0"};
    eqp_message message = {""};
    app_action action;

    settings = (dd_settings){.ctrl = NULL};
    CHECK_EQUAL(app_options_parse(dd_settings_table(), 6, argv, &settings, settings.given, &action, &message), EQP_OK);
    CHECK_EQUAL(dd_settings_complete(&settings, &message), EQP_OK);
    CHECK_EQUAL(dd_simulation_create(comm, &settings, &s->sim, &message), EQP_OK);
    known_gather(&s->sim, &s->k);
    known_assign(&s->k, 5, true, &s->sim);
    s->verdict = known_verdicts(&s->k, &s->sim);
}

static void scene_free(scene *s)
{
    free(s->verdict);
    known_free(&s->k);
    app_run_settings_free((app_run_settings *)&s->sim.settings->run);
    dd_simulation_free(&s->sim);
}

/* A census, what a map is made of, and a trace. */
static int trace(MPI_Comm comm, void *user)
{
    scene *s = user;
    dd_whatif *whatif = NULL;
    eqp_evaluation *evaluation = NULL;
    app_survey survey = {.n = 0};
    const app_survey_detail detail = {.heavy = 0, .pin_below = UINT64_MAX};
    uint64_t *keys = NULL;
    int64_t n = 0;
    int code;

    CHECK_EQUAL(eqp_evaluation_create(5, DD_PHASES, dd_phase_back, dd_phase_ghosts, &evaluation), EQP_OK);
    app_survey_clear(&survey, &detail);
    (void)comm;
    failing_ranks_begin();
    code = dd_whatif_create(&s->sim, &whatif);
    if (code == EQP_OK) {
        const app_whatif *what = dd_whatif_functions(whatif);
        code = what->keys(what->user, &n, &keys);
        if (code == EQP_OK) {
            code = what->survey(what->user, true, &survey);
        }
        if (code == EQP_OK) {
            code = what->trace(what->user, 5, s->k.map, s->verdict, false, evaluation);
        }
    }
    failing_ranks_end();
    free(keys);
    app_survey_free(&survey);
    eqp_evaluation_free(evaluation);
    dd_whatif_free(whatif);
    return code;
}

/* Boxes for a few owners of each rank. */
static int assign(MPI_Comm comm, void *user)
{
    scene *s = user;
    dd_whatif *whatif = NULL;
    app_owner owner[3] = {{.centre = {1, 2, 3}}, {.centre = {100, 900, 50}}, {.centre = {-500, 4, 700}}};
    double seconds[3] = {1, 2, 3};
    const app_owners owners = {.n = mpi_test_rank(comm) == 1 ? 0 : 3, .owner = owner, .seconds = seconds};
    int part[3] = {0}, code;

    CHECK_EQUAL(dd_whatif_create(&s->sim, &whatif), EQP_OK);
    failing_ranks_begin();
    code = dd_whatif_functions(whatif)->assign(whatif, &dd_sectioning, 4, (app_speeds){0, NULL}, &owners, part);
    if (code == EQP_OK) {
        code = dd_whatif_functions(whatif)->assign(whatif, &dd_bisection, 4, (app_speeds){0, NULL}, &owners, part);
    }
    failing_ranks_end();
    dd_whatif_free(whatif);
    return code;
}

static void check_memory(MPI_Comm comm)
{
    scene s = {.verdict = NULL};

    scene_create(comm, &s);
    CHECK(failing_ranks_check(comm, trace, &s) > 20);
    CHECK(failing_ranks_check(comm, assign, &s) > 3);
    scene_free(&s);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {MPI_TEST(check_memory)};

    if (!failing_malloc_only_ours()) {
        printf("skipped: this system does not let a program fail its own allocations\n");
        return 77;
    }
    return mpi_test_main(argc, argv, tests, 1);
}
