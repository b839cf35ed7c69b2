/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU seconds outside MPI, per rank and step. A step ends at each blocking collective call over all ranks, or at
 * MPI_Pcontrol if the program calls it. The process's clock is read once a step; the calling thread's clock is read
 * before and after calls that may wait, and the difference does not count as work. */
#include "world.h"

#include <equipoise/more/base.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS 4096 /* rows kept; with more steps, neighbouring rows are summed */
#define BLOCK 256 /* rows gathered at once */

bool eqp__measures;

static struct measure {
    char path[4096];
    pthread_mutex_t lock; /* steps may end in any thread */
    double seconds[ROWS];
    int64_t rows;
    int64_t steps_per_row, steps_in_last; /* number of steps in a full row, and in the last row */
    double begin;                         /* clock of the process at the start of the present step */
    atomic_bool by_pcontrol;
    bool paused;
    int nranks;
} measure = {.lock = PTHREAD_MUTEX_INITIALIZER, .steps_per_row = 1};

static atomic_llong inside; /* nanoseconds of all threads in MPI in the present step */
static _Thread_local int depth;
static _Thread_local long long entered;

static long long nanoseconds(clockid_t clock)
{
    struct timespec now = {0, 0};

    clock_gettime(clock, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double process_seconds(void)
{
    return 1e-9 * (double)nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
}

static void add_up_neighbours(void)
{
    const int64_t half = (measure.rows + 1) / 2;

    if (measure.rows % 2 == 1) { /* the last row has no neighbour yet */
        measure.seconds[measure.rows] = 0.0;
    } else {
        measure.steps_in_last += measure.steps_per_row;
    }
    for (int64_t i = 0; i < half; i++) {
        measure.seconds[i] = measure.seconds[2 * i] + measure.seconds[2 * i + 1];
    }
    measure.rows = half;
    measure.steps_per_row *= 2;
}

static void end_step(bool counts)
{
    const double now = process_seconds();
    const double seconds = now - measure.begin - 1e-9 * (double)atomic_exchange(&inside, 0);

    measure.begin = now;
    if (!counts) {
        return;
    }
    if (measure.rows == 0 || measure.steps_in_last == measure.steps_per_row) {
        if (measure.rows == ROWS) {
            add_up_neighbours();
        }
        if (measure.steps_in_last == measure.steps_per_row || measure.rows == 0) {
            measure.seconds[measure.rows++] = 0.0;
            measure.steps_in_last = 0;
        }
    }
    /* Clocks of virtual machines can run backwards. */
    measure.seconds[measure.rows - 1] += seconds > 0.0 ? seconds : 0.0;
    measure.steps_in_last++;
}

static bool has_all_ranks(MPI_Comm comm)
{
    int nranks = 0, inter = 0;

    if (comm == eqp__app) {
        return true;
    }
    return comm != MPI_COMM_NULL && PMPI_Comm_size(comm, &nranks) == MPI_SUCCESS && nranks == measure.nranks &&
           PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

void eqp__mpi_begins(MPI_Comm comm)
{
    if (depth++ > 0) { /* called from a callback of the program */
        return;
    }
    if (comm != MPI_COMM_NULL && !measure.by_pcontrol && has_all_ranks(comm)) {
        pthread_mutex_lock(&measure.lock);
        end_step(true);
        pthread_mutex_unlock(&measure.lock);
    }
    entered = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

void eqp__mpi_ends(void)
{
    if (--depth == 0) {
        const long long spent = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - entered;

        atomic_fetch_add_explicit(&inside, spent > 0 ? spent : 0, memory_order_relaxed);
    }
}

void eqp__step_ends(int level)
{
    if (!eqp__measures) {
        return;
    }
    pthread_mutex_lock(&measure.lock);
    if (!measure.by_pcontrol) { /* earlier steps ended at collective calls and do not compare */
        measure.by_pcontrol = true;
        measure.rows = 0;
        measure.steps_per_row = 1;
        measure.steps_in_last = 0;
        end_step(false);
    } else {
        end_step(!measure.paused);
    }
    measure.paused = level == 0;
    pthread_mutex_unlock(&measure.lock);
}

void eqp__measure_begin(const char *path)
{
    strncpy(measure.path, path, sizeof measure.path - 1);
    PMPI_Comm_size(eqp__app, &measure.nranks);
    measure.begin = process_seconds();
    eqp__measures = true;
}

/* Cuts all ranks to the rows that every rank has, as they may have called MPI_Pcontrol different numbers of times. */
static void agree_on_rows(void)
{
    int64_t wanted[2] = {measure.steps_per_row, 0}, most[2] = {0, 0};

    PMPI_Allreduce(wanted, most, 1, MPI_INT64_T, MPI_MAX, eqp__app);
    while (measure.steps_per_row < most[0]) {
        add_up_neighbours();
    }
    wanted[0] = measure.rows;
    PMPI_Allreduce(wanted, &measure.rows, 1, MPI_INT64_T, MPI_MIN, eqp__app);
}

static void write_head(FILE *file, bool json)
{
    if (json) {
        fprintf(file, "{\n  \"ranks\": %d,\n  \"balancers\": %d,\n  \"steps_by\": \"%s\",\n", measure.nranks,
                eqp__balancers, measure.by_pcontrol ? "MPI_Pcontrol" : "collective calls");
        fprintf(file, "  \"steps_per_row\": %lld,\n  \"cpu_seconds\": [", (long long)measure.steps_per_row);
    } else {
        fprintf(file, "step,rank,cpu_seconds\n");
    }
}

static void write_row(FILE *file, bool json, int64_t row, const double *seconds, int64_t stride)
{
    if (json) {
        fprintf(file, "%s\n    [", row > 0 ? "," : "");
    }
    for (int rank = 0; rank < measure.nranks; rank++) {
        const double value = seconds[(int64_t)rank * stride];

        if (json) {
            fprintf(file, "%s%.9f", rank > 0 ? ", " : "", value);
        } else {
            fprintf(file, "%lld,%d,%.9f\n", (long long)(row * measure.steps_per_row), rank, value);
        }
    }
    if (json) {
        fputc(']', file);
    }
}

/* Collective, also without a file. */
static void write_rows(FILE *file, bool json, double *gathered)
{
    for (int64_t first = 0; first < measure.rows; first += BLOCK) {
        const int64_t n = measure.rows - first < BLOCK ? measure.rows - first : BLOCK;

        PMPI_Gather(measure.seconds + first, (int)n, MPI_DOUBLE, gathered, (int)n, MPI_DOUBLE, 0, eqp__app);
        for (int64_t i = 0; i < n && file != NULL; i++) {
            write_row(file, json, first + i, gathered + i, n);
        }
    }
}

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text);

    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

void eqp__measure_end(void)
{
    const bool json = ends_in(measure.path, ".json");
    eqp_output *output = NULL;
    eqp_message message = {""};
    double *gathered = NULL;
    int rank = 0, ready = 1, code = EQP_OK;

    eqp__measures = false;
    if (!measure.by_pcontrol) { /* time since the last collective call */
        end_step(true);
    }
    agree_on_rows();
    PMPI_Comm_rank(eqp__app, &rank);
    if (rank == 0) {
        gathered = malloc((size_t)measure.nranks * BLOCK * sizeof *gathered);
        code = gathered != NULL ? eqp_output_create(measure.path, &output, &message) : EQP_ERR_MEMORY;
        ready = code == EQP_OK;
    }
    PMPI_Bcast(&ready, 1, MPI_INT, 0, eqp__app);
    if (ready) {
        FILE *file = output != NULL ? eqp_output_stream(output) : NULL;

        if (file != NULL) {
            write_head(file, json);
        }
        write_rows(file, json, gathered);
        if (file != NULL) {
            fputs(json ? "\n  ]\n}\n" : "", file);
            code = eqp_output_commit(output, &message);
        }
    }
    if (code != EQP_OK) {
        eqp__say("%s", message.text[0] != '\0' ? message.text : eqp_error_text(code));
    }
    free(gathered);
}
