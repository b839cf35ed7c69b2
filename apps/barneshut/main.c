/* SPDX-License-Identifier: BSD-3-Clause */
/* barneshut: gravity of N bodies on MPI ranks, balanced by interactions. */
#include "drive/files/output.h"
#include "drive/simulation.h"

#include "../report/compare.h"
#include "../shell/shell.h"
#include "../shell/signals.h"

#include <equipoise/more/base.h>
#include <equipoise/snapshot.h>
#include <equipoise/version.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The user data of all callbacks. */
typedef struct running {
    bh_simulation *sim;
    bh_record *record;
} running;

static int take_step(void *user, eqp_message *message)
{
    return bh_simulation_step(((running *)user)->sim, message);
}

static int record_step(void *user, eqp_message *message)
{
    const running *r = user;
    int code;

    EQP_TRY(bh_record_step(r->record, r->sim, message));
    app_record_print(r->record->record);
done:
    return code;
}

static int write_snapshot(void *user, const char *path, eqp_message *message)
{
    return bh_output_snapshot(((running *)user)->sim, path, message);
}

static int write_xdmf(void *user, const app_series *series, eqp_message *message)
{
    bh_simulation *sim = ((running *)user)->sim;
    return bh_output_xdmf(sim, series, sim->settings->run.output, message);
}

static int write_forces(void *user, const char *path, eqp_message *message)
{
    return bh_output_forces(((running *)user)->sim, path, message);
}

/* Steps until the last one or a signal. */
static int run(bh_simulation *sim, bh_record *record, const char *restart, int *stopped, eqp_message *message)
{
    running user = {sim, record};
    const app_run steps = {.program = "barneshut",
                           .restart_path = restart,
                           .settings = &sim->settings->run,
                           .naming = &bh_naming,
                           .comm = sim->comm,
                           .user = &user,
                           .now = &sim->now.common,
                           .completes = sim->input.kick > 0,
                           .failed = &sim->failed,
                           .signal = &sim->signal,
                           .owes = &sim->kick,
                           .step = take_step,
                           .record = record_step,
                           .snapshot = eqp_snapshot_writable() ? write_snapshot : NULL,
                           .index = write_xdmf,
                           .forces = write_forces};

    return app_run_steps(&steps, stopped, message);
}

/* Before the table of the steps. */
static void print_title(const bh_simulation *sim)
{
    const app_run_settings *settings = &sim->settings->run;

    if (!settings->quiet && sim->domain.rank == 0) {
        printf("barneshut %s: %lld particles (%s) on %d rank%s, --balance %s, dt %g", eqp_version(),
               (long long)sim->input.total, sim->input.format, sim->domain.nranks, app_plural(sim->domain.nranks),
               settings->method->name, sim->dt);
        if (sim->rungs.n > 1) {
            printf(" to %g, %d rungs", ldexp(sim->dt, 1 - sim->rungs.n), sim->rungs.n);
        }
        printf("\n\n");
    }
}

/* After the table of the steps. */
static void print_summary(const bh_simulation *sim)
{
    const bh_step *now = &sim->now;

    if (sim->settings->run.quiet || sim->domain.rank != 0) {
        return;
    }
    printf("\n%lld interactions in the last step: %lld particle pairs, %lld particle-cell\n",
           (long long)now->common.interactions, (long long)now->pairs, (long long)now->cells);
    printf("predicted: imbalance by the cost model; measured: of CPU seconds in forces\n"
           "bytes: in the last evaluation of the forces; moved: bytes, with particles to new homes\n"
           "force, balance: CPU seconds of the largest rank\n");
    if (sim->rungs.n > 1) {
        printf("cycle eff.: mean over largest CPU seconds in forces, each summed over the phases of a step\n");
    }
}

static void print_note(const bh_simulation *sim)
{
    const app_run_settings *settings = &sim->settings->run;

    if (sim->input.note.text[0] != '\0' && !settings->quiet && sim->domain.rank == 0) {
        eqp_message line;

        eqp_message_set(&line, "barneshut: note: %s: %s", app_run_input_path(settings), sim->input.note.text);
        fprintf(stderr, "%s\n", line.text);
    }
}

/* Completes the files of a run and prints its note. */
static int finish(const bh_simulation *sim, bh_record *record, eqp_message *message)
{
    eqp_message note = {""};
    int code = bh_record_finish(record, sim, message, &note);

    if (code == EQP_OK && note.text[0] != '\0' && sim->domain.rank == 0) {
        fprintf(stderr, "%s\n", note.text);
    }
    return code;
}

static int simulate_steps(MPI_Comm comm, const bh_settings *settings, const char *command, const char *restart,
                          int *stopped, eqp_message *message)
{
    bh_simulation sim;
    bh_record record = {0};
    int code = bh_simulation_create(comm, settings, &sim, message);

    if (code != EQP_OK) {
        return code;
    }
    print_note(&sim);
    EQP_TRY(bh_record_create(&sim, command, &record, message));
    print_title(&sim);
    EQP_TRY(run(&sim, &record, restart, stopped, message));
    EQP_TRY(finish(&sim, &record, message));
    print_summary(&sim);
    app_record_print_error(record.record);
    EQP_TRY(app_check_printed("barneshut", message));
done:
    app_record_free(record.record);
    bh_simulation_free(&sim);
    return code;
}

static int print_comparison(const bh_simulation *sim, const app_comparison *comparison, eqp_message *message)
{
    char *text = NULL;
    int code = EQP_OK;

    if (sim->domain.rank == 0 && !comparison->run->quiet) {
        code = app_compare_text(comparison, &text);
    }
    if (text != NULL) {
        printf("barneshut %s: %lld particles (%s), compared on %d rank%s\n\n%s", eqp_version(),
               (long long)sim->input.total, sim->input.format, sim->domain.nranks, app_plural(sim->domain.nranks),
               text);
    }
    free(text);
    return code == EQP_OK ? app_check_printed("barneshut", message) : code;
}

/* --compare: no steps. */
static int simulate_compare(MPI_Comm comm, const bh_settings *settings, const char *command, eqp_message *message)
{
    bh_settings first = *settings;
    bh_simulation sim;
    bh_record record = {0};
    app_comparison comparison = {.program = "barneshut", .run = &settings->run};
    int code;

    app_compare_first(&first.run);
    code = bh_simulation_create(comm, &first, &sim, message);
    if (code != EQP_OK) {
        return code;
    }
    print_note(&sim);
    code = bh_record_create(&sim, command, &record, message);
    if (code == EQP_OK) {
        code = eqp_agree(sim.comm, bh_record_step(&record, &sim, message), message);
    }
    if (code == EQP_OK) {
        comparison.comm = sim.comm;
        comparison.balancer = sim.balancer;
        comparison.grain_size = sim.problem.ngrains > 1 ? sim.problem.size : NULL;
        code = app_compare(&comparison, record.record, message);
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "barneshut: --compare: %s", eqp_error_text(code));
    }
    if (code == EQP_OK) {
        app_signals_keep(); /* complete the present file */
        code = finish(&sim, &record, message);
    }
    if (code == EQP_OK) {
        code = print_comparison(&sim, &comparison, message);
    }
    app_record_free(record.record);
    app_compare_free(&comparison);
    bh_simulation_free(&sim);
    return code;
}

static int simulate(MPI_Comm comm, const void *values, const char *command, int *stopped, eqp_message *message)
{
    const bh_settings *settings = values;
    app_places places;
    const char *restart = eqp_snapshot_writable() ? "barneshut-restart.hdf5" : NULL;
    int code = app_places_take(comm, "barneshut", &settings->run, &bh_naming, restart, &places, message);

    if (code != EQP_OK) {
        return code;
    }
    code = settings->run.ncompare > 0 ? simulate_compare(comm, settings, command, message)
                                      : simulate_steps(comm, settings, command, places.restart, stopped, message);
    app_places_free(&places);
    return code;
}

/* The lists of names. */
static int answer(const void *values, char **text, eqp_message *message)
{
    const bh_settings *settings = values;

    (void)message;
    if (app_run_asks(settings->run.balance)) {
        return app_run_list_methods(NULL, text);
    }
    if (app_run_asks(settings->run.schedule_text)) {
        return app_run_list_schedules(text);
    }
    return app_run_asks(settings->run.generate) ? app_run_list_recipes(&bh_generators, text) : EQP_OK;
}

static int complete(void *values, eqp_message *message)
{
    return bh_settings_complete(values, message);
}

int main(int argc, char **argv)
{
    bh_settings settings = {.run = {.snapshot = NULL}};
    const app_program program = {bh_settings_table(), &settings, answer, complete, simulate, NULL, {2.5e-6, 0.2, 1.0}};
    const int status = app_main(&program, MPI_COMM_WORLD, argc, argv);

    app_run_settings_free(&settings.run);
    return status;
}
