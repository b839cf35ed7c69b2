/* SPDX-License-Identifier: BSD-3-Clause */
/* Code shared by the mini-apps: file order, files written by one rank for all, places of output, costs, rows. */
#include "harness.h"

#include "cost/costs.h"
#include "run_files.h"

#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/random.h>


#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct item {
    uint64_t place;
    int64_t value;
    double more[3];
} item;

/* Ranks hold the places of a shuffled order, some ranks none; places have gaps. */
static void records_come_into_file_order(MPI_Comm comm)
{
    enum { TOTAL = 500 };
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    item *mine = mpi_test_alloc(TOTAL, sizeof *mine), *slice = NULL;
    int64_t n = 0, nslice = -1, first = -1, total = -1, before = -1;

    for (uint64_t k = 0; k < TOTAL; k++) {
        uint64_t j = k * 263 % TOTAL; /* 263 and 500 have no common factor */
        int owner = (int)(eqp_random_bits(3, j, 0) % (uint64_t)size);
        if ((owner == size / 2 ? 0 : owner) == rank) {
            mine[n++] = (item){3 * j + 1, (int64_t)j, {(double)j, 0, -1}};
        }
    }
    CHECK_EQUAL(app_file_order(comm, sizeof *mine, n, mine, &nslice, &slice, &first), EQP_OK);
    CHECK_EQUAL(eqp_scan_int64(comm, nslice, &before, &total), EQP_OK);
    CHECK_EQUAL(total, TOTAL);
    CHECK_EQUAL(first, before);
    CHECK(nslice >= TOTAL / size - 1 && nslice <= TOTAL / size + 1);
    for (int64_t i = 0; i < nslice; i++) {
        CHECK_EQUAL(slice[i].value, first + i);
        CHECK_EQUAL(slice[i].place, (uint64_t)(3 * (first + i) + 1));
        CHECK(slice[i].more[0] == (double)(first + i) && slice[i].more[2] == -1);
    }
    free(slice);
    free(mine);
}

/* A file in which row i of all holds i and -i. */
typedef struct rows_file {
    int64_t rows, fails_at; /* rows so far; the row that cannot be written, -1: all can */
    int begun, finished, discarded;
} rows_file;

static int rows_begin(void *file, eqp_message *message)
{
    (void)message;
    ((rows_file *)file)->begun++;
    return EQP_OK;
}

static int rows_write(void *file, int64_t n, const void *const *column, eqp_message *message)
{
    rows_file *f = file;

    for (int64_t i = 0; i < n; i++) {
        CHECK_EQUAL(((const int64_t *)column[0])[i], f->rows);
        CHECK(((const double *)column[1])[i] == -(double)f->rows);
        if (f->rows == f->fails_at) {
            eqp_message_set(message, "row %lld", (long long)f->rows);
            return EQP_ERR_IO;
        }
        f->rows++;
    }
    return EQP_OK;
}

static int rows_finish(void *file, eqp_message *message)
{
    (void)message;
    ((rows_file *)file)->finished++;
    return EQP_OK;
}

static void rows_discard(void *file)
{
    ((rows_file *)file)->discarded++;
}

/* Rows that are dealt to the ranks at random, of three kinds, with gaps, over several windows of the file. */
static void rows_in_any_order_come_by_place(MPI_Comm comm)
{
    enum { EACH = 300, TOTAL = 3 * EACH };
    static const app_file_writer writer = {rows_begin, rows_write, rows_finish, rows_discard};
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    const int64_t fails_at[] = {-1, 0, TOTAL / 2, TOTAL - 1, -1};
    int64_t kind[TOTAL + 1], index[TOTAL + 1], number[TOTAL + 1], n = 0;
    double minus[TOTAL + 1];

    for (int64_t k = 0; k < TOTAL; k++) {
        const int64_t i = k * 457 % TOTAL; /* 457 and 900 have no common factor */
        const int owner = (int)(eqp_random_bits(5, (uint64_t)i, 0) % (uint64_t)size);
        if ((owner == size / 2 ? 0 : owner) == rank) {
            kind[n] = 2 * (i / EACH);
            index[n] = i % EACH * 3001;
            number[n] = i;
            minus[n++] = -(double)i;
        }
    }
    for (int k = 0; k < 5; k++) {
        const app_rows rows = {n + (k == 4 && rank == size - 1), kind, index, (const void *const[]){number, minus}};
        rows_file f = {.fails_at = fails_at[k]};
        eqp_message message = {""};
        char expected[32] = "";

        /* In the end one place twice. */
        kind[n] = index[n] = number[n] = 0;
        minus[n] = 0;
        if (k > 0 && k < 4) {
            snprintf(expected, sizeof expected, "row %lld", (long long)fails_at[k]);
        }
        CHECK_EQUAL(app_write_ordered(comm, &writer, &f, 2, &rows, &message), k == 0   ? EQP_OK
                                                                              : k == 4 ? EQP_ERR_INTERNAL
                                                                                       : EQP_ERR_IO);
        CHECK(strcmp(message.text, expected) == 0);
        CHECK_EQUAL(f.finished, rank == 0 && k == 0);
        CHECK_EQUAL(f.discarded, f.begun);
        CHECK_EQUAL(f.rows, rank > 0 || k == 4 ? 0 : k == 0 ? TOTAL : fails_at[k]);
    }
}

/* The same name on all ranks of one communicator. */
static void name_folder(MPI_Comm comm, char folder[64])
{
    strcpy(folder, "app-common-XXXXXX");
    if (mpi_test_rank(comm) == 0) {
        CHECK(mkdtemp(folder) != NULL);
    }
    MPI_Bcast(folder, 64, MPI_CHAR, 0, comm);
}

static void touch(MPI_Comm comm, const char *path)
{
    if (mpi_test_rank(comm) == 0) {
        FILE *file = fopen(path, "w");
        CHECK(file != NULL);
        fclose(file);
    }
    MPI_Barrier(comm);
}

/* Takes all places and gives them up. */
static int look(MPI_Comm comm, const app_run_settings *run, const app_naming *naming, const char *restart,
                eqp_message *message)
{
    app_places places;
    int code = app_places_take(comm, "second", run, naming, restart, &places, message);

    if (code == EQP_OK) {
        CHECK(strcmp(places.restart, restart) == 0);
        app_places_free(&places);
    }
    return code;
}

/* A second app's names: each snapshot has two files, the series one. */
static void no_file_of_a_run_is_another(MPI_Comm comm)
{
    static const char *const ending[] = {".data", NULL}, *const each[] = {".ctrl", NULL},
                             *const beside[] = {".pvd", NULL};
    const app_naming naming = {ending, ".data", each, beside};
    char folder[64], in[96], out[96], other[96], restart[96], expected[256];
    eqp_message message = {""};

    name_folder(comm, folder);
    snprintf(in, sizeof in, "%s/in.data", folder);
    snprintf(out, sizeof out, "%s/out.data", folder);
    snprintf(restart, sizeof restart, "%s/restart.data", folder);
    touch(comm, in);
    app_run_settings run = {.snapshot = in, .output = out, .steps = 10};
    CHECK_EQUAL(look(comm, &run, &naming, restart, &message), EQP_OK);
    run.output = in;
    CHECK_EQUAL(look(comm, &run, &naming, restart, &message), EQP_ERR_ARGUMENT);
    snprintf(expected, sizeof expected, "second: %s: the input would be overwritten", in);
    CHECK(strcmp(message.text, expected) == 0);
    run.output = out;
    snprintf(other, sizeof other, "%s/out.ctrl", folder);
    run.forces = other;
    CHECK_EQUAL(look(comm, &run, &naming, restart, &message), EQP_ERR_ARGUMENT);
    run.output_every = 4; /* then it is out_000004.ctrl that is written */
    CHECK_EQUAL(look(comm, &run, &naming, restart, &message), EQP_OK);
    snprintf(other, sizeof other, "%s/out_000008.ctrl", folder);
    CHECK_EQUAL(look(comm, &run, &naming, restart, &message), EQP_ERR_ARGUMENT);
    snprintf(other, sizeof other, "%s/out_000009.ctrl", folder);
    CHECK_EQUAL(look(comm, &run, &naming, restart, &message), EQP_OK);
    snprintf(other, sizeof other, "%s/out.pvd", folder);
    CHECK_EQUAL(look(comm, &run, &naming, restart, &message), EQP_ERR_ARGUMENT);
    snprintf(other, sizeof other, "%s/none/forces.hdf5", folder);
    CHECK_EQUAL(look(comm, &run, &naming, restart, &message), EQP_ERR_IO);
    /* Behind a link the restart file would replace the input; one to something else is followed. */
    for (int k = 0; k < 2; k++) {
        app_places places;

        if (mpi_test_rank(comm) == 0) {
            (void)unlink(restart);
            CHECK(symlink(k == 0 ? "in.data" : "scratch.data", restart) == 0);
        }
        run.forces = NULL;
        CHECK_EQUAL(app_places_take(comm, "second", &run, &naming, restart, &places, &message), EQP_OK);
        CHECK((strstr(places.restart, "restart-2.data") != NULL) == (k == 0));
        app_places_free(&places);
    }
    MPI_Barrier(comm);
    if (mpi_test_rank(comm) == 0) {
        CHECK(unlink(restart) == 0 && unlink(in) == 0 && rmdir(folder) == 0); /* looking makes nothing */
    }
}

/* Every place is had by one run at a time, the restart file's under one name each, and in the end nothing is left. */
static void a_place_is_had_by_one_run(MPI_Comm comm)
{
    static const char *const ending[] = {".data", NULL};
    const app_naming naming = {ending, ".data", NULL, NULL};
    char folder[64], out[96], other[160], report[96], forces[96], restart[96];
    eqp_message message = {""};
    app_places first, second;

    name_folder(comm, folder);
    snprintf(out, sizeof out, "%s/out.data", folder);
    snprintf(other, sizeof other, "%s/../%s/out", folder, folder);
    snprintf(forces, sizeof forces, "%s/forces", folder);
    snprintf(report, sizeof report, "%s/some/report", folder);
    snprintf(restart, sizeof restart, "%s/restart.data", folder);
    app_run_settings run = {.output = out, .forces = forces, .report = report, .steps = 10}, rival = {.output = other};
    CHECK_EQUAL(app_places_take(comm, "one", &run, &naming, restart, &first, &message), EQP_OK);
    CHECK(strcmp(first.restart, restart) == 0);
    for (int k = 0; k < 3; k++) {
        CHECK_EQUAL(app_places_take(comm, "two", &rival, &naming, restart, &second, &message), EQP_ERR_IO);
        CHECK(strncmp(message.text,
                      k == 0   ? "two: --output: "
                      : k == 1 ? "two: --forces: "
                               : "two: --report: ",
                      15) == 0);
        CHECK(strstr(message.text, ": in use by one, process ") != NULL);
        rival = k == 0 ? (app_run_settings){.forces = forces} : (app_run_settings){.report = report};
    }
    rival = (app_run_settings){.steps = 1};
    CHECK_EQUAL(app_places_take(comm, "two", &rival, &naming, restart, &second, &message), EQP_OK);
    CHECK(strstr(second.restart, "/restart-2.data") != NULL);
    app_places_free(&second);
    app_places_free(&first);
    MPI_Barrier(comm);
    if (mpi_test_rank(comm) == 0) {
        CHECK(rmdir(folder) == 0); /* nothing is left */
    }
}

static void forces_are_written_in_order_or_not_at_all(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    char folder[64], path[96];
    eqp_message message = {""};
    app_force force[3];

    name_folder(comm, folder);
    snprintf(path, sizeof path, "%s/forces.hdf5", folder);
    for (int i = 0; i < 3; i++) {
        force[i] = (app_force){(uint64_t)((3 - i) * size - rank), (uint64_t)rank, {1, 2, 3}};
    }
    CHECK_EQUAL(app_forces_write(comm, path, 3, force, &message), EQP_OK);
    MPI_Barrier(comm);
    if (rank == 0) {
        CHECK(unlink(path) == 0);
        strcat(path, "/nowhere");
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, comm);
    CHECK_EQUAL(app_forces_write(comm, path, 3, force, &message), EQP_ERR_IO);
    CHECK(message.text[0] != '\0');
    MPI_Barrier(comm);
    CHECK(rank != 0 || rmdir(folder) == 0);
}

/* Adds work of this rank at these exact costs. */
static void add_timings(MPI_Comm comm, const double real[3], eqp_timings *timings)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);

    for (int i = rank; i < 40; i += size) {
        int64_t count[3];
        double seconds = 0;
        for (int k = 0; k < 3; k++) {
            count[k] = 1 + (int64_t)(eqp_random_bits(9, (uint64_t)i, (uint64_t)k) % 1000);
            seconds += real[k] * (double)count[k];
        }
        CHECK_EQUAL(eqp_timings_add(timings, count, seconds), EQP_OK);
    }
}

static void costs_are_learnt_from_all_ranks(MPI_Comm comm)
{
    /* The costs lean towards their nominal proportions, which these are in. */
    static const double nominal[3] = {1, 4, 25}, real[3] = {2e-7, 8e-7, 5e-6};
    eqp_timings *timings = NULL;
    eqp_costs costs;
    double correlation = 7;

    CHECK_EQUAL(eqp_timings_create(3, &timings), EQP_OK);
    CHECK_EQUAL(eqp__costs_init(&costs, 3, nominal), EQP_OK);
    CHECK_EQUAL(eqp__costs_init(&costs, EQP_COST_KINDS + 1, nominal), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp__costs_init(&costs, 3, nominal), EQP_OK);
    CHECK_EQUAL(eqp__costs_learn(&costs, comm, timings, &correlation), EQP_OK); /* nothing is known yet */
    CHECK(!costs.known && costs.fit.cost[2] == 25 && correlation == 0);
    add_timings(comm, real, timings);
    CHECK_EQUAL(eqp__costs_learn(&costs, comm, timings, &correlation), EQP_OK);
    CHECK(costs.known && costs.fit.rmse < 1e-6);
    CHECK_NEAR(correlation, 1, 0.2); /* by the nominal costs */
    CHECK_EQUAL(eqp__costs_learn(&costs, comm, timings, &correlation), EQP_OK);
    CHECK_NEAR(correlation, 1, 1e-12);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(costs.fit.cost[k], real[k], 1e-6 * real[k]);
    }
    const int64_t some[3] = {10, 0, 1};
    CHECK_NEAR(eqp__costs_predict(&costs, some), 7e-6, 1e-10);
    eqp_timings_free(timings);
}

static void wrong_nominal_costs_hardly_count_where_samples_tell(MPI_Comm comm)
{
    static const double nominal[3] = {1, 1, 1}, real[3] = {2e-7, 8e-7, 3e-6};
    eqp_timings *timings = NULL;
    eqp_costs costs;
    double correlation;

    CHECK_EQUAL(eqp_timings_create(3, &timings), EQP_OK);
    CHECK_EQUAL(eqp__costs_init(&costs, 3, nominal), EQP_OK);
    add_timings(comm, real, timings);
    CHECK_EQUAL(eqp__costs_learn(&costs, comm, timings, &correlation), EQP_OK);
    CHECK(costs.known && costs.fit.rmse < 0.05);
    for (int k = 1; k < 3; k++) {
        CHECK_NEAR(costs.fit.cost[k], real[k], 0.1 * real[k]);
    }
    eqp_timings_free(timings);
}

/* All ranks take the same numbers; one rank alone has nothing to measure. */
static void a_network_is_measured_alike_on_all_ranks(MPI_Comm comm)
{
    const eqp_network usual = EQP_NETWORK_DEFAULTS;
    eqp_network network = {.alpha = usual.alpha, .beta = usual.beta, .node = 3};
    double least[5], most[5];

    CHECK_EQUAL(eqp_network_measure(comm, &network), EQP_OK);
    CHECK_EQUAL(network.node, 3);
    if (mpi_test_size(comm) == 1) {
        CHECK(network.alpha == usual.alpha && network.beta == usual.beta);
        return;
    }
    CHECK(isfinite(network.alpha) && network.alpha >= 0 && isfinite(network.beta) && network.beta >= 0);
    CHECK(network.alpha + network.beta > 0 && network.reduce > 0 && network.gather > 0 && network.gather_byte >= 0);
    const double mine[] = {network.alpha, network.beta, network.reduce, network.gather, network.gather_byte};
    MPI_Allreduce(mine, least, 5, MPI_DOUBLE, MPI_MIN, comm);
    MPI_Allreduce(mine, most, 5, MPI_DOUBLE, MPI_MAX, comm);
    for (int k = 0; k < 5; k++) {
        CHECK(least[k] == most[k]);
    }
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(records_come_into_file_order),
        MPI_TEST(rows_in_any_order_come_by_place),
        MPI_TEST(no_file_of_a_run_is_another),
        MPI_TEST(a_place_is_had_by_one_run),
        MPI_TEST(forces_are_written_in_order_or_not_at_all),
        MPI_TEST(costs_are_learnt_from_all_ranks),
        MPI_TEST(wrong_nominal_costs_hardly_count_where_samples_tell),
        MPI_TEST(a_network_is_measured_alike_on_all_ranks),
    };
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
