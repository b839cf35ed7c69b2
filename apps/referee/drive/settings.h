/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RF_SETTINGS_H
#define RF_SETTINGS_H

#include "../../shell/run_settings.h"
#include "../trace/trace.h"

/* Most files on the command line; for more, give their folder. */
#define RF_MOST_FILES 4096

/* At least the number of options. */
#define RF_SETTINGS_ROWS 64

typedef struct rf_settings {
    app_run_settings run; /* snapshot: the first file */
    const char *path[RF_MOST_FILES];
    const char *edges, *method;
    int64_t ranks; /* declared ranks of the run; else 0 */
    int64_t phase; /* that the map is made for, if given */
    int64_t cycle; /* number of phases, from that one on, that a map is made for */
    bool given[RF_SETTINGS_ROWS];
    int npaths;     /* derived */
    bool has_phase; /* derived */
} rf_settings;

const app_command_line *rf_settings_table(void);

/* Looks names up and checks options against each other. EQP_OK, or a code with a message. */
int rf_settings_complete(rf_settings *settings, eqp_message *message);

#endif
