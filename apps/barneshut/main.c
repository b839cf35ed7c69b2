/* SPDX-License-Identifier: BSD-3-Clause */
/* barneshut: gravity of N bodies on MPI ranks, balanced by interactions. */
#include "drive/files/output.h"
#include "drive/simulation.h"

#include "../report/simulate.h"

#include <equipoise/more/base.h>
#include <equipoise/snapshot.h>
#include <equipoise/version.h>

#include <math.h>
#include <stdio.h>

typedef struct running {
    bh_simulation sim;
    bh_settings settings;
} running;

static int take_step(void *user, eqp_message *message)
{
    return bh_simulation_step(user, message);
}

static int create(void *user, MPI_Comm comm, bool compares, app_run *steps, app_comparison *comparison,
                  eqp_message *message)
{
    running *r = user;
    bh_simulation *sim = &r->sim;

    if (compares) {
        app_compare_first(&r->settings.run);
    }
    EQP_CHECK(bh_simulation_create(comm, &r->settings, sim, message));
    *steps = (app_run){.comm = sim->comm,
                       .now = &sim->now.common,
                       .completes = sim->input.kick > 0,
                       .failed = &sim->failed,
                       .signal = &sim->signal,
                       .owes = &sim->kick,
                       .step = take_step,
                       .snapshot = eqp_snapshot_writable() ? bh_output_snapshot : NULL,
                       .index = bh_output_xdmf,
                       .forces = bh_output_forces};
    comparison->balancer = sim->balancer;
    comparison->grain_size = sim->problem.ngrains > 1 ? sim->problem.size : NULL;
    return EQP_OK;
}

static void destroy(void *user)
{
    bh_simulation_free(user);
}

static void print_input(const bh_simulation *sim)
{
    printf("barneshut %s: %lld particles (%s)", eqp_version(), (long long)sim->input.total, sim->input.format);
}

static void print_title(const bh_simulation *sim)
{
    print_input(sim);
    printf(" on %d rank%s, --balance %s, dt %g", sim->domain.nranks, app_plural(sim->domain.nranks),
           sim->settings->run.method->name, sim->dt);
    if (sim->rungs.n > 1) {
        printf(" to %g, %d rungs", ldexp(sim->dt, 1 - sim->rungs.n), sim->rungs.n);
    }
    printf("\n\n");
}

static void print_summary(const bh_simulation *sim)
{
    const bh_step *now = &sim->now;

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
    if (sim->input.note.text[0] != '\0') {
        eqp_message line;

        eqp_message_set(&line, "barneshut: note: %s: %s", app_run_input_path(&sim->settings->run),
                        sim->input.note.text);
        fprintf(stderr, "%s\n", line.text);
    }
    if (sim->domain.neighbours.lost) {
        fprintf(stderr, "barneshut: note: ranks get no shared memory: they send parts of their trees\n");
    }
}

static void print(const void *user, app_print_part part)
{
    const bh_simulation *sim = user;

    switch (part) {
    case APP_TITLE:
        print_title(sim);
        break;
    case APP_COMPARED:
        print_input(sim);
        printf(", compared on %d rank%s", sim->domain.nranks, app_plural(sim->domain.nranks));
        break;
    case APP_SUMMARY:
        print_summary(sim);
        break;
    case APP_NOTES:
        print_note(sim);
        break;
    }
}

static int simulate(MPI_Comm comm, const void *values, const char *command, int *stopped, eqp_message *message)
{
    const bh_settings *settings = values;
    running r = {.settings = *settings};
    const app_simulation simulation = {.program = "barneshut",
                                       .run = &settings->run,
                                       .naming = &bh_naming,
                                       .restart = eqp_snapshot_writable() ? "barneshut-restart.hdf5" : NULL,
                                       .user = &r,
                                       .create = create,
                                       .free = destroy,
                                       .print = print,
                                       .record_create = bh_record_create,
                                       .record_step = bh_record_step,
                                       .record_finish = bh_record_finish};

    return app_simulate(&simulation, comm, command, stopped, message);
}

int main(int argc, char **argv)
{
    bh_settings settings = {.run = {.snapshot = NULL}};
    const app_program program = {bh_settings_table(), &settings,     NULL, bh_settings_complete, simulate, NULL,
                                 {2.5e-6, 0.2, 1.0},  &bh_generators};
    const int status = app_main(&program, MPI_COMM_WORLD, argc, argv);

    app_run_settings_free(&settings.run);
    return status;
}
