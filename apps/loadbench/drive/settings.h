/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LB_SETTINGS_H
#define LB_SETTINGS_H

#include "../../shell/run_settings.h"

#include "../physics/graph.h"

/* At least the number of options. */
#define LB_SETTINGS_ROWS 64

typedef struct lb_settings {
    app_run_settings run; /* snapshot: a loads.csv whose loads the weights follow; NULL: they follow the scenario */
    const char *scenario_text;
    int start;     /* an lb_start */
    double unit;   /* CPU seconds of weight 1 */
    int64_t array; /* bytes of the array that work accesses */
    bool given[LB_SETTINGS_ROWS];
    lb_generator generator; /* derived */
    app_recipe scenario;    /* derived; unused with a record */
} lb_settings;

/* The command line as a table, for parsing and for help. */
const app_command_line *lb_settings_table(void);

const char *lb_settings_start(const lb_settings *settings);

/* Looks names up and checks options against each other. values: the settings, for app_program. EQP_OK, or a code with a
 * message. */
int lb_settings_complete(void *values, eqp_message *message);

#endif
