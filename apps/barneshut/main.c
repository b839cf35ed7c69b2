/* SPDX-License-Identifier: BSD-3-Clause */
/* barneshut: gravity of N bodies on MPI ranks, balanced by interactions. */
#include "drive/output.h"
#include "drive/record.h"
#include "drive/simulation.h"

#include "../common/shell.h"

#include <equipoise/base.h>

#include <stdio.h>
#include <stdlib.h>

/* What the steps work on. */
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
    return bh_record_step(r->record, r->sim, message);
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
static int run(bh_simulation *sim, bh_record *record, int *stopped, eqp_message *message)
{
    running user = {sim, record};
    const app_run steps = {.program = "barneshut",
                           .restart_path = "barneshut-restart.hdf5",
                           .settings = &sim->settings->run,
                           .naming = &bh_naming,
                           .comm = sim->comm,
                           .user = &user,
                           .now = &sim->now.common,
                           .step = take_step,
                           .record = record_step,
                           .snapshot = write_snapshot,
                           .index = write_xdmf,
                           .forces = write_forces};

    return app_run_steps(&steps, stopped, message);
}

static void print_summary(const bh_simulation *sim, const bh_record *record)
{
    const bh_step *now = &sim->now;
    const app_run_settings *settings = &sim->settings->run;
    char *text = NULL;

    if (settings->quiet || sim->domain.rank != 0 || app_record_table(record->record, &text) != EQP_OK) {
        return;
    }
    printf("barneshut %s: %lld particles (%s) on %d ranks, --balance %s, dt %g\n\n%s\n", eqp_version(),
           (long long)sim->input.total, sim->input.format, sim->domain.nranks, settings->method->name, sim->dt, text);
    printf("%lld interactions in the last step: %lld particle pairs, %lld particle-cell\n",
           (long long)now->common.interactions, (long long)now->pairs, (long long)now->cells);
    printf("predicted: imbalance by the cost model; measured: of CPU seconds in forces\n"
           "force, balance: CPU seconds of the largest rank\n");
    free(text);
}

static void warn_of_box(const bh_simulation *sim)
{
    const app_run_settings *settings = &sim->settings->run;

    if (sim->input.box > 0 && !settings->quiet && sim->domain.rank == 0) {
        fprintf(stderr, "barneshut: note: %s: has a periodic box of edge %g; its boundaries are taken as open\n",
                app_run_input_path(settings), sim->input.box);
    }
}

static int simulate(MPI_Comm comm, const void *values, const char *command, int *stopped, eqp_message *message)
{
    const bh_settings *settings = values;
    bh_simulation sim;
    bh_record record = {0};
    eqp_message note = {""};
    int code = app_places_check(comm, "barneshut", &settings->run, &bh_naming, message);

    if (code == EQP_OK) {
        code = bh_simulation_create(comm, settings, &sim, message);
    }
    if (code != EQP_OK) {
        return code;
    }
    warn_of_box(&sim);
    code = bh_record_create(&sim, command, &record, message);
    if (code == EQP_OK) {
        code = run(&sim, &record, stopped, message);
    }
    if (code == EQP_OK) {
        code = bh_record_finish(&record, &sim, message, &note);
    }
    if (code == EQP_OK) {
        if (note.text[0] != '\0' && sim.domain.rank == 0) {
            fprintf(stderr, "%s\n", note.text);
        }
        print_summary(&sim, &record);
        code = app_check_printed("barneshut", message);
    }
    app_record_free(record.record);
    bh_simulation_free(&sim);
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
    return app_run_asks(settings->run.generate) ? app_run_list_recipes(&bh_generators, text) : EQP_OK;
}

static int complete(void *values, eqp_message *message)
{
    return bh_settings_complete(values, message);
}

int main(int argc, char **argv)
{
    bh_settings settings = {.run = {.snapshot = NULL}};
    const app_program program = {bh_settings_table(), &settings, answer, complete, simulate};
    const int status = app_main(&program, MPI_COMM_WORLD, argc, argv);

    app_run_settings_free(&settings.run);
    return status;
}
