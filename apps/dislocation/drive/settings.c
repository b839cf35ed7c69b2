/* SPDX-License-Identifier: BSD-3-Clause */
#include "settings.h"

#include "../physics/elastic/far.h"
#include "../physics/motion/mobility.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CELLS 1000 /* or tiles, per direction */
#define DEFAULT_SHELLS 5
#define MOST_SHELLS 50
#define AT(field) offsetof(dd_settings, field)

#define TEXT(name_, field_, argument_, help_)                                                                          \
    {                                                                                                                  \
        .name = (name_), .argument = (argument_), .type = APP_OPTION_TEXT, .offset = AT(field_), .help = (help_)       \
    }
#define CHOICE(name_, field_, choices_, fallback_, help_)                                                              \
    {                                                                                                                  \
        .name = (name_), .type = APP_OPTION_CHOICE, .offset = AT(field_), .choices = (choices_),                       \
        .fallback = (fallback_), .help = (help_)                                                                       \
    }
/* A number above `low` that overrides one of the control file. */
#define NUMBER(name_, field_, argument_, low_, high_, help_)                                                           \
    {                                                                                                                  \
        .name = (name_), .argument = (argument_), .type = APP_OPTION_REAL, .offset = AT(field_), .real_low = (low_),   \
        .real_high = (high_), .open_low = true, .help = (help_)                                                        \
    }
#define POSITIVE(name_, field_, argument_, help_) NUMBER(name_, field_, argument_, 0, INFINITY, help_)

static const char images[] = "images"; /* of --check-forces */
static const char integrators[] = "trapezoid|euler", mobilities[] = DD_MOBILITY_NAMES;

static const app_option table[] = {
    TEXT("ctrl", ctrl, "FILE", "ParaDiS parameters; options win over them"),
    TEXT("tile", tile_text, "A,B,C", "A x B x C copies of the network, in a box that much larger"),
    TEXT("cells", cells_text, "N or A,B,C",
         "interaction cells per direction; without it those of --ctrl, else\nabout 30 segments in each"),
    {.name = "far-order",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = AT(far_order),
     .fallback = "6",
     .int_low = DD_FAR_LEAST_ORDER,
     .int_high = DD_FAR_MOST_ORDER,
     .help = "order of the far field's multipole and Taylor expansions"},
    CHOICE("integrator", integrator, integrators, NULL, "how nodes move [of --ctrl, else trapezoid]"),
    CHOICE("mobility", mobility, mobilities + 1, NULL, "mobility law [of --ctrl, else FCC_0]"),
    CHOICE("cross-slip", cross_slip, "no|yes", NULL, "whether screws change glide planes [of --ctrl, else no]"),
    POSITIVE("max-seg", max_seg, "L", "longest segment, b [of --ctrl, else 1.25 times the\nlongest of the input]"),
    POSITIVE("min-seg", min_seg, "L", "shortest segment, b [of --ctrl, else sqrt(8 rTol maxSeg / sqrt(3))]"),
    POSITIVE("r-tol", r_tol, "X", "error of a position in a step, b [of --ctrl, else rc / 4]"),
    POSITIVE("rann", rann, "X", "distance at which lines react, b [of --ctrl, else 2 r-tol]"),
    POSITIVE("rc", rc, "X", "core radius, b [of --ctrl, else 5]"),
    POSITIVE("mu", mu, "PA", "shear modulus, Pa [of --ctrl, else 54.6e9]"),
    NUMBER("nu", nu, "X", -1, 0.4999, "Poisson's ratio [of --ctrl, else 0.324]"),
    POSITIVE("burg", burg, "B", "length b of the Burgers vector, m [of --ctrl, else 2.556e-10]"),
    TEXT("stress", stress_text, "XX,YY,ZZ,YZ,ZX,XY", "applied stress, Pa [of --ctrl, else 0]"),
    {.name = "strain-rate",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = AT(strain_rate),
     .help = "load at this strain rate, 1/s, along edotdir of --ctrl, else x"},
    CHOICE("isa", isa, "auto|plain|avx2|avx512", "auto",
           "instruction set of the force kernels; auto: the fastest that the\nprocessor has"),
    TEXT("check-forces", check_forces, "FILE.tsv or images",
         "compare the kernels with a table of reference forces; or the far field\nof an input with direct sums over 5 "
         "shells of images (images:shells=N)"),
};

static const app_option_text texts[] = {
    {.name = "generate", .help = "make the network instead of reading it; 'help' lists the kinds"},
    {.name = "restart",
     .help = "go on from NAME.data and NAME.ctrl of an earlier run; --steps counts\nfrom the very beginning"},
    {.name = "steps", .help = "number of steps; 0 computes the forces once; without it maxstep of --ctrl"},
    {.name = "dt", .help = "first time step, s; later ones follow from --r-tol [nextDT of --ctrl, else\n1e-7]"},
    {.name = "sample-rate", .help = "work units per segment pair; without it from the tolerance"},
    {.name = "output",
     .help = "write the network at the end: NAME.vtp for ParaView, else NAME.data with\nNAME.ctrl for ParaDiS and "
             "--restart"},
};

static const app_command_line command_line = {
    .program = "dislocation",
    .summary = "Dislocation dynamics, balanced by interactions of segments.",
    .positional = "SNAPSHOT",
    .positional_offset = AT(run.snapshot),
    .before = &app_run_input,
    .option = table,
    .noptions = (int)(sizeof table / sizeof table[0]),
    .after = &app_run_output,
    .shared_offset = AT(run),
    .text = texts,
    .ntexts = (int)(sizeof texts / sizeof texts[0]),
    .values_size = sizeof(dd_settings),
    .given_offset = AT(given),
    .given_room = DD_SETTINGS_ROWS,
    .epilogue =
        "Run it with mpirun; SNAPSHOT is a ParaDiS .data file. Lengths are in units of b, seconds of work are CPU "
        "seconds.\n",
};

const eqp_method dd_sectioning = {.name = "sectioning",
                                  .summary = "slabs, columns, boxes whose walls follow the measured load (ParaDiS)",
                                  .flags = EQP_NEEDS_POINTS};
const eqp_method dd_bisection = {.name = "bisection",
                                 .summary = "halves of halves whose walls follow the measured load (ParaDiS)",
                                 .flags = EQP_NEEDS_POINTS};
static const eqp_method *const own_methods[] = {&dd_sectioning, &dd_bisection};
const eqp_methods dd_methods = {own_methods, 2};

const app_command_line *dd_settings_table(void)
{
    return &command_line;
}

bool dd_settings_given(const dd_settings *settings, const char *name)
{
    return app_options_given(&command_line, settings, name);
}

static int refuse(const char *option, int code, const eqp_message *inner, eqp_message *message)
{
    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --%s: %s", option, inner->text);
    }
    return code;
}

static int parse_three(const char *option, const char *text, bool one, int number[3], eqp_message *message)
{
    eqp_message inner = {""};
    int64_t *value = NULL;
    int n = 0, code = app_parse_int_list(text, one ? 3 : 1, MOST_CELLS, &n, &value, &inner);

    if (code == EQP_OK && n != 3 && !(one && n == 1)) {
        eqp_message_set(&inner, "'%.100s' is %s", text, one ? "neither one number nor three" : "not three numbers");
        code = EQP_ERR_ARGUMENT;
    }
    for (int d = 0; d < 3 && code == EQP_OK; d++) {
        number[d] = (int)value[n == 1 ? 0 : d];
    }
    free(value);
    return refuse(option, code, &inner, message);
}

static int parse_stress(const char *text, double stress[6], eqp_message *message)
{
    const char *at = text;
    char piece[64];
    double value[6];

    for (int i = 0; i < 6; i++) {
        const size_t length = strcspn(at, ",");
        snprintf(piece, sizeof piece, "%.*s", (int)(length < sizeof piece ? length : 0), at);
        at += length;
        if (eqp_read_real(piece, -INFINITY, false, INFINITY, &value[i], NULL) != EQP_OK ||
            *at++ != (i < 5 ? ',' : '\0')) {
            eqp_message_set(message, "dislocation: --stress: '%.100s' is not six numbers XX,YY,ZZ,YZ,ZX,XY", text);
            return EQP_ERR_ARGUMENT;
        }
    }
    memcpy(stress, value, sizeof value);
    return EQP_OK;
}

static int check_inputs(const dd_settings *s, eqp_message *message)
{
    const char *const program = command_line.program;
    int code = app_run_check_inputs(program, &s->run, message);

    if (code == EQP_OK && s->run.restart != NULL && s->ctrl != NULL) {
        eqp_message_set(message, "%s: --ctrl: a restart has parameters of its own", program);
        code = EQP_ERR_ARGUMENT;
    }
    if (code == EQP_OK && s->run.restart != NULL && s->tile_text != NULL) {
        eqp_message_set(message, "%s: --tile: a restart goes on with the network that it has", program);
        code = EQP_ERR_ARGUMENT;
    }
    return code;
}

bool dd_settings_check_images(const dd_settings *settings)
{
    const char *const text = settings->check_forces;
    const size_t n = strlen(images);

    return text != NULL && strncmp(text, images, n) == 0 && (text[n] == '\0' || text[n] == ':');
}

/* "images" or "images:shells=N". */
static int parse_check(dd_settings *s, eqp_message *message)
{
    static const char key[] = ":shells=";
    const char *options = s->check_forces;
    int64_t *values = NULL;
    int n = 0, code = EQP_OK;

    s->check_shells = 0;
    if (!dd_settings_check_images(s)) {
        return EQP_OK;
    }
    options += strlen(images);
    s->check_shells = DEFAULT_SHELLS;
    if (*options != '\0') {
        code = strncmp(options, key, strlen(key)) == 0
                   ? app_parse_int_list(options + strlen(key), 1, MOST_SHELLS, &n, &values, NULL)
                   : EQP_ERR_ARGUMENT;
        s->check_shells = code == EQP_OK && n == 1 ? (int)values[0] : 0;
    }
    if (s->check_shells == 0) {
        eqp_message_set(message, "dislocation: --check-forces: '%s' is not images:shells=N, N from 1 to %d",
                        s->check_forces, MOST_SHELLS);
        code = EQP_ERR_ARGUMENT;
    }
    free(values);
    return code;
}

int dd_settings_complete(void *settings, eqp_message *message)
{
    dd_settings *s = settings;
    eqp_message inner = {""};

    for (int d = 0; d < 3; d++) {
        s->tile[d] = 1;
        s->cells[d] = 0;
    }
    EQP_CHECK(check_inputs(s, message));
    EQP_CHECK(parse_check(s, message));
    if (s->run.generate != NULL) {
        EQP_CHECK(refuse("generate", dd_generator_parse(s->run.generate, &s->generator, &inner), &inner, message));
        s->generator.seed = s->generator.seeded ? s->generator.seed : (uint64_t)s->run.seed;
    }
    if (s->tile_text != NULL) {
        EQP_CHECK(parse_three("tile", s->tile_text, false, s->tile, message));
    }
    if (s->cells_text != NULL) {
        EQP_CHECK(parse_three("cells", s->cells_text, true, s->cells, message));
    }
    if (s->stress_text != NULL) {
        EQP_CHECK(parse_stress(s->stress_text, s->stress, message));
    }
    return app_run_choose(command_line.program, &dd_methods, &s->run, message);
}

void dd_settings_default_control(eqp_paradis_control *control)
{
    *control = eqp_paradis_control_defaults;
    control->shear_modulus = 54.6e9;
    control->poisson = 0.324;
    control->burgers = 2.556e-10;
    control->core_radius = 5;
    control->mobility_screw = 1e4;
    control->mobility_edge = 1e4;
    control->steps = 10;
    control->cross_slip = 0;
    snprintf(control->mobility, sizeof control->mobility, "FCC_0");
    for (int d = 0; d < 3; d++) {
        control->cells[d] = 0;
    }
}

static void copy_word(const char *words, int i, char name[EQP_PARADIS_NAME])
{
    for (; i > 0; i--) {
        words = strchr(words, '|') + 1;
    }
    snprintf(name, EQP_PARADIS_NAME, "%.*s", (int)strcspn(words, "|"), words);
}

void dd_settings_override(const dd_settings *s, eqp_paradis_control *control)
{
    const struct {
        double given, *to;
    } positive[] = {
        {s->max_seg, &control->max_seg},   {s->min_seg, &control->min_seg}, {s->r_tol, &control->tolerance},
        {s->rann, &control->annihilation}, {s->rc, &control->core_radius},  {s->mu, &control->shear_modulus},
        {s->burg, &control->burgers},      {s->run.dt, &control->next_dt},
    };

    for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++) {
        if (positive[i].given > 0) {
            *positive[i].to = positive[i].given;
        }
    }
    if (s->run.dt > control->max_dt) {
        control->max_dt = s->run.dt;
    }
    if (dd_settings_given(s, "nu")) {
        control->poisson = s->nu;
    }
    if (dd_settings_given(s, "strain-rate")) {
        control->strain_rate = s->strain_rate;
        control->load_type = 1;
    }
    if (dd_settings_given(s, "integrator")) {
        copy_word(integrators, s->integrator, control->integrator);
    }
    if (dd_settings_given(s, "mobility")) {
        copy_word(mobilities + 1, s->mobility, control->mobility);
    }
    if (dd_settings_given(s, "cross-slip")) {
        control->cross_slip = s->cross_slip;
    }
    if (s->stress_text != NULL) {
        memcpy(control->stress, s->stress, sizeof control->stress);
    }
    if (s->cells[0] > 0) {
        memcpy(control->cells, s->cells, sizeof control->cells);
    }
    if (dd_settings_given(s, "steps")) {
        control->steps = s->run.steps;
    }
}
