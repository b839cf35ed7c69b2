/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame of every mini-app: process, requests such as --help, exit status, signals, loop of steps. No other file
 * here prints.
 *
 * A second app has a table of options (options.h, run_settings.h) and fills an app_program and what its `simulate`
 * hands to app_simulate() of report/simulate.h:
 *
 *     int main(int argc, char **argv)
 *     {
 *         dd_settings settings;
 *         const app_program program = {dd_settings_table(), &settings, answer, complete, simulate,
 *                                      &dd_methods, {1e-4, 1.0, 0.0}, &dd_generators};
 *         return app_main(&program, MPI_COMM_WORLD, argc, argv);
 *     } */
#ifndef APP_SHELL_H
#define APP_SHELL_H

#include "options.h"
#include "run_files.h"
#include "run_settings.h"

#include <mpi.h>

/* Rough costs of an app's step. All 0: unknown, and `--lazy auto` means `none`. */
typedef struct app_pace {
    double seconds; /* CPU seconds of a step per particle */
    double owners;  /* of interactions, per particle */
    double each;    /* particles per unit of `n` in --generate; 0: unknown */
} app_pace;

/* If run->lazy is `auto`, decides who makes maps and sets the reason in run->lazy_why. Collective over all ranks that
 * start, with the same result. EQP_OK, or a code of eqp_lazy_decide(). */
int app_lazy_choose(MPI_Comm world, const app_pace *pace, app_run_settings *run);

typedef struct app_provenance {
    char host[256];                           /* of the calling process */
    char date[24];                            /* now, ISO 8601 in UTC: 2026-11-26T13:02:15Z */
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING]; /* first line of the MPI library's version text */
    const char *compiler;                     /* name and version; static */
    const char *commit;                       /* `git describe` of the source tree, or "unknown"; static */
} app_provenance;

/* Unavailable values are "unknown". Local; MPI need not be initialized. */
app_provenance app_provenance_take(void);

typedef struct app_program {
    const app_command_line *line;
    void *settings; /* of line->values_size bytes: what `line` fills */

    /* Answers requests other than lists of methods, schedules and `generators`. *text: owned by the caller (malloc);
     * NULL: no answer. Called on all ranks; rank 0 prints. May be NULL. */
    int (*answer)(const void *settings, char **text, eqp_message *message);

    /* Looks names up and checks options against each other; equal on all ranks, since all have the same arguments.
     * NULL: app_run_check_outputs() and app_run_choose(). */
    int (*complete)(void *settings, eqp_message *message);

    /* The run. *stopped: the signal that ended it early, else unchanged. Collective, fails on all ranks or on none. */
    int (*simulate)(MPI_Comm comm, const void *settings, const char *command, int *stopped, eqp_message *message);

    const eqp_methods *own;        /* the app's own methods, for ranks that make its maps; NULL: none */
    app_pace pace;                 /* for --lazy auto */
    const app_recipes *generators; /* kinds of --generate; NULL: none */
} app_program;

/* From MPI_Init to MPI_Finalize. Answers --help and --version itself. Returns the exit status of the process: 0, 2 for
 * bad input of any kind, 1 for other errors, 128 + signal after a signal; errors are one line of rank 0 on stderr.
 * world: MPI_COMM_WORLD, which only a main.c names. */
int app_main(const app_program *program, MPI_Comm world, int argc, char **argv);

/* 0, 2 for a code caused by the input, else 1. */
int app_exit_status(int code);

/* Flushes standard output and checks that it was written, since a disk may be full. EQP_OK or EQP_ERR_IO. */
int app_check_printed(const char *program, eqp_message *message);

/* Plural ending of a noun: "1 rank", "2 ranks". */
const char *app_plural(int64_t n);

/* Callbacks of app_run_steps(). All are collective and fail on all ranks or on none. */
typedef struct app_run {
    const char *program;              /* begins messages on stderr */
    const char *restart_path;         /* written after a signal; ignored without snapshot() */
    const app_run_settings *settings; /* steps, output, forces, progress */
    const app_naming *naming;         /* of --output */
    MPI_Comm comm;
    void *user;          /* passed to the functions */
    const eqp_step *now; /* the last step of the simulation; `step` and `imbalance_measured` are read */
    bool completes;      /* the initial state completes a step of the previous run */
    /* Where steps tell all ranks of what a rank has met, so that ranks need not meet for it: the first takes a code
     * that `record` gave this rank to the next step; the second is a signal that some rank has had, as the last step
     * tells, or 0. NULL: they meet after each record, and before each step. */
    int *failed;
    const int *signal;
    const double *owes; /* not 0: an interrupted step has left an incomplete state; NULL: never */
    /* EQP_ERR_STOPPED: a signal has ended it early. A snapshot is then a file from which --restart goes on; `now` is of
     * the step before, or of that step, which the run that goes on will not take again. */
    int (*step)(void *user, eqp_message *message);
    int (*record)(void *recorder, eqp_message *message); /* adds the last step to the record */
    void *recorder;
    /* A snapshot from which --restart goes on; NULL: a run that is stopped leaves none. */
    int (*snapshot)(void *user, const char *path, eqp_message *message);
    /* Whatever shows all snapshots so far as one series (XDMF, PVD); NULL: nothing does. */
    int (*index)(void *user, const app_series *series, eqp_message *message);
    int (*forces)(void *user, const char *path, eqp_message *message);
} app_run;

/* Records the present state, then steps until the last one or until a signal, on which it writes restart_path. Numbered
 * snapshots on the way; snapshot and forces at the end. A signal that comes when all steps are done is too late to
 * change anything. Collective. *stopped: the signal; else 0. */
int app_run_steps(const app_run *run, int *stopped, eqp_message *message);

#endif
