/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_settings.h"

#include <equipoise/report.h>

#include <math.h>
#include <string.h>

#define AT(field) offsetof(app_run_settings, field)

static const app_option input_rows[] = {
    {.name = "generate",
     .argument = "KIND[:key=value,...]",
     .type = APP_OPTION_KEYED,
     .offset = AT(generate),
     .help = "make the input instead of reading it; 'help' lists the kinds"},
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
     .help = "time of one step"},
    {.name = "seed",
     .argument = "S",
     .type = APP_OPTION_INT,
     .offset = AT(seed),
     .fallback = "1",
     .int_high = INT64_MAX,
     .help = "seed of everything that is random"},
};

static const app_option output_rows[] = {
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
     .help = "write a snapshot at the end"},
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

const app_option_list app_run_input = {input_rows, (int)(sizeof input_rows / sizeof input_rows[0])};
const app_option_list app_run_output = {output_rows, (int)(sizeof output_rows / sizeof output_rows[0])};

int app_run_check_inputs(const char *program, const app_run_settings *run, eqp_message *message)
{
    int inputs = (run->snapshot != NULL) + (run->generate != NULL) + (run->restart != NULL);

    if (inputs == 0) {
        eqp_message_set(message, "%s: give a SNAPSHOT, --generate or --restart (see --help)", program);
        return EQP_ERR_ARGUMENT;
    }
    if (inputs > 1) {
        eqp_message_set(message, "%s: SNAPSHOT, --generate and --restart exclude each other", program);
        return EQP_ERR_ARGUMENT;
    }
    if (run->output_every > 0 && run->output == NULL) {
        eqp_message_set(message, "%s: --output-every: needs --output", program);
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

static const eqp_method *find_method(const app_methods *own, const char *name)
{
    const eqp_method *method = eqp_method_find(name);

    for (int i = 0; method == NULL && own != NULL && i < own->n; i++) {
        method = strcmp(own->row[i]->name, name) == 0 ? own->row[i] : NULL;
    }
    return method;
}

int app_run_choose(const char *program, const app_methods *own, app_run_settings *run, eqp_message *message)
{
    int code;

    run->method = find_method(own, run->balance);
    if (run->method == NULL) {
        eqp_message_set(message, "%s: --balance: '%s' is no method (try --balance help)", program, run->balance);
        return EQP_ERR_UNKNOWN;
    }
    run->policy = (eqp_policy_options)EQP_POLICY_OPTIONS_DEFAULTS;
    run->policy.imbalance_tol = run->imbalance_tol;
    code = eqp_policy_options_parse(run->rebalance, &run->policy);
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: --rebalance: '%s' is not auto, never or a number of steps > 0", program,
                        run->rebalance);
    }
    return code;
}

const char *app_run_input_path(const app_run_settings *run)
{
    return run->restart != NULL ? run->restart : run->snapshot;
}

bool app_run_asks(const char *value)
{
    return value != NULL && strcmp(value, "help") == 0;
}

int app_run_list_methods(const app_methods *own, char **text)
{
    static const char *const header[] = {"method", "what it does"};
    const int nshared = eqp_method_count(), n = nshared + (own != NULL ? own->n : 0);
    eqp_table *list = NULL;
    int code = eqp_table_create(2, header, &list);

    for (int i = 0; i < n && code == EQP_OK; i++) {
        const eqp_method *method = i < nshared ? eqp_method_at(i) : own->row[i - nshared];
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

static int list_kind(eqp_table *list, const app_recipe_kind *kind)
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

int app_run_list_recipes(const app_recipes *table, char **text)
{
    static const char *const header[] = {"kind and keys", "default", "what it is"};
    eqp_table *list = NULL;
    int code = eqp_table_create(3, header, &list);

    for (int i = 0; i < table->nkinds && code == EQP_OK; i++) {
        code = list_kind(list, &table->kind[i]);
    }
    if (code == EQP_OK) {
        code = eqp_table_text(list, text);
    }
    eqp_table_free(list);
    return code;
}
