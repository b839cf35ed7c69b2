/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank of the gravity app that runs out of memory anywhere ends the run on all ranks with the same code, without a
 * deadlock. */
#define MPI_TEST_OWN_MAIN
#include "harness.h"

#include "files/output.h"
#include "shell.h"
#include "simulation.h"

#include <sys/stat.h>
#include <unistd.h>

#include "failing_ranks.h"

static char folder[] = "bh-memory-XXXXXX";
static char report[64], snapshot[64], forces[64];

static void parse(bh_settings *settings, int argc, const char *const *argv)
{
    app_action action;
    eqp_message message = {""};
    int code = app_options_parse(bh_settings_table(), argc, (char **)argv, settings, NULL, &action, &message);

    CHECK_EQUAL(code, EQP_OK);
    CHECK_EQUAL(bh_settings_complete(settings, &message), EQP_OK);
}

/* HDF5 reports a failed allocation of our file driver as an I/O error. */
static int without_hdf5(int code)
{
    return code == EQP_ERR_IO ? EQP_ERR_MEMORY : code;
}

static int create(MPI_Comm comm, void *user)
{
    eqp_message message = {""};
    bh_simulation sim;

    failing_ranks_begin();
    int code = bh_simulation_create(comm, user, &sim, &message);
    failing_ranks_end();
    if (code == EQP_OK) {
        bh_simulation_free(&sim);
    }
    return without_hdf5(code);
}

static int step(MPI_Comm comm, void *user)
{
    eqp_message message = {""};
    bh_simulation sim;

    CHECK_EQUAL(bh_simulation_create(comm, user, &sim, &message), EQP_OK);
    failing_ranks_begin();
    int code = bh_simulation_step(&sim, &message);
    failing_ranks_end();
    bh_simulation_free(&sim);
    return code;
}

typedef struct running {
    bh_simulation sim;
    app_record *record;
} running;

static int record_step(void *user, eqp_message *message)
{
    running *r = user;
    return bh_record_step(&r->sim, r->record, message);
}

/* A run without a step: nothing but its files. */
static int write_files(MPI_Comm comm, void *user)
{
    eqp_message message = {""}, note = {""};
    bh_settings *settings = user;
    running r = {0};
    int stopped;

    settings->run.steps = 0;
    settings->run.output = snapshot;
    settings->run.forces = forces;
    CHECK_EQUAL(bh_simulation_create(comm, settings, &r.sim, &message), EQP_OK);
    const app_run run = {.program = "test",
                         .settings = &settings->run,
                         .naming = &bh_naming,
                         .comm = r.sim.comm,
                         .user = &r.sim,
                         .now = &r.sim.now.common,
                         .record = record_step,
                         .recorder = &r,
                         .snapshot = bh_output_snapshot,
                         .index = bh_output_xdmf,
                         .forces = bh_output_forces};
    failing_ranks_begin();
    int code = bh_record_create(&r.sim, "test", &r.record, &message);
    if (code == EQP_OK) {
        code = app_run_steps(&run, &stopped, &message);
    }
    if (code == EQP_OK) {
        code = bh_record_finish(&r.sim, r.record, &message, &note);
    }
    failing_ranks_end();
    app_record_free(r.record);
    bh_simulation_free(&r.sim);
    return without_hdf5(code);
}

MPI_TEST(runs_begin_on_all_ranks_or_on_none)
{
    static const char *const method[] = {"none", "sfc", "interaction"};

    for (int m = 0; m < 3; m++) {
        const char *const argv[] = {"test", "--generate", "plummer:n=90", "--balance", method[m], "--rebalance", "1"};
        bh_settings settings;

        parse(&settings, 7, argv);
        CHECK(failing_ranks_check(comm, create, &settings) > mpi_test_size(comm));
    }
}

MPI_TEST(steps_end_on_all_ranks_or_on_none)
{
    const char *const argv[] = {"test",        "--generate", "clusters:n=90", "--balance", "interaction",
                                "--rebalance", "1",          "--opening",     "relative"};
    const char *const rungs[] = {
        "test", "--generate", "clusters:n=60", "--balance",    "levelled", "--rebalance", "1", "--rungs", "2", "--dt",
        "0.01", "--eta",      "0.04",          "--group-size", "8",        "--leaf-size", "4"};
    bh_settings settings;

    parse(&settings, 9, argv);
    CHECK(failing_ranks_check(comm, step, &settings) > mpi_test_size(comm));
    parse(&settings, 17, rungs);
    CHECK(failing_ranks_check(comm, create, &settings) > mpi_test_size(comm));
    CHECK(failing_ranks_check(comm, step, &settings) > mpi_test_size(comm));
}

/* The ranks that pack and compute bundles depend on times, and so does the number of allocations; but a failing one
 * always ends the step. */
MPI_TEST(steps_that_are_handed_out_end_on_all_ranks_or_on_none)
{
    const char *const argv[] = {"test",         "--generate", "clusters:n=300", "--balance", "none",
                                "--group-size", "8",          "--schedule",     "factoring"};
    bh_settings settings;

    parse(&settings, 9, argv);
    CHECK(failing_ranks_check(comm, create, &settings) > mpi_test_size(comm));
    CHECK(failing_ranks_check(comm, step, &settings) > mpi_test_size(comm));
}

MPI_TEST(files_are_written_on_all_ranks_or_on_none)
{
    const char *const write[] = {"test", "--generate", "plummer:n=90", "--balance", "sfc", "--report", report};
    const char *const read[] = {"test", "--restart", snapshot, "--balance", "sfc"};
    bh_settings settings;

    parse(&settings, 7, write);
    CHECK(failing_ranks_check(comm, write_files, &settings) > mpi_test_size(comm));
    parse(&settings, 5, read);
    CHECK(failing_ranks_check(comm, create, &settings) > mpi_test_size(comm));
}

/* No failure leaves a file of another name behind. */
static void remove_folder(void)
{
    static const char *const name[] = {
        "report/report.json",   "report/loads.csv", "report/samples.bin", "report/traffic.csv", "report/run.html",
        "report/hindsight.csv", "report",           "snapshot.hdf5",      "snapshot.xdmf",      "forces.hdf5"};
    char path[128];

    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, name[i]);
        CHECK_EQUAL(remove(path), 0);
    }
    CHECK_EQUAL(rmdir(folder), 0);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(rank != 0 || mkdtemp(folder));
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(report, sizeof report, "%s/report", folder);
    snprintf(snapshot, sizeof snapshot, "%s/snapshot.hdf5", folder);
    snprintf(forces, sizeof forces, "%s/forces.hdf5", folder);
    for (size_t i = 0; i < mpi_test_count; i++) {
        mpi_test_run(&mpi_tests[i], MPI_COMM_WORLD);
        if (rank == 0) {
            printf("ok %s\n", mpi_tests[i].name);
        }
    }
    if (rank == 0) {
        remove_folder();
    }
    MPI_Finalize();
    return 0;
}
