/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of barneshut. */
#ifndef BH_SETTINGS_H
#define BH_SETTINGS_H

#include "../../common/options.h"

#include "../physics/generate.h"

#include <equipoise/balance.h>
#include <equipoise/policy.h>
#include <equipoise/units.h>

typedef struct bh_settings {
    const char *snapshot, *generate, *restart;
    int64_t steps, seed;
    double dt; /* 0: chosen from the first accelerations */
    double theta, alpha, softening, G;
    int opening;   /* 0 geometric, 1 relative */
    int precision; /* a bh_precision */
    int kernel;    /* place among the words auto, plain, avx2, avx512 */
    int64_t leaf_size, group_size;
    const char *balance, *rebalance;
    double imbalance_tol;
    int sample_strategy; /* an eqp_sample_strategy */
    double sample_rate, sample_threshold;
    const char *report, *forces, *output;
    int64_t output_every;
    bool quiet, progress;
    /* derived */
    bh_generator generator;
    const eqp_method *method;
    eqp_policy_options policy;
} bh_settings;

/* The command line as a table, for parsing and for help. */
const app_command_line *bh_settings_table(void);

/* The word given for --kernel. */
const char *bh_settings_kernel(const bh_settings *settings);

/* Looks names up and checks options against each other. EQP_OK, or a code with its line. */
int bh_settings_complete(bh_settings *settings, eqp_message *message);

/* Text for `--balance help` and `--generate help`: owned by the caller. EQP_OK or EQP_ERR_MEMORY. */
int bh_settings_list_methods(char **text);
int bh_settings_list_generators(char **text);

#endif
