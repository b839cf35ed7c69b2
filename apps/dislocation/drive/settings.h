/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of dislocation. */
#ifndef DD_SETTINGS_H
#define DD_SETTINGS_H

#include "../../shell/run_settings.h"

#include "../physics/motion/generate.h"

#include <equipoise/more/paradis.h>

/* At least as many as there are options. */
#define DD_SETTINGS_ROWS 64

typedef struct dd_settings {
    app_run_settings run;
    const char *ctrl;         /* parameters; NULL: the defaults of dd_settings_control() */
    const char *check_forces; /* a table, or images; NULL: none */
    const char *tile_text, *cells_text, *stress_text;
    int64_t far_order;
    int isa;        /* place among the words auto, plain, avx2, avx512 */
    int integrator; /* of the choices; like the following, it counts only where it was given */
    int mobility, cross_slip;
    double max_seg, min_seg, r_tol, rann, rc, mu, nu, burg, strain_rate;
    bool given[DD_SETTINGS_ROWS]; /* which rows of the table were named */
    /* derived by dd_settings_complete() */
    int tile[3];      /* copies along x, y, z; 1 1 1: the network as it is */
    int cells[3];     /* of the grid; 0 0 0: not given */
    int check_shells; /* of images that the far field is compared with; 0: it is not */
    double stress[6]; /* Pa: xx yy zz yz zx xy */
    dd_generator generator;
} dd_settings;

/* The command line as a table, for parsing and for help. */
const app_command_line *dd_settings_table(void);

/* `sectioning` and `bisection`: methods that the app carries out itself, with the boxes of equipoise/boxes.h. */
extern const eqp_method dd_sectioning, dd_bisection;
extern const eqp_methods dd_methods;

/* Looks names up and checks options against each other. EQP_OK, or a code with its line. */
int dd_settings_complete(dd_settings *settings, eqp_message *message);

/* Whether an option, by its name without the dashes, was on the command line. */
bool dd_settings_given(const dd_settings *settings, const char *name);

/* Whether --check-forces names the images and not a table. */
bool dd_settings_check_images(const dd_settings *settings);

/* The word given for --isa. */
const char *dd_settings_isa(const dd_settings *settings);

/* Parameters without a `.ctrl` file: copper as in the literature on FCC metals (54.6 GPa, 0.324, 2.556e-10 m, core
 * radius 5 b, FCC_0 with mobilities of 1e4 / (Pa s)), creep under the given stress. max_seg stays NaN: the input
 * decides. cells are 0: not given. */
void dd_settings_default_control(eqp_paradis_control *control);

/* What the command line says, on top of what *control holds. */
void dd_settings_override(const dd_settings *settings, eqp_paradis_control *control);

#endif
