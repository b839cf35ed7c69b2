/* SPDX-License-Identifier: BSD-3-Clause */
/* dislocation: dislocation dynamics on MPI ranks, balanced by interactions. */
#include "drive/balance/balance.h"
#include "drive/files/input.h"
#include "drive/files/record.h"
#include "drive/simulation.h"

#include "../report/compare.h"
#include "../shell/shell.h"
#include "../shell/signals.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run that steps work on. */
typedef struct running {
    dd_simulation *sim;
    app_record *record;
} running;

static int take_step(void *user, eqp_message *message)
{
    return dd_simulation_step(((running *)user)->sim, message);
}

static int record_step(void *user, eqp_message *message)
{
    const running *r = user;
    int code;

    EQP_TRY(dd_record_step(r->record, r->sim, message));
    app_record_print(r->record);
done:
    return code;
}

static int write_snapshot(void *user, const char *path, eqp_message *message)
{
    const dd_simulation *sim = ((running *)user)->sim;
    dd_moment now = dd_simulation_moment(sim);
    char *lines = NULL;
    int code = dd_files_for_paraview(path) ? EQP_OK : dd_resume_write(sim, &lines);

    if (code != EQP_OK) {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
        return code;
    }
    now.lines = lines;
    code = dd_output_snapshot(&sim->domain, &sim->input, &now, path, message);
    free(lines);
    return code;
}

static int write_series(void *user, const app_series *series, eqp_message *message)
{
    const dd_simulation *sim = ((running *)user)->sim;
    return dd_output_series(&sim->domain, sim->settings->run.output, series, message);
}

static int write_forces(void *user, const char *path, eqp_message *message)
{
    return dd_output_forces(&((running *)user)->sim->domain, path, message);
}

/* Steps until the last one, or until a signal. */
static int run(dd_simulation *sim, app_record *record, const char *restart, int *stopped, eqp_message *message)
{
    running user = {sim, record};
    app_run_settings settings = sim->settings->run;
    const app_run steps = {.program = "dislocation",
                           .restart_path = restart,
                           .settings = &settings,
                           .naming = dd_files_naming(settings.output),
                           .comm = sim->comm,
                           .user = &user,
                           .now = &sim->now.common,
                           .failed = &sim->failed,
                           .signal = &sim->signal,
                           .step = take_step,
                           .record = record_step,
                           .snapshot = write_snapshot,
                           .index = write_series,
                           .forces = write_forces};

    settings.steps = sim->input.last_step;
    return app_run_steps(&steps, stopped, message);
}

/* First line, before the table of steps or of methods. */
static void print_title(const dd_simulation *sim, bool compares)
{
    const app_run_settings *settings = &sim->settings->run;
    const char *const on = compares ? "compared on" : "on";
    char balance[64] = "";

    if (!settings->quiet && sim->domain.rank == 0) {
        if (!compares) {
            snprintf(balance, sizeof balance, " --balance %s,", settings->method->name);
        }
        printf("dislocation %s: %lld nodes (%s) %s %d rank%s,%s %lld x %lld x %lld cells\n\n", eqp_version(),
               (long long)sim->input.nodes, sim->input.format, on, sim->domain.nranks, app_plural(sim->domain.nranks),
               balance, (long long)sim->cells[0], (long long)sim->cells[1], (long long)sim->cells[2]);
    }
}

/* Lines after the table. */
static void print_summary(const dd_simulation *sim)
{
    const dd_step *now = &sim->now;

    if (!sim->settings->run.quiet && sim->domain.rank == 0) {
        printf("\n%lld segment pairs in the last evaluation, %lld of them near-parallel; %lld segments\n"
               "predicted: imbalance by the cost model; measured: of CPU seconds in forces\n"
               "bytes: in the last evaluation of the forces; moved: bytes, with nodes to new homes\n"
               "force, balance: CPU seconds of the largest rank; strain is plastic, stress applied, in Pa\n",
               (long long)now->common.interactions, (long long)now->count[DD_KIND_PARALLEL], (long long)now->segments);
    }
}

/* Notes on changed and ignored parameters. */
static void print_notes(const dd_simulation *sim)
{
    for (int i = 0; i < sim->input.notes.n && sim->domain.rank == 0 && !sim->settings->run.quiet; i++) {
        fprintf(stderr, "dislocation: note: %s\n", sim->input.notes.line[i].text);
    }
}

/* Writes a run's files, and a note on stderr. */
static int finish(const dd_simulation *sim, app_record *record, eqp_message *message)
{
    eqp_message note = {""};
    int code = dd_record_finish(record, sim, message, &note);

    if (code == EQP_OK && note.text[0] != '\0' && sim->domain.rank == 0) {
        fprintf(stderr, "%s\n", note.text);
    }
    return code;
}

static int simulate_steps(MPI_Comm comm, const dd_settings *settings, const char *command, const char *restart,
                          int *stopped, eqp_message *message)
{
    dd_simulation sim;
    app_record *record = NULL;
    int code = dd_simulation_create(comm, settings, &sim, message);

    if (code != EQP_OK) {
        return code;
    }
    EQP_TRY(dd_record_create(&sim, command, &record, message));
    print_notes(&sim);
    print_title(&sim, false);
    EQP_TRY(run(&sim, record, restart, stopped, message));
    EQP_TRY(finish(&sim, record, message));
    print_summary(&sim);
    app_record_print_error(record);
    EQP_TRY(app_check_printed("dislocation", message));
done:
    app_record_free(record);
    dd_simulation_free(&sim);
    return code;
}

static int print_comparison(const dd_simulation *sim, const app_comparison *comparison, eqp_message *message)
{
    char *text = NULL;
    int code = EQP_OK;

    if (sim->domain.rank == 0 && !comparison->run->quiet) {
        EQP_TRY(app_compare_text(comparison, &text));
        print_title(sim, true);
        printf("%s", text);
    }
    EQP_TRY(app_check_printed("dislocation", message));
done:
    free(text);
    return code;
}

/* --compare: no steps. */
static int simulate_compare(MPI_Comm comm, const dd_settings *settings, const char *command, eqp_message *message)
{
    dd_settings first = *settings;
    dd_simulation sim;
    app_record *record = NULL;
    app_comparison comparison = {.program = "dislocation", .run = &settings->run};
    int code;

    app_compare_first(&first.run);
    code = dd_simulation_create(comm, &first, &sim, message);
    if (code != EQP_OK) {
        return code;
    }
    print_notes(&sim);
    EQP_TRY(dd_record_create(&sim, command, &record, message));
    EQP_TRY(eqp_agree(sim.comm, dd_record_step(record, &sim, message), message));
    comparison.comm = sim.comm;
    comparison.balancer = sim.balancer;
    EQP_TRY(app_compare(&comparison, record, message));
    app_signals_keep(); /* files are completed despite signals */
    EQP_TRY(finish(&sim, record, message));
    EQP_TRY(print_comparison(&sim, &comparison, message));
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "dislocation: --compare: %s", eqp_error_text(code));
    }
    app_record_free(record);
    app_compare_free(&comparison);
    dd_simulation_free(&sim);
    return code;
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
    app_places places;

    if (settings->check_shells > 0) {
        return simulate_check(comm, settings, message);
    }
    int code = app_places_take(comm, "dislocation", &settings->run, dd_files_naming(settings->run.output),
                               "dislocation-restart.data", &places, message);

    if (code != EQP_OK) {
        return code;
    }
    code = settings->run.ncompare > 0 ? simulate_compare(comm, settings, command, message)
                                      : simulate_steps(comm, settings, command, places.restart, stopped, message);
    app_places_free(&places);
    return code;
}

/* Options that print and exit: lists of names, the check of the kernels. */
static int answer(const void *values, char **text, eqp_message *message)
{
    const dd_settings *settings = values;

    if (settings->check_forces != NULL && !dd_settings_check_images(settings)) {
        return dd_check_forces(settings, text, message);
    }
    if (app_run_asks(settings->run.balance)) {
        return app_run_list_methods(&dd_methods, text);
    }
    if (app_run_asks(settings->run.schedule_text)) {
        return app_run_list_schedules(text);
    }
    return app_run_asks(settings->run.generate) ? app_run_list_recipes(&dd_generators, text) : EQP_OK;
}

static int complete(void *values, eqp_message *message)
{
    return dd_settings_complete(values, message);
}

int main(int argc, char **argv)
{
    dd_settings settings = {.run = {.snapshot = NULL}};
    const app_program program = {dd_settings_table(), &settings,         answer, complete, simulate,
                                 &dd_methods,         {1.5e-4, 1.0, 0.0}};
    const int status = app_main(&program, MPI_COMM_WORLD, argc, argv);

    app_run_settings_free(&settings.run);
    return status;
}
