/* SPDX-License-Identifier: BSD-3-Clause */
#include "settings.h"

#include "../physics/defaults.h"

#include <equipoise/report.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define AT(field) offsetof(bh_settings, field)

static const app_option table[] = {
    {.name = "generate",
     .argument = "KIND[:key=value,...]",
     .type = APP_OPTION_KEYED,
     .offset = AT(generate),
     .help = "make the particles instead of reading them; 'help' lists the kinds"},
    {.name = "restart",
     .argument = "FILE",
     .type = APP_OPTION_TEXT,
     .offset = AT(restart),
     .help = "go on from a restart file; --steps counts from the very beginning"},
    {.name = "steps",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = AT(steps),
     .fallback = "10",
     .int_high = INT64_MAX,
     .help = "number of steps; 0 computes the forces once"},
    {.name = "dt",
     .argument = "T",
     .type = APP_OPTION_REAL,
     .offset = AT(dt),
     .real_high = INFINITY,
     .open_low = true,
     .fallback = NULL,
     .help = "time of one step; without it 0.1 sqrt(softening / largest acceleration)"},
    {.name = "seed",
     .argument = "S",
     .type = APP_OPTION_INT,
     .offset = AT(seed),
     .fallback = "1",
     .int_high = INT64_MAX,
     .help = "seed of everything that is random"},
    {.name = "theta",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = AT(theta),
     .fallback = TEXT(BH_DEFAULT_THETA),
     .real_high = 1.0,
     .open_low = true,
     .help = "opening angle of the geometric criterion"},
    {.name = "opening",
     .argument = "CRITERION",
     .type = APP_OPTION_CHOICE,
     .offset = AT(opening),
     .choices = "geometric|relative",
     .fallback = "geometric",
     .help = "when a cell may act as one body"},
    {.name = "alpha",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = AT(alpha),
     .fallback = TEXT(BH_DEFAULT_ALPHA),
     .real_high = 1.0,
     .open_low = true,
     .help = "wanted relative error of the relative criterion"},
    {.name = "softening",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = AT(softening),
     .fallback = "0.01",
     .real_high = INFINITY,
     .help = "Plummer softening length"},
    {.name = "G",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = AT(G),
     .fallback = "1",
     .real_high = INFINITY,
     .open_low = true,
     .help = "constant of gravity in the units of the snapshot"},
    {.name = "leaf-size",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = AT(leaf_size),
     .fallback = TEXT(BH_DEFAULT_LEAF_SIZE),
     .int_low = 1,
     .int_high = 1024,
     .help = "most particles of a leaf cell"},
    {.name = "group-size",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = AT(group_size),
     .fallback = TEXT(BH_DEFAULT_GROUP_SIZE),
     .int_low = 1,
     .int_high = 1024,
     .help = "most particles of a target group"},
    {.name = "precision",
     .argument = "NAME",
     .type = APP_OPTION_CHOICE,
     .offset = AT(precision),
     .choices = "double|mixed",
     .fallback = "double",
     .help = "of each interaction; positions and sums are double in any case"},
    {.name = "kernel",
     .argument = "NAME",
     .type = APP_OPTION_CHOICE,
     .offset = AT(kernel),
     .choices = "auto|plain|avx2|avx512",
     .fallback = "auto",
     .help = "instruction set of the force kernels; auto: the fastest that the processor has"},
    {.name = "balance",
     .argument = "METHOD",
     .type = APP_OPTION_KEYED,
     .offset = AT(balance),
     .fallback = "interaction",
     .help = "how the work is divided; 'help' lists the methods"},
    {.name = "rebalance",
     .argument = "auto|never|N",
     .type = APP_OPTION_TEXT,
     .offset = AT(rebalance),
     .fallback = "auto",
     .help = "when the map is renewed: by the policy, only at the start, every N steps"},
    {.name = "imbalance-tol",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = AT(imbalance_tol),
     .fallback = "0.02",
     .real_high = 100.0,
     .help = "wanted imbalance, max / mean - 1"},
    {.name = "sample-strategy",
     .argument = "NAME",
     .type = APP_OPTION_CHOICE,
     .offset = AT(sample_strategy),
     .choices = "random|particle|adaptive|stride",
     .fallback = "stride",
     .help = "how work units are sampled"},
    {.name = "sample-rate",
     .argument = "X",
     .type = APP_OPTION_REAL,
     .offset = AT(sample_rate),
     .real_high = 1.0,
     .open_low = true,
     .help = "work units per interaction (of a group and a tile); without it from the tolerance"},
    {.name = "sample-threshold",
     .argument = "S",
     .type = APP_OPTION_REAL,
     .offset = AT(sample_threshold),
     .fallback = "2",
     .real_low = 1.25,
     .real_high = INFINITY,
     .help = "a unit over S times the wanted weight is split again"},
    {.name = "report",
     .argument = "DIR",
     .type = APP_OPTION_TEXT,
     .offset = AT(report),
     .help = "write report.json, loads.csv and plots there"},
    {.name = "forces",
     .argument = "FILE",
     .type = APP_OPTION_TEXT,
     .offset = AT(forces),
     .help = "write the last forces: HDF5 with ids [n] and forces [n][3]"},
    {.name = "output",
     .argument = "FILE",
     .type = APP_OPTION_TEXT,
     .offset = AT(output),
     .help = "write a GADGET HDF5 snapshot at the end, and an XDMF file for ParaView"},
    {.name = "output-every",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = AT(output_every),
     .int_low = 1,
     .int_high = INT64_MAX,
     .help = "with --output: a numbered snapshot every N steps"},
    {.name = "quiet", .type = APP_OPTION_FLAG, .offset = AT(quiet), .help = "print nothing but errors"},
    {.name = "progress",
     .type = APP_OPTION_FLAG,
     .offset = AT(progress),
     .help = "show a progress bar on standard error"},
};

static const app_command_line command_line = {
    .program = "barneshut",
    .summary = "Gravity of N bodies, balanced by their interactions.",
    .positional = "SNAPSHOT",
    .positional_offset = AT(snapshot),
    .option = table,
    .noptions = (int)(sizeof table / sizeof table[0]),
    .values_size = sizeof(bh_settings),
    .epilogue = "Run it with mpirun; SNAPSHOT is GADGET (HDF5, 1, 2), TIPSY or text. Seconds are CPU seconds.\n",
};

const app_command_line *bh_settings_table(void)
{
    return &command_line;
}

static int check_inputs(const bh_settings *s, eqp_message *message)
{
    int inputs = (s->snapshot != NULL) + (s->generate != NULL) + (s->restart != NULL);

    if (inputs == 0) {
        eqp_message_set(message, "barneshut: give a SNAPSHOT, --generate or --restart (see --help)");
        return EQP_ERR_ARGUMENT;
    }
    if (inputs > 1) {
        eqp_message_set(message, "barneshut: SNAPSHOT, --generate and --restart exclude each other");
        return EQP_ERR_ARGUMENT;
    }
    if (s->output_every > 0 && s->output == NULL) {
        eqp_message_set(message, "barneshut: --output-every: needs --output");
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

const char *bh_settings_kernel(const bh_settings *settings)
{
    static const char *const names[] = {"auto", "plain", "avx2", "avx512"};

    return names[settings->kernel];
}

int bh_settings_complete(bh_settings *s, eqp_message *message)
{
    eqp_message inner = {""};
    int code = check_inputs(s, message);

    if (code != EQP_OK) {
        return code;
    }
    if (s->generate != NULL) {
        code = bh_generator_parse(s->generate, &s->generator, &inner);
        if (code != EQP_OK) {
            eqp_message_set(message, "barneshut: --generate: %s", inner.text);
            return code;
        }
        if (!s->generator.seeded) {
            s->generator.seed = (uint64_t)s->seed;
        }
    }
    s->method = eqp_method_find(s->balance);
    if (s->method == NULL) {
        eqp_message_set(message, "barneshut: --balance: '%s' is no method (try --balance help)", s->balance);
        return EQP_ERR_UNKNOWN;
    }
    s->policy = (eqp_policy_options)EQP_POLICY_OPTIONS_DEFAULTS;
    s->policy.imbalance_tol = s->imbalance_tol;
    code = eqp_policy_options_parse(s->rebalance, &s->policy);
    if (code != EQP_OK) {
        eqp_message_set(message, "barneshut: --rebalance: '%s' is not auto, never or a number of steps > 0",
                        s->rebalance);
    }
    return code;
}

int bh_settings_list_methods(char **text)
{
    static const char *const header[] = {"method", "what it does"};
    eqp_table *list = NULL;
    int code = eqp_table_create(2, header, &list);

    for (int i = 0; i < eqp_method_count() && code == EQP_OK; i++) {
        const eqp_method *method = eqp_method_at(i);
        code = eqp_table_cell(list, "%s", method->name);
        if (code == EQP_OK) {
            code = eqp_table_cell(list, "%s", method->summary);
        }
    }
    if (code == EQP_OK) {
        code = eqp_table_text(list, text);
    }
    eqp_table_free(list);
    return code;
}

static int list_kind(eqp_table *list, const bh_generator_kind *kind)
{
    int code = EQP_OK;

    for (int k = -1; k < kind->nkeys && code == EQP_OK; k++) {
        code = k < 0 ? eqp_table_cell(list, "%s", kind->name) : eqp_table_cell(list, "  %s", kind->key[k].name);
        if (code == EQP_OK) {
            code = k < 0 ? eqp_table_cell(list, "%s", "") : eqp_table_cell(list, "%g", kind->key[k].value);
        }
        if (code == EQP_OK) {
            code = eqp_table_cell(list, "%s", k < 0 ? kind->help : kind->key[k].help);
        }
    }
    return code;
}

int bh_settings_list_generators(char **text)
{
    static const char *const header[] = {"kind and keys", "default", "what it is"};
    eqp_table *list = NULL;
    int nkinds = 0, code = eqp_table_create(3, header, &list);
    const bh_generator_kind *kind = bh_generator_table(&nkinds);

    for (int i = 0; i < nkinds && code == EQP_OK; i++) {
        code = list_kind(list, &kind[i]);
    }
    if (code == EQP_OK) {
        code = eqp_table_text(list, text);
    }
    eqp_table_free(list);
    return code;
}
