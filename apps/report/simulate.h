/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of steps or a comparison (compare.h), from checking its output names to the last printed line: the same in all
 * mini-apps. */
#ifndef APP_SIMULATE_H
#define APP_SIMULATE_H

#include "compare.h"

#include "../shell/shell.h"

/* Texts that an app prints: the title of a run, that of a comparison without the end of its line, the lines below the
 * table of the steps and, on standard error, notes on the input. */
typedef enum app_print_part { APP_TITLE, APP_COMPARED, APP_SUMMARY, APP_NOTES } app_print_part;

typedef struct app_simulation {
    const char *program;
    const app_run_settings *run; /* as given by the user */
    const app_naming *naming;    /* of --output */
    const char *restart;         /* usual name of its restart file; NULL: none */
    void *user;                  /* passed to all functions */
    /* Creates the simulation, with settings of app_compare_first() if it compares. Fills steps except program, naming,
     * restart file, user and record(), and the comparison's balancer and grain_size. On failure nothing needs to be
     * freed. Collective. */
    int (*create)(void *user, MPI_Comm comm, bool compares, app_run *steps, app_comparison *comparison,
                  eqp_message *message);
    void (*free)(void *user);
    void (*print)(const void *user, app_print_part part); /* on rank 0, unless the run is quiet */
    /* As app_record_create(), app_record_step() and app_record_finish(). Collective. */
    int (*record_create)(void *user, const char *command, app_record **record, eqp_message *message);
    int (*record_step)(void *user, app_record *record, eqp_message *message);
    int (*record_finish)(void *user, app_record *record, eqp_message *message, eqp_message *note);
} app_simulation;

/* Takes all steps, or compares. Collective; fails on all ranks or on none. *stopped: as app_run_steps(). */
int app_simulate(const app_simulation *simulation, MPI_Comm comm, const char *command, int *stopped,
                 eqp_message *message);

#endif
