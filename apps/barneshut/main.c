/* SPDX-License-Identifier: BSD-3-Clause */
/* barneshut: gravity of N bodies on MPI ranks, balanced by interactions. */
#include "drive/output.h"
#include "drive/places.h"
#include "drive/record.h"
#include "drive/simulation.h"

#include "../common/signals.h"

#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/report.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define EXIT_BAD_INPUT 2
#define EXIT_TROUBLE 1

/* Bad input of any kind is 2; what is no fault of the input is 1. */
static int status_of(int code)
{
    switch (code) {
    case EQP_OK:
        return 0;
    case EQP_ERR_ARGUMENT:
    case EQP_ERR_UNKNOWN:
    case EQP_ERR_IO:
    case EQP_ERR_FORMAT:
    case EQP_ERR_DATA:
        return EXIT_BAD_INPUT;
    default:
        return EXIT_TROUBLE;
    }
}

/* What was printed may still be on its way to a full disk. */
static int check_printed(eqp_message *message)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return EQP_OK;
    }
    eqp_message_set(message, "barneshut: standard output: %s", errno != 0 ? strerror(errno) : "cannot be written");
    return EQP_ERR_IO;
}

/* An answer, and the exit status that it leads to. */
static int print_owned(int rank, int code, char *text)
{
    eqp_message message = {""};

    if (code == EQP_OK && rank == 0) {
        (void)fputs(text, stdout);
        code = check_printed(&message);
    }
    if (code != EQP_OK && rank == 0) {
        fprintf(stderr, "%s\n", message.text[0] != '\0' ? message.text : eqp_error_text(code));
    }
    free(text);
    return status_of(code);
}

/* The command as it was given, for the report. */
static char *join_command(int argc, char **argv)
{
    size_t room = 1;
    char *text;

    for (int i = 0; i < argc; i++) {
        room += strlen(argv[i]) + 1;
    }
    text = calloc(room, 1);
    for (int i = 0; i < argc && text != NULL; i++) {
        strcat(strcat(text, i > 0 ? " " : ""), argv[i]);
    }
    return text;
}

static void show_progress(const bh_simulation *sim, double begin)
{
    const bh_settings *s = sim->settings;
    char line[160], note[64];
    eqp_progress progress = {.done = sim->now.step - sim->input.step,
                             .total = s->run.steps - sim->input.step,
                             .elapsed_seconds = eqp_wall_seconds() - begin,
                             .width = 30,
                             .unit = "step",
                             .note = note};

    if (!s->run.progress || sim->domain.rank != 0) {
        return;
    }
    snprintf(note, sizeof note, "imbalance %.1f%%", 100.0 * sim->now.imbalance_measured);
    if (eqp_progress_format(&progress, sizeof line, line) == EQP_OK) {
        fprintf(stderr, "\r\033[K%s%s", line, progress.done == progress.total ? "\n" : "");
        fflush(stderr);
    }
}

/* Signals reach ranks at different times: all stop when one has one. */
static int agree_signal(MPI_Comm comm)
{
    int pending = app_signals_pending();

    MPI_Allreduce(MPI_IN_PLACE, &pending, 1, MPI_INT, MPI_MAX, comm);
    return pending;
}

static int write_restart(bh_simulation *sim, eqp_message *message)
{
    static const char path[] = "barneshut-restart.hdf5";
    int code = bh_output_snapshot(sim, path, message);

    if (code == EQP_OK && sim->domain.rank == 0) {
        fprintf(stderr, "%sbarneshut: stopped after step %lld; go on with --restart %s\n",
                sim->settings->run.progress ? "\n" : "", (long long)sim->now.step, path);
    }
    return code;
}

/* Steps until the last one or a signal. */
static int run(bh_simulation *sim, bh_record *record, int *stopped, eqp_message *message)
{
    const bh_settings *s = sim->settings;
    double begin = eqp_wall_seconds();
    bh_series series = {0};
    int code = bh_record_step(record, sim, message);

    while (code == EQP_OK && sim->now.step < s->run.steps) {
        *stopped = agree_signal(sim->comm);
        if (*stopped != 0) {
            code = write_restart(sim, message);
            break;
        }
        code = bh_simulation_step(sim, message);
        if (code == EQP_OK) {
            code = bh_record_step(record, sim, message);
        }
        if (code == EQP_OK && s->run.output_every > 0 &&
            (sim->now.step % s->run.output_every == 0 || sim->now.step == s->run.steps)) {
            code = bh_series_write(&series, sim, s->run.output, true, message);
        }
        if (code == EQP_OK) {
            show_progress(sim, begin);
        }
    }
    if (code == EQP_OK && *stopped == 0 && s->run.output != NULL && s->run.output_every == 0) {
        code = bh_series_write(&series, sim, s->run.output, false, message);
    }
    if (code == EQP_OK && *stopped == 0 && s->run.forces != NULL) {
        code = bh_output_forces(sim, s->run.forces, message);
    }
    bh_series_free(&series);
    return code;
}

static void print_summary(const bh_simulation *sim, const bh_record *record)
{
    const bh_step *now = &sim->now;
    char *text = NULL;

    if (sim->settings->run.quiet || sim->domain.rank != 0 || bh_record_table(record, &text) != EQP_OK) {
        return;
    }
    printf("barneshut %s: %lld particles (%s) on %d ranks, --balance %s, dt %g\n\n%s\n", eqp_version(),
           (long long)sim->input.total, sim->input.format, sim->domain.nranks, sim->settings->run.method->name, sim->dt,
           text);
    printf("%lld interactions in the last step: %lld particle pairs, %lld particle-cell\n",
           (long long)(now->pairs + now->cells), (long long)now->pairs, (long long)now->cells);
    printf("predicted: imbalance by the cost model; measured: of CPU seconds in forces\n"
           "force, balance: CPU seconds of the largest rank\n");
    free(text);
}

static void warn_of_box(const bh_simulation *sim)
{
    const bh_settings *s = sim->settings;

    if (sim->input.box > 0 && !s->run.quiet && sim->domain.rank == 0) {
        fprintf(stderr, "barneshut: note: %s: has a periodic box of edge %g; its boundaries are taken as open\n",
                s->run.restart != NULL ? s->run.restart : s->run.snapshot, sim->input.box);
    }
}

static int simulate(const bh_settings *settings, const char *command, int *stopped, eqp_message *message)
{
    bh_simulation sim;
    bh_record *record = NULL;
    eqp_message note = {""};
    int code = bh_places_check(MPI_COMM_WORLD, settings, message);

    if (code == EQP_OK) {
        code = bh_simulation_create(MPI_COMM_WORLD, settings, &sim, message);
    }
    if (code != EQP_OK) {
        return code;
    }
    warn_of_box(&sim);
    code = bh_record_create(&sim, command, &record, message);
    if (code == EQP_OK) {
        code = run(&sim, record, stopped, message);
    }
    if (code == EQP_OK) {
        code = bh_record_finish(record, &sim, message, &note);
    }
    if (code == EQP_OK) {
        if (note.text[0] != '\0' && sim.domain.rank == 0) {
            fprintf(stderr, "%s\n", note.text);
        }
        print_summary(&sim, record);
        code = check_printed(message);
    }
    bh_record_free(record);
    bh_simulation_free(&sim);
    return code;
}

/* --help, --version and the lists of names. -1: there is a run to be made. */
static int answer_questions(int rank, app_action action, const bh_settings *settings)
{
    char *text = NULL;
    int code;

    if (action == APP_VERSION) {
        code = eqp_array_create(&text, 64, 1);
        if (code == EQP_OK) {
            snprintf(text, 64, "barneshut %s\n", eqp_version());
        }
        return print_owned(rank, code, text);
    }
    if (action == APP_HELP) {
        code = app_options_help(bh_settings_table(), &text);
        return print_owned(rank, code, text);
    }
    if (settings->run.balance != NULL && strcmp(settings->run.balance, "help") == 0) {
        code = app_run_list_methods(NULL, &text);
        return print_owned(rank, code, text);
    }
    if (settings->run.generate != NULL && strcmp(settings->run.generate, "help") == 0) {
        code = bh_settings_list_generators(&text);
        return print_owned(rank, code, text);
    }
    return -1;
}

static int program(int rank, int argc, char **argv)
{
    bh_settings settings;
    app_action action;
    eqp_message message = {""};
    char *command = NULL;
    int stopped = 0, status = -1;
    int code = app_options_parse(bh_settings_table(), argc, argv, &settings, NULL, &action, &message);

    if (code == EQP_OK) {
        status = answer_questions(rank, action, &settings);
        if (status >= 0) {
            return status;
        }
        code = bh_settings_complete(&settings, &message);
    }
    if (code == EQP_OK) {
        command = join_command(argc, argv);
        code = command == NULL ? EQP_ERR_MEMORY : app_signals_install();
        code = eqp_agree(MPI_COMM_WORLD, code, &message);
    }
    if (code == EQP_OK) {
        code = simulate(&settings, command, &stopped, &message);
    }
    if (code != EQP_OK && rank == 0) {
        fprintf(stderr, "%s\n", message.text[0] != '\0' ? message.text : eqp_error_text(code));
    }
    free(command);
    return code == EQP_OK && stopped != 0 ? 128 + stopped : status_of(code);
}

/* Every step takes and gives back arrays of some bytes per particle. glibc keeps blocks below a limit that grows with
 * what is freed: without a fixed one, ranks with a million particles hold a quarter more than they use. */
static void give_large_blocks_back(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

/* A file or socket that got the number of a closed stdout would get its text, too. */
static void open_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)open("/dev/null", O_RDWR);
        }
    }
    errno = 0;
}

int main(int argc, char **argv)
{
    int rank, status;

    open_closed_streams();
    give_large_blocks_back();
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        fprintf(stderr, "barneshut: MPI cannot start\n");
        return EXIT_TROUBLE;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    status = program(rank, argc, argv);
    MPI_Finalize();
    return status;
}
