/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DD_SETTINGS_H
#define DD_SETTINGS_H

#include "../../shell/run_settings.h"

#include "../physics/motion/generate.h"

#include <equipoise/more/io.h>

/* At least the number of options. */
#define DD_SETTINGS_ROWS 64

typedef struct dd_settings {
    app_run_settings run;
    const char *ctrl;         /* parameters; NULL: the defaults of dd_settings_default_control() */
    const char *check_forces; /* a table, or images; NULL: no check */
    const char *tile_text, *cells_text, *stress_text;
    int64_t far_order;
    int isa;        /* place among the words auto, plain, avx2, avx512 */
    int integrator; /* index of the choice; valid only if given, as the next two */
    int mobility, cross_slip;
    double max_seg, min_seg, r_tol, rann, rc, mu, nu, burg, strain_rate;
    bool given[DD_SETTINGS_ROWS]; /* options that were given */
    /* derived by dd_settings_complete() */
    int tile[3];      /* copies along x, y, z; 1 1 1: the network as it is */
    int cells[3];     /* of the grid; 0 0 0: not given */
    int check_shells; /* shells of images for the check of the far field; 0: none */
    double stress[6]; /* Pa: xx yy zz yz zx xy */
    dd_generator generator;
} dd_settings;

/* The command line as a table, for parsing and for help. */
const app_command_line *dd_settings_table(void);

/* Methods that the app implements, with the boxes of equipoise/boxes.h. */
extern const eqp_method dd_sectioning, dd_bisection;
extern const eqp_methods dd_methods;

/* Looks names up and checks the options of a dd_settings against each other. EQP_OK, or a code with a message. */
int dd_settings_complete(void *settings, eqp_message *message);

/* name: without the dashes. */
bool dd_settings_given(const dd_settings *settings, const char *name);

bool dd_settings_check_images(const dd_settings *settings);

/* Parameters without a `.ctrl` file: copper as in the literature on FCC metals (54.6 GPa, 0.324, 2.556e-10 m, core
 * radius 5 b, FCC_0 with mobilities of 1e4 / (Pa s)), creep under the given stress. max_seg is NaN and cells are 0: the
 * input decides. */
void dd_settings_default_control(eqp_paradis_control *control);

void dd_settings_override(const dd_settings *settings, eqp_paradis_control *control);

#endif
