/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of equipoise-compare. */
#ifndef RF_SETTINGS_H
#define RF_SETTINGS_H

#include "../../shell/run_settings.h"
#include "../trace/trace.h"

/* Files on the command line: of more, the folder is given. */
#define RF_MOST_FILES 4096

/* Room for which rows of the table were given; the table has fewer. */
#define RF_SETTINGS_ROWS 64

typedef struct rf_settings {
    app_run_settings run; /* snapshot: the first file */
    const char *path[RF_MOST_FILES];
    const char *edges, *method;
    int64_t ranks; /* of the run, where they were declared; else 0 */
    int64_t phase; /* of which the map is made, where it was given */
    int64_t cycle; /* phases from that one on which a map is made for */
    bool given[RF_SETTINGS_ROWS];
    int npaths;     /* derived */
    bool has_phase; /* derived */
} rf_settings;

const app_command_line *rf_settings_table(void);

/* Looks names up and checks options against each other. EQP_OK, or a code with its line. */
int rf_settings_complete(rf_settings *settings, eqp_message *message);

#endif
