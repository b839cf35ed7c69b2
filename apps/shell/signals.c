/* SPDX-License-Identifier: BSD-3-Clause */
#include "signals.h"

#include <equipoise/more/comm.h>
#include <equipoise/survey.h>

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Seconds after which a second signal counts: launchers and `timeout` often send one signal both to a process and to
 * its group. */
#define SECOND_SIGNAL 1.0

/* Seconds after a signal within which the present step may end; a longer step is abandoned. */
#define GRACE 0.5

/* A handler has no arguments of ours, so these are the one place of an app that is not on a stack. */
static volatile sig_atomic_t pending;
static volatile double noted; /* eqp_wall_seconds() of the signal */
static volatile sig_atomic_t expendable;
static const char *volatile last_words; /* NULL: none */
static char *const *volatile own_file;  /* [own_files] */
static const char *volatile own_folder; /* NULL: none */
static volatile sig_atomic_t own_files;
static bool installed;
static struct sigaction old_interrupt, old_terminate, old_too_large, old_broken_pipe;

/* The same for all ranks of this node. */
static volatile int *shared_signal; /* NULL: not shared */
static MPI_Win shared_window = MPI_WIN_NULL;

/* Nothing but calls that a handler may make. */
static void end_at_once(int signal_number)
{
    if (last_words != NULL && expendable) {
        (void)!write(STDERR_FILENO, last_words, strlen(last_words));
    }
    for (int i = 0; i < own_files; i++) {
        (void)unlink(own_file[i]);
    }
    if (own_folder != NULL) {
        (void)rmdir(own_folder);
    }
    _exit(128 + signal_number);
}

static void take_note(int signal_number)
{
    const double now = eqp_wall_seconds();

    if (expendable || (pending && now - noted >= SECOND_SIGNAL)) {
        end_at_once(signal_number);
    }
    if (!pending) {
        noted = now;
        pending = signal_number;
        if (shared_signal != NULL) {
            *shared_signal = signal_number;
        }
    }
}

int app_signals_install(void)
{
    struct sigaction action;

    EQP_CHECK(installed ? EQP_ERR_STATE : EQP_OK);
    memset(&action, 0, sizeof action);
    action.sa_handler = take_note;
    /* Reads and writes that a signal meets go on: only the main loop reacts. */
    action.sa_flags = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    pending = 0;
    expendable = 0;
    EQP_CHECK(sigaction(SIGINT, &action, &old_interrupt) ? EQP_ERR_INTERNAL : EQP_OK);
    if (sigaction(SIGTERM, &action, &old_terminate)) {
        (void)sigaction(SIGINT, &old_interrupt, NULL);
        return EQP_ERR_INTERNAL;
    }
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, &old_broken_pipe);
    if (sigaction(SIGXFSZ, &action, &old_too_large)) {
        (void)sigaction(SIGINT, &old_interrupt, NULL);
        (void)sigaction(SIGTERM, &old_terminate, NULL);
        return EQP_ERR_INTERNAL;
    }
    installed = true;
    return EQP_OK;
}

void app_signals_share(MPI_Comm comm)
{
    MPI_Comm own = MPI_COMM_NULL, node = MPI_COMM_NULL;
    MPI_Aint bytes;
    int rank, unit, *word = NULL;

    if (eqp_comm_create(comm, &own) != EQP_OK) {
        return;
    }
    if (MPI_Comm_split_type(own, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) == MPI_SUCCESS &&
        MPI_Comm_rank(node, &rank) == MPI_SUCCESS &&
        MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)sizeof *word : 0, (int)sizeof *word, MPI_INFO_NULL, node, &word,
                                &shared_window) == MPI_SUCCESS &&
        MPI_Win_shared_query(shared_window, 0, &bytes, &unit, &word) == MPI_SUCCESS) {
        if (rank == 0) {
            *word = 0;
        }
        (void)MPI_Barrier(node);
        shared_signal = word;
        if (pending) {
            *shared_signal = (int)pending; /* it came before there was this place */
        }
    }
    eqp_comm_free(&node);
    eqp_comm_free(&own);
}

void app_signals_last_words(const char *line)
{
    last_words = line;
}

void app_signals_clear_away(int n, char *const *file, const char *folder)
{
    own_files = 0;
    own_file = file;
    own_folder = folder;
    own_files = n;
}

void app_signals_expendable(void)
{
    expendable = 1;
    if (app_signals_pending() != 0) {
        end_at_once(app_signals_pending());
    }
}

void app_signals_keep(void)
{
    expendable = 0;
}

int app_signals_pending(void)
{
    if (!pending && shared_signal != NULL && *shared_signal != 0) {
        noted = eqp_wall_seconds();
        pending = *shared_signal;
    }
    return (int)pending;
}

int app_signals_stop(void)
{
    return app_signals_pending() != 0 && eqp_wall_seconds() - noted >= GRACE ? EQP_ERR_STOPPED : EQP_OK;
}

void app_signals_restore(void)
{
    if (installed) {
        (void)sigaction(SIGINT, &old_interrupt, NULL);
        (void)sigaction(SIGTERM, &old_terminate, NULL);
        (void)sigaction(SIGXFSZ, &old_too_large, NULL);
        (void)sigaction(SIGPIPE, &old_broken_pipe, NULL);
        installed = false;
    }
    pending = 0;
    shared_signal = NULL;
    if (shared_window != MPI_WIN_NULL) {
        (void)MPI_Win_free(&shared_window);
    }
}
