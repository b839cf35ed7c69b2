/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of loadbench. */
#ifndef LB_SETTINGS_H
#define LB_SETTINGS_H

#include "../../shell/run_settings.h"

#include "../physics/graph.h"

/* Room for which rows of the table were given; the table has fewer. */
#define LB_SETTINGS_ROWS 64

typedef struct lb_settings {
    app_run_settings run; /* snapshot: the loads.csv whose loads the weights follow; NULL: they follow the scenario */
    const char *scenario_text;
    int start;     /* an lb_start */
    double unit;   /* CPU seconds of weight 1 */
    int64_t array; /* bytes that work is done in */
    bool given[LB_SETTINGS_ROWS];
    lb_generator generator; /* derived */
    app_recipe scenario;    /* derived; not of a record */
} lb_settings;

/* The command line as a table, for parsing and for help. */
const app_command_line *lb_settings_table(void);

/* The word given for --start. */
const char *lb_settings_start(const lb_settings *settings);

/* Looks names up and checks options against each other. values: the settings, for app_program. EQP_OK, or a code with
 * its line. */
int lb_settings_complete(void *values, eqp_message *message);

#endif
