/* SPDX-License-Identifier: BSD-3-Clause */
/* A failed allocation on any rank of the gravity app ends the run on all ranks with the same code, without a
 * deadlock. */
#define MPI_TEST_OWN_MAIN
#include "harness.h"

#include "files/output.h"
#include "shell.h"
#include "simulation.h"

#include <sys/stat.h>
#include <unistd.h>

#include "failing_ranks.h"

/* Options separated by blanks, with no other options given. */
static void parse(bh_settings *settings, const char *options)
{
    static char words[256];
    char *argv[32] = {"test"};
    app_action action;
    eqp_message message = {""};
    int argc = 1;

    snprintf(words, sizeof words, "%s", options);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    CHECK_EQUAL(app_options_parse(bh_settings_table(), argc, argv, settings, &action, &message), EQP_OK);
    CHECK_EQUAL(bh_settings_complete(settings, &message), EQP_OK);
}

/* HDF5 reports a failed allocation of our file driver as an I/O error. */
static int without_hdf5(int code)
{
    return code == EQP_ERR_IO ? EQP_ERR_MEMORY : code;
}

static int windows_left = -1; /* windows of shared memory before one fails; -1: all are given */

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window)
{
    return windows_left-- == 0 ? MPI_ERR_NO_MEM : PMPI_Win_allocate_shared(size, unit, info, comm, base, window);
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

/* A run without a step, for its files alone. */
static int write_files(MPI_Comm comm, void *user)
{
    eqp_message message = {""}, note = {""};
    bh_settings *settings = user;
    running r = {0};
    int stopped;

    settings->run.steps = 0;
    settings->run.output = "snapshot.hdf5";
    settings->run.forces = "forces.hdf5";
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

#define RUNGS                                                                                                          \
    "--generate clusters:n=60 --balance levelled --rebalance 1 --rungs 2 --dt 0.01 --eta 0.04 --group-size 8 "         \
    "--leaf-size 4"
/* The number of allocations depends on times, since these choose the ranks that pack and compute bundles; a failed one
 * always ends the step. */
#define HANDED "--generate clusters:n=300 --balance none --group-size 8 --schedule factoring"

static const struct {
    const char *options;
    int (*action)(MPI_Comm comm, void *user);
} sweeps[] = {
    {"--generate disks:n=100 --balance none --rebalance 1", create},
    {"--generate plummer:n=90 --balance sfc --rebalance 1", create},
    {"--generate plummer:n=90 --balance interaction --rebalance 1", create},
    {"--generate clusters:n=90 --balance interaction --rebalance 1 --opening relative --node none", step},
    {RUNGS, create},
    {RUNGS, step},
    {RUNGS " --node none", step},
    {HANDED, create},
    {HANDED, step},
    {"--generate plummer:n=90 --balance sfc --report report", write_files},
    {"--restart snapshot.hdf5 --balance sfc", create},
};

MPI_TEST(runs_go_on_on_all_ranks_or_on_none)
{
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++) {
        bh_settings settings;
        parse(&settings, sweeps[i].options);
        CHECK(failing_ranks_check(comm, sweeps[i].action, &settings) > mpi_test_size(comm));
    }
}

MPI_TEST(without_a_window_trees_are_sent)
{
    int failures = 0;

    for (bool failed = true; failed;) {
        eqp_message message = {""};
        bh_settings settings;
        bh_simulation sim;
        parse(&settings, "--generate plummer:n=200 --balance sfc --rebalance 1 --leaf-size 4 --group-size 8");
        windows_left = failures;
        CHECK_EQUAL(bh_simulation_create(comm, &settings, &sim, &message), EQP_OK);
        CHECK_EQUAL(bh_simulation_step(&sim, &message), EQP_OK);
        failed = windows_left < 0;
        windows_left = -1;
        CHECK(sim.domain.neighbours.lost == failed && (sim.domain.neighbours.node == NULL) == failed);
        failures += failed;
        bh_simulation_free(&sim);
    }
    CHECK(failures >= 4); /* meetings, notices, slots, the top */
}

int main(int argc, char **argv)
{
    /* No failure leaves a file other than these. */
    static const char *const left[] = {
        "report/report.json",   "report/loads.csv", "report/samples.bin", "report/traffic.csv", "report/run.html",
        "report/hindsight.csv", "report",           "snapshot.hdf5",      "snapshot.xdmf",      "forces.hdf5"};
    char folder[] = "bh-memory-XXXXXX";
    int rank;

    if (!failing_malloc_only_ours()) {
        printf("skipped: this system does not let a program fail its own allocations\n");
        return 77;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(rank != 0 || mkdtemp(folder));
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK_EQUAL(chdir(folder), 0);
    for (size_t i = 0; i < mpi_test_count; i++) {
        mpi_test_run(&mpi_tests[i], MPI_COMM_WORLD);
    }
    for (size_t i = 0; i < sizeof left / sizeof left[0] && rank == 0; i++) {
        CHECK_EQUAL(remove(left[i]), 0);
    }
    CHECK_EQUAL(chdir(".."), 0);
    CHECK(rank != 0 || rmdir(folder) == 0);
    MPI_Finalize();
    return 0;
}
