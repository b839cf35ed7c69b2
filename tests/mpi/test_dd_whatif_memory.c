/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that runs out of memory in a what-if of the dislocation app, wherever: all ranks have the same code, none
 * waits for another for ever. */
#include "harness.h"

#include "balance/trace.h"
#include "dd_definitions.h"
#include "run/run.h"

#include <math.h>

#include "failing_ranks.h"

#include <equipoise/more/whatif.h>

typedef struct scene {
    dd_simulation sim;
    known k;
    eqp_placement *placement;
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
    s->placement = known_placements(&s->k, &s->sim);
}

static void scene_free(scene *s)
{
    free(s->placement);
    known_free(&s->k);
    app_run_settings_free((app_run_settings *)&s->sim.settings->run);
    dd_simulation_free(&s->sim);
}

/* The node pairs, what a map is made of, and a trace. */
static int trace(MPI_Comm comm, void *user)
{
    scene *s = user;
    const eqp_problem problem = dd_problem_functions(&s->sim.problem);
    const eqp_survey_detail nothing = {.heavy = INFINITY}, detail = {.heavy = 0, .pin_below = UINT64_MAX};
    eqp_evaluation *evaluation = NULL;
    eqp_survey names = {.n = 0}, survey = {.n = 0};
    int code;

    CHECK_EQUAL(eqp_evaluation_create(5, DD_PHASES, dd_phase_back, dd_phase_ghosts, &evaluation), EQP_OK);
    eqp__survey_clear(&names, &s->sim.balancer->model, &nothing);
    eqp__survey_clear(&survey, &s->sim.balancer->model, &detail);
    (void)comm;
    failing_ranks_begin();
    code = problem.survey(problem.user, EQP_SURVEY_NAMES, &names);
    if (code == EQP_OK) {
        code = problem.open(problem.user, true);
        if (code == EQP_OK) {
            code = problem.survey(problem.user, EQP_SURVEY_WORK, &survey);
        }
        if (code == EQP_OK) {
            code = problem.trace(problem.user, 5, s->k.map, s->placement, false, evaluation);
        }
        problem.close(problem.user);
    }
    failing_ranks_end();
    eqp__survey_release(&names);
    eqp__survey_release(&survey);
    eqp_evaluation_free(evaluation);
    CHECK_EQUAL(compute_again(&s->sim), EQP_OK);
    return code;
}

/* Boxes for a few owners of each rank, of a problem that is open. */
static int assign(MPI_Comm comm, void *user)
{
    scene *s = user;
    const eqp_problem problem = dd_problem_functions(&s->sim.problem);
    const double centre[3][3] = {{1, 2, 3}, {100, 900, 50}, {-500, 4, 700}}, seconds[3] = {1, 2, 3};
    const double speed[4] = {1, 1, 1, 1};
    const int64_t n = mpi_test_rank(comm) == 1 ? 0 : 3;
    int part[3] = {0}, code;

    failing_ranks_begin();
    code = problem.assign(problem.user, &dd_sectioning, 4, speed, n, centre[0], seconds, part);
    if (code == EQP_OK) {
        code = problem.assign(problem.user, &dd_bisection, 4, speed, n, centre[0], seconds, part);
    }
    failing_ranks_end();
    return code;
}

static void check_memory(MPI_Comm comm)
{
    scene s = {.placement = NULL};

    scene_create(comm, &s);
    const eqp_problem problem = dd_problem_functions(&s.sim.problem);
    CHECK(failing_ranks_check(comm, trace, &s) > 20);
    CHECK_EQUAL(problem.open(problem.user, true), EQP_OK);
    CHECK(failing_ranks_check(comm, assign, &s) > 3);
    problem.close(problem.user);
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
