/* SPDX-License-Identifier: BSD-3-Clause */
#include "shell.h"

#include "signals.h"

#include "output/report.h"
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/version.h>

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

const char *app_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

int app_exit_status(int code)
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

int app_check_printed(const char *program, eqp_message *message)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return EQP_OK;
    }
    eqp_message_set(message, "%s: standard output: %s", program, errno != 0 ? strerror(errno) : "cannot be written");
    return EQP_ERR_IO;
}

static void print_failure(int rank, int code, const eqp_message *message)
{
    if (code != EQP_OK && rank == 0) {
        fprintf(stderr, "%s\n", message->text[0] != '\0' ? message->text : eqp_error_text(code));
    }
}

static int print_owned(const char *program, int rank, int code, char *text, eqp_message *message)
{
    if (code == EQP_OK && rank == 0) {
        (void)fputs(text, stdout);
        code = app_check_printed(program, message);
    }
    print_failure(rank, code, message);
    free(text);
    return app_exit_status(code);
}

/* Command line as given, for the report. */
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

/* First line for programs, then details for bug reports. text: owned by the caller. */
static int describe_version(const char *name, char **text)
{
    static const char format[] = "%s %s\ncommit   %s\ncompiler %s\nMPI      %s\n";
    const app_provenance from = app_provenance_take();
    const size_t room = sizeof format + sizeof from + strlen(name) + strlen(eqp_version()) + strlen(from.compiler) +
                        strlen(from.commit);

    EQP_CHECK(eqp_array_create(text, (int64_t)room, 1));
    snprintf(*text, room, format, name, eqp_version(), from.commit, from.compiler, from.mpi);
    return EQP_OK;
}

/* NULL: the program has no such settings. */
static app_run_settings *settings_of(const app_program *program)
{
    const app_command_line *line = program->line;

    return line->after == &app_run_output
               ? (app_run_settings *)(void *)((char *)program->settings + line->shared_offset)
               : NULL;
}

static int answer(const app_program *program, char **text, eqp_message *message)
{
    const app_run_settings *run = settings_of(program);
    int code = EQP_OK;

    if (program->answer != NULL) {
        code = program->answer(program->settings, text, message);
    }
    if (code != EQP_OK || *text != NULL || run == NULL) {
        return code;
    }
    if (app_run_asks(run->balance)) {
        return app_run_list_methods(program->own, text);
    }
    if (app_run_asks(run->schedule_text)) {
        return app_run_list_schedules(text);
    }
    return program->generators != NULL && app_run_asks(run->generate) ? app_run_list_recipes(program->generators, text)
                                                                      : EQP_OK;
}

static int complete(const app_program *program, eqp_message *message)
{
    app_run_settings *run = settings_of(program);

    if (program->complete != NULL) {
        return program->complete(program->settings, message);
    }
    EQP_CHECK(run != NULL ? app_run_check_outputs(program->line->program, run, message) : EQP_OK);
    return run != NULL ? app_run_choose(program->line->program, program->own, run, message) : EQP_OK;
}

/* Answers --help, --version and the requests of the app. -1: a run follows. */
static int answer_questions(const app_program *program, int rank, app_action action, eqp_message *message)
{
    const char *name = program->line->program;
    char *text = NULL;
    int code;

    if (action == APP_VERSION) {
        code = describe_version(name, &text);
        return print_owned(name, rank, code, text, message);
    }
    code = action == APP_HELP ? app_options_help(program->line, &text) : answer(program, &text, message);
    return code == EQP_OK && text == NULL ? -1 : print_owned(name, rank, code, text, message);
}

/* Ranks may be started with different command lines, so with different kernels; but all must want the same run. */
static int agree_on_settings(MPI_Comm world, const app_program *program, eqp_message *message)
{
    const app_run_settings *run = settings_of(program);
    int code = run != NULL ? eqp_agree_same(world, app_run_settings_hash(run)) : EQP_OK;

    if (code == EQP_ERR_ARGUMENT) {
        eqp_message_set(message, "%s: the ranks were started with different options of input, steps or balancing",
                        program->line->program);
    }
    return code;
}

/* Outcome of a run: its exit status, and whether MPI can still be finalized. */
typedef struct ending {
    int stopped;
    bool lost;
} ending;

/* Called by the ranks of the run. */
static int measure_network(const app_program *program, MPI_Comm comm, app_run_settings *run, eqp_message *message)
{
    eqp_message inner = {""};
    const int code = app_network_measure(comm, &run->network, &inner);

    if (code != EQP_OK) {
        eqp_message_set(message, "%s: --network: %s", program->line->program,
                        inner.text[0] != '\0' ? inner.text : eqp_error_text(code));
    }
    return code;
}

/* Runs and sums the bytes sent to each rank for the record. */
static int simulate(const app_program *program, MPI_Comm comm, const char *command, ending *end, eqp_message *message)
{
    int64_t *bytes = NULL;
    int nranks, code;

    MPI_Comm_size(comm, &nranks);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&bytes, nranks, sizeof *bytes), NULL));
    EQP_TRY(eqp_traffic_watch(comm, bytes));
    code = program->simulate(comm, program->settings, command, &end->stopped, message);
done:
    (void)eqp_traffic_watch(comm, NULL);
    free(bytes);
    return code;
}

/* The run, on the ranks that are not set aside; the others make its maps meanwhile. */
static int run_with_makers(const app_program *program, MPI_Comm world, const char *command, ending *end,
                           eqp_message *message)
{
    app_run_settings *const run = settings_of(program);
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_message inner = {""};
    eqp_lazy *lazy = NULL;
    int code;

    if (run == NULL) {
        app_signals_share(world);
        return simulate(program, world, command, end, message);
    }
    code = app_lazy_choose(world, &program->pace, run);
    code = code == EQP_OK ? eqp_lazy_split(world, &run->lazy, &mine, &lazy, &inner) : code;
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: --lazy: %s", program->line->program, inner.text);
        return code;
    }
    if (eqp_lazy_serves(lazy)) {
        app_signals_keep(); /* a signal ends the run, and with it the makers */
        code = eqp_balancer_serve(lazy, program->own);
    } else {
        app_signals_share(mine);
        run->makers = lazy;
        code = measure_network(program, mine, run, message);
        code = code == EQP_OK ? simulate(program, mine, command, end, message) : code;
    }
    (void)eqp_lazy_leave(&lazy, &end->lost);
    run->makers = NULL;
    app_signals_restore(); /* while the communicator of the ranks that share them exists */
    eqp_comm_free(&mine);
    return code;
}

static int run_program(const app_program *program, MPI_Comm world, int rank, int argc, char **argv, bool *lost)
{
    app_action action;
    eqp_message message = {""};
    char *command = NULL;
    ending end = {0, false};
    int status = -1, code;

    code = app_options_parse(program->line, argc, argv, program->settings, &action, &message);
    if (code == EQP_OK) {
        status = answer_questions(program, rank, action, &message);
        if (status >= 0) {
            return status;
        }
        code = complete(program, &message);
    }
    if (code == EQP_OK) {
        command = join_command(argc, argv);
        code = command == NULL ? EQP_ERR_MEMORY : EQP_OK;
    }
    EQP_TRY(eqp_agree(world, code, &message));
    EQP_TRY(agree_on_settings(world, program, &message));
    EQP_TRY(run_with_makers(program, world, command, &end, &message));
done:
    *lost = end.lost;
    print_failure(rank, code, &message);
    free(command);
    return code == EQP_OK && end.stopped != 0 ? 128 + end.stopped : app_exit_status(code);
}

/* Every step allocates and frees arrays of some bytes per particle. glibc keeps blocks below a limit that grows with
 * the freed sizes; without a fixed limit, ranks with a million particles hold 25 % more than they use. */
static void give_large_blocks_back(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 4 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

/* A file or socket with the descriptor of a closed stdout would receive its text. */
static void open_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            (void)open("/dev/null", O_RDWR);
        }
    }
    errno = 0;
}

int app_main(const app_program *program, MPI_Comm world, int argc, char **argv)
{
    char line[160];
    bool lost = false;
    int rank, status, provided;

    open_closed_streams();
    give_large_blocks_back();
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) { /* a thread may make maps */
        fprintf(stderr, "%s: MPI cannot start\n", program->line->program);
        return EXIT_TROUBLE;
    }
    MPI_Comm_rank(world, &rank);
    snprintf(line, sizeof line, "%s: ended by a signal before there was anything to save\n", program->line->program);
    if (app_signals_install() == EQP_OK) {
        app_signals_last_words(rank == 0 ? line : NULL);
        app_signals_expendable();
    }
    status = run_program(program, world, rank, argc, argv, &lost);
    app_signals_restore();
    app_signals_last_words(NULL);
    if (!lost) { /* MPI_Finalize would wait for ranks that no longer answer */
        MPI_Finalize();
    }
    return status;
}

static int rank_of(const app_run *run)
{
    int rank;

    MPI_Comm_rank(run->comm, &rank);
    return rank;
}

static void show_progress(const app_run *run, int64_t first, double begin)
{
    char line[160], note[64];
    eqp_progress progress = {.done = run->now->step - first,
                             .total = run->settings->steps - first,
                             .elapsed_seconds = eqp_wall_seconds() - begin,
                             .width = 30,
                             .unit = "step",
                             .note = note};

    if (!run->settings->progress || rank_of(run) != 0) {
        return;
    }
    snprintf(note, sizeof note, "imbalance %.1f%%", 100.0 * run->now->imbalance_measured);
    eqp_progress_format(&progress, sizeof line, line);
    fprintf(stderr, "\r\033[K%s%s", line, progress.done == progress.total ? "\n" : "");
    fflush(stderr);
}

/* Signals reach ranks at different times; all ranks stop once one has a signal. */
static int agree_signal(MPI_Comm comm)
{
    int pending = app_signals_pending();

    MPI_Allreduce(MPI_IN_PLACE, &pending, 1, MPI_INT, MPI_MAX, comm);
    return pending;
}

static int write_restart(const app_run *run, bool within, eqp_message *message)
{
    if (run->snapshot == NULL) {
        if (rank_of(run) == 0) {
            fprintf(stderr, "%s%s: stopped after step %lld\n", run->settings->progress ? "\n" : "", run->program,
                    (long long)run->now->step);
        }
        return EQP_OK;
    }
    EQP_CHECK(run->snapshot(run->user, run->restart_path, message));
    if (rank_of(run) == 0) {
        fprintf(stderr, "%s%s: stopped %s step %lld; go on with --restart %s\n", run->settings->progress ? "\n" : "",
                run->program, within ? "within" : "after", (long long)run->now->step, run->restart_path);
    }
    return EQP_OK;
}

/* True if --output is a regular file, which other files can refer to. Collective. */
static int has_name(const app_run *run, bool numbered)
{
    char *target = NULL;
    int named = numbered;

    if (!numbered && rank_of(run) == 0) {
        named = eqp_output_target(run->settings->output, &target, NULL) == EQP_OK && target != NULL;
        free(target);
    }
    return !numbered && MPI_Bcast(&named, 1, MPI_INT, 0, run->comm) != MPI_SUCCESS ? 0 : named;
}

/* Writes a snapshot under --output's name or a numbered one, and the file that shows the series. */
static int write_snapshot(const app_run *run, app_series *series, bool numbered, eqp_message *message)
{
    const char *output = run->settings->output;
    char *path = NULL;
    int code = EQP_OK;

    if (numbered) {
        code = app_name_numbered(run->naming, output, run->now->step, run->naming->numbered, &path);
    }
    EQP_TRY(eqp_agree(run->comm, code, NULL));
    EQP_TRY(run->snapshot(run->user, numbered ? path : output, message));
    EQP_TRY(eqp_agree(run->comm, app_series_add(series, numbered ? path : output, run->now->time), NULL));
done:
    free(path);
    return code == EQP_OK && run->index != NULL && has_name(run, numbered) ? run->index(run->user, series, message)
                                                                           : code;
}

static bool is_due(const app_run *run)
{
    const app_run_settings *s = run->settings;

    return s->output_every > 0 && (run->now->step % s->output_every == 0 || run->now->step == s->steps);
}

static int write_numbered(const app_run *run, app_series *series, eqp_message *message)
{
    return is_due(run) ? write_snapshot(run, series, true, message) : EQP_OK;
}

static int take_step(const app_run *run, app_series *series, eqp_message *message)
{
    int code;

    EQP_TRY(run->step(run->user, message));
    code = run->record(run->recorder, message);
    if (run->failed != NULL && !is_due(run)) {
        *run->failed = code;
        return EQP_OK;
    }
    EQP_TRY(eqp_agree(run->comm, code, message));
    EQP_TRY(write_numbered(run, series, message));
done:
    return code;
}

static int tell_failed(const app_run *run, eqp_message *message)
{
    int code = EQP_OK;

    if (run->failed != NULL) {
        code = *run->failed;
        *run->failed = EQP_OK;
    }
    return eqp_agree(run->comm, code, message);
}

/* Ends a run after a signal interrupted a step. */
static int abandon_step(const app_run *run, int64_t before, app_series *series, eqp_message *message)
{
    const bool whole = run->owes == NULL || *run->owes == 0;
    int code;

    *message = (eqp_message){""};
    code = whole && run->now->step > before ? write_numbered(run, series, message) : EQP_OK;
    return code == EQP_OK ? write_restart(run, !whole, message) : code;
}

int app_run_steps(const app_run *run, int *stopped, eqp_message *message)
{
    const app_run_settings *s = run->settings;
    const int64_t first = run->now->step;
    double begin = eqp_wall_seconds();
    app_series series = {0};
    int code;

    *stopped = 0;
    app_signals_keep();
    code = eqp_agree(run->comm, run->record(run->recorder, message), message);
    if (code == EQP_OK && run->completes) {
        code = write_numbered(run, &series, message);
    }
    while (code == EQP_OK && run->now->step < s->steps) {
        const int64_t before = run->now->step;
        *stopped = run->signal != NULL ? *run->signal : agree_signal(run->comm);
        if (*stopped != 0) {
            code = tell_failed(run, message);
            code = code == EQP_OK ? write_restart(run, false, message) : code;
            break;
        }
        code = take_step(run, &series, message);
        if (code == EQP_ERR_STOPPED) {
            *stopped = agree_signal(run->comm);
            code = abandon_step(run, before, &series, message);
            break;
        }
        if (code == EQP_OK) {
            show_progress(run, first, begin);
        }
    }
    code = code == EQP_OK ? tell_failed(run, message) : code;
    if (code == EQP_OK && *stopped == 0 && s->output != NULL && s->output_every == 0) {
        code = write_snapshot(run, &series, false, message);
    }
    if (code == EQP_OK && *stopped == 0 && s->forces != NULL) {
        code = run->forces(run->user, s->forces, message);
    }
    app_series_free(&series);
    return code;
}
