/* SPDX-License-Identifier: BSD-3-Clause */
#include "settings.h"

#include "../physics/defaults.h"
#include "../physics/motion.h"
#include "../physics/tree.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define AT(field) offsetof(bh_settings, field)

#define ROW(name, argument, type, member, help, ...)                                                                   \
    APP_ROW(name, argument, type, bh_settings, member, help, __VA_ARGS__)

static const app_option table[] = {
    ROW("theta", "X", REAL, theta, "opening angle of the geometric criterion", .fallback = TEXT(BH_DEFAULT_THETA),
        .real_high = 1.0, .open_low = true),
    ROW("opening", "CRITERION", CHOICE, opening, "when a cell may act as one body; with --theta alone: geometric",
        .choices = "geometric|relative", .fallback = TEXT(BH_DEFAULT_OPENING)),
    ROW("alpha", "X", REAL, alpha, "wanted relative error of the relative criterion",
        .fallback = TEXT(BH_DEFAULT_ALPHA), .real_high = 1.0, .open_low = true),
    ROW("cutoff", "R", REAL, cutoff, "only particles nearer than R act on each other, and no cells",
        .real_high = INFINITY, .open_low = true),
    ROW("softening", "X", REAL, softening, "Plummer softening length", .fallback = "0.01", .real_high = INFINITY),
    ROW("G", "X", REAL, G, "constant of gravity in the units of the snapshot", .fallback = "1", .real_high = INFINITY,
        .open_low = true),
    ROW("rungs", "N", INT, rungs, "steps of N sizes, each half of the one before; --dt is the longest", .fallback = "1",
        .int_low = 1, .int_high = BH_RUNGS_MAX),
    ROW("eta", "X", REAL, eta, "accuracy of rungs: steps of at most sqrt(2 eta softening / acceleration)",
        .fallback = "0.005", .real_high = INFINITY, .open_low = true),
    ROW("leaf-size", "N", INT, leaf_size, "most particles of a leaf cell", .fallback = TEXT(BH_DEFAULT_LEAF_SIZE),
        .int_low = 1, .int_high = 1024),
    ROW("group-size", "N", INT, group_size, "most particles of a target group, or 'auto': the best of 16, 32, 64, 128",
        .fallback = TEXT(BH_DEFAULT_GROUP_SIZE), .int_low = 1, .int_high = BH_GROUP_MOST, .choices = "auto"),
    ROW("precision", "NAME", CHOICE, precision, "of each interaction; positions and sums are double in any case",
        .choices = "double|mixed", .fallback = TEXT(BH_DEFAULT_PRECISION)),
    ROW("kernel", "NAME", CHOICE, kernel,
        "instruction set of the force kernels; auto: the fastest that the processor has",
        .choices = "auto|plain|avx2|avx512", .fallback = "auto"),
};

static const app_option_text texts[] = {
    {.name = "generate", .help = "make the particles instead of reading them; 'help' lists the kinds"},
    {.name = "dt",
     .help = "time of one step; without it 0.1 sqrt(softening / largest acceleration), of the shortest of --rungs"},
    {.name = "forces", .help = "write the last accelerations: HDF5 with ids [n] and forces [n][3] (per unit mass)"},
    {.name = "output", .help = "write a GADGET HDF5 snapshot at the end, and an XDMF file for ParaView"},
};

static const app_command_line command_line = {
    .program = "barneshut",
    .summary = "Gravity of N bodies, balanced by their interactions.",
    .positional = "SNAPSHOT",
    .positional_offset = AT(run.snapshot),
    .before = &app_run_input,
    .option = table,
    .noptions = (int)(sizeof table / sizeof table[0]),
    .after = &app_run_output,
    .shared_offset = AT(run),
    .text = texts,
    .ntexts = (int)(sizeof texts / sizeof texts[0]),
    .values_size = sizeof(bh_settings),
    .given_offset = AT(given),
    .given_room = BH_SETTINGS_ROWS,
    .epilogue = "Run it with mpirun; SNAPSHOT is GADGET (HDF5, 1, 2), TIPSY or text. Seconds are CPU seconds.\n",
};

const app_command_line *bh_settings_table(void)
{
    return &command_line;
}

const char *bh_settings_kernel(const bh_settings *settings)
{
    static const char *const names[] = {"auto", "plain", "avx2", "avx512"};

    return names[settings->kernel];
}

/* With a cutoff no cell acts, so options of the opening criterion are mistakes. */
static int check_cutoff(const bh_settings *s, eqp_message *message)
{
    static const char *const idle[] = {"opening", "theta", "alpha"};

    for (size_t i = 0; i < sizeof idle / sizeof idle[0] && s->cutoff > 0; i++) {
        if (app_options_given(&command_line, s, idle[i])) {
            eqp_message_set(message, "barneshut: --cutoff and --%s exclude each other: with a cutoff no cell acts",
                            idle[i]);
            return EQP_ERR_ARGUMENT;
        }
    }
    return EQP_OK;
}

/* Rungs depend on the softening length; --eta has no effect with one rung. */
static int check_rungs(const bh_settings *s, eqp_message *message)
{
    if (s->rungs > 1 && s->softening == 0) {
        eqp_message_set(message, "barneshut: --rungs %lld needs a --softening: steps go by it", (long long)s->rungs);
        return EQP_ERR_ARGUMENT;
    }
    if (s->rungs == 1 && app_options_given(&command_line, s, "eta")) {
        eqp_message_set(message, "barneshut: --eta needs --rungs: with one rung --dt is the step of all");
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

/* --theta alone selects the geometric criterion. With a cutoff no criterion applies and it needs no forces. */
static void choose_opening(bh_settings *s)
{
    const bool named = app_options_given(&command_line, s, "opening");

    if (s->cutoff > 0 || (!named && app_options_given(&command_line, s, "theta"))) {
        s->opening = 0;
    }
}

int bh_settings_complete(void *values, eqp_message *message)
{
    bh_settings *s = values;
    eqp_message inner = {""};
    int code;

    EQP_TRY(app_run_check_inputs("barneshut", &s->run, message));
    EQP_TRY(check_cutoff(s, message));
    EQP_TRY(check_rungs(s, message));
    choose_opening(s);
    if (s->run.generate != NULL) {
        code = bh_generator_parse(s->run.generate, &s->generator, &inner);
        if (code != EQP_OK) {
            eqp_message_set(message, "barneshut: --generate: %s", inner.text);
            return code;
        }
        if (!s->generator.seeded) {
            s->generator.seed = (uint64_t)s->run.seed;
        }
    }
    EQP_TRY(app_run_choose("barneshut", NULL, &s->run, message));
done:
    return code;
}
