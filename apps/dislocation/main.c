/* SPDX-License-Identifier: BSD-3-Clause */
/* dislocation: dislocation dynamics on MPI ranks, balanced by interactions. */
#include "drive/balance/balance.h"
#include "drive/files/input.h"
#include "drive/simulation.h"

#include "../report/simulate.h"

#include <equipoise/version.h>

#include <stdio.h>

/* The simulation is the user data of all callbacks. */
typedef struct running {
    dd_simulation sim;
    dd_settings settings;
    app_run_settings steps; /* whose number may come from the input */
} running;

static int take_step(void *user, eqp_message *message)
{
    return dd_simulation_step(user, message);
}

static int write_snapshot(void *user, const char *path, eqp_message *message)
{
    const dd_simulation *sim = user;
    const eqp_paradis_control now = dd_simulation_control(sim);
    DD_FREED char *lines = NULL;

    if (dd_files_for_paraview(path)) {
        return dd_output_lines(&sim->domain, now.time, path, message);
    }
    const int code = dd_resume_write(sim, &lines);
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    return code == EQP_OK ? dd_output_restart(&sim->domain, &now, lines, path, message) : code;
}

static int write_series(void *user, const app_series *series, eqp_message *message)
{
    const dd_simulation *sim = user;
    return dd_output_series(&sim->domain, sim->settings->run.output, series, message);
}

static int write_forces(void *user, const char *path, eqp_message *message)
{
    return dd_output_forces(&((dd_simulation *)user)->domain, path, message);
}

static int create(void *user, MPI_Comm comm, bool compares, app_run *steps, app_comparison *comparison,
                  eqp_message *message)
{
    running *r = user;
    dd_simulation *sim = &r->sim;

    if (compares) {
        app_compare_first(&r->settings.run);
    }
    EQP_CHECK(dd_simulation_create(comm, &r->settings, sim, message));
    r->steps = r->settings.run;
    r->steps.steps = sim->input.last_step;
    *steps = (app_run){.settings = &r->steps,
                       .comm = sim->comm,
                       .now = &sim->now.common,
                       .failed = &sim->failed,
                       .signal = &sim->signal,
                       .step = take_step,
                       .snapshot = write_snapshot,
                       .index = write_series,
                       .forces = write_forces};
    comparison->balancer = sim->balancer;
    return EQP_OK;
}

static void destroy(void *user)
{
    dd_simulation_free(user);
}

static void print_summary(const dd_simulation *sim)
{
    const dd_step *now = &sim->now;

    printf("\n%lld segment pairs in the last evaluation, %lld of them near-parallel; %lld segments\n",
           (long long)now->common.interactions, (long long)now->count[DD_KIND_PARALLEL], (long long)now->segments);
    printf("predicted: imbalance by the cost model; measured: of CPU seconds in forces\n"
           "bytes: in the last evaluation of the forces; moved: bytes, with nodes to new homes\n"
           "force, balance: CPU seconds of the largest rank; strain is plastic, stress applied, in Pa\n");
}

static void print(const void *user, app_print_part part)
{
    const dd_simulation *sim = user;
    const int nranks = sim->domain.nranks;

    if (part == APP_TITLE || part == APP_COMPARED) {
        printf("dislocation %s: %lld nodes (%s)%s on %d rank%s, ", eqp_version(), (long long)sim->input.nodes,
               sim->input.format, part == APP_TITLE ? "" : " compared", nranks, app_plural(nranks));
        if (part == APP_TITLE) {
            printf("--balance %s, ", sim->settings->run.method->name);
        }
        printf("%lld x %lld x %lld cells%s", (long long)sim->cells[0], (long long)sim->cells[1],
               (long long)sim->cells[2], part == APP_TITLE ? "\n\n" : "");
    } else if (part == APP_SUMMARY) {
        print_summary(sim);
    }
    for (int i = 0; part == APP_NOTES && i < sim->input.notes.n; i++) {
        fprintf(stderr, "dislocation: note: %s\n", sim->input.notes.line[i].text);
    }
    if (part == APP_NOTES && sim->window.lost) {
        fprintf(stderr, "dislocation: note: ranks get no shared memory: they send segments\n");
    }
}

/* --check-forces images: no steps. */
static int simulate_check(MPI_Comm comm, const dd_settings *settings, eqp_message *message)
{
    dd_simulation sim;
    char *text = NULL;
    int code = dd_simulation_create(comm, settings, &sim, message);

    if (code != EQP_OK) {
        return code;
    }
    code = dd_check_images(&sim, settings->check_shells, &text);
    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --check-forces: %s",
                        code == EQP_ERR_STATE ? "no cells are far from each other" : eqp_error_text(code));
    } else if (sim.domain.rank == 0) {
        printf("%s", text);
    }
    free(text);
    dd_simulation_free(&sim);
    return code == EQP_OK ? app_check_printed("dislocation", message) : code;
}

static int simulate(MPI_Comm comm, const void *values, const char *command, int *stopped, eqp_message *message)
{
    const dd_settings *settings = values;
    running r = {.settings = *settings};
    const app_simulation simulation = {.program = "dislocation",
                                       .run = &settings->run,
                                       .naming = dd_files_naming(settings->run.output),
                                       .restart = "dislocation-restart.data",
                                       .user = &r,
                                       .create = create,
                                       .free = destroy,
                                       .print = print,
                                       .record_create = dd_record_create,
                                       .record_step = dd_record_step,
                                       .record_finish = dd_record_finish};

    return settings->check_shells > 0 ? simulate_check(comm, settings, message)
                                      : app_simulate(&simulation, comm, command, stopped, message);
}

/* The check of the kernels prints and exits. */
static int answer(const void *values, char **text, eqp_message *message)
{
    const dd_settings *settings = values;

    return settings->check_forces != NULL && !dd_settings_check_images(settings)
               ? dd_check_forces(settings, text, message)
               : EQP_OK;
}

int main(int argc, char **argv)
{
    dd_settings settings = {.run = {.snapshot = NULL}};
    const app_program program = {dd_settings_table(), &settings,          answer,        dd_settings_complete, simulate,
                                 &dd_methods,         {1.5e-4, 1.0, 0.0}, &dd_generators};
    const int status = app_main(&program, MPI_COMM_WORLD, argc, argv);

    app_run_settings_free(&settings.run);
    return status;
}
