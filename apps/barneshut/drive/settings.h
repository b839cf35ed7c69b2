/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BH_SETTINGS_H
#define BH_SETTINGS_H

#include "../../shell/run_settings.h"

#include "../physics/generate.h"

/* At least the number of options. */
#define BH_SETTINGS_ROWS 64

typedef struct bh_settings {
    app_run_settings run; /* dt 0: chosen from the first accelerations */
    double theta, alpha, softening, G;
    double cutoff; /* 0: none */
    bool given[BH_SETTINGS_ROWS];
    int opening;   /* 0 geometric, 1 relative */
    int precision; /* a bh_precision */
    int kernel;    /* place among the words auto, plain, avx2, avx512 */
    int64_t leaf_size;
    int64_t group_size; /* 0: chosen with the map */
    int64_t rungs;
    double eta;
    bh_generator generator; /* derived */
} bh_settings;

/* The command line as a table, for parsing and for help. */
const app_command_line *bh_settings_table(void);

const char *bh_settings_kernel(const bh_settings *settings);

/* Looks names up and checks options against each other. values: the settings, for app_program. EQP_OK, or a code with a
 * message. */
int bh_settings_complete(void *values, eqp_message *message);

#endif
