/* SPDX-License-Identifier: BSD-3-Clause */

#include "problem.h"

#include <equipoise/more/base.h>

#include <string.h>

#define AT(field) offsetof(rf_settings, field)

static const app_option table[] = {
    {.name = "edges",
     .argument = "FILE",
     .type = APP_OPTION_TEXT,
     .offset = AT(edges),
     .help = "a table of what items send each other: from,to,bytes[,phase]"},
    {.name = "ranks",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = AT(ranks),
     .int_low = 1,
     .int_high = RF_MOST_RANKS,
     .help = "ranks of the run, idle ones included; by default those that the trace declares or names"},
    {.name = "phase",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = AT(phase),
     .int_high = INT64_MAX,
     .help = "make maps of the loads of this phase, and judge them by all later ones; without it of the first"},
    {.name = "cycle",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = AT(cycle),
     .fallback = "1",
     .int_low = 1,
     .int_high = EQP_CYCLE_PHASES,
     .help = "phases from that one on which make a cycle, such as substeps or kernels: maps are made of the\n"
             "loads in each of them, as all parts wait for one another in each"},
    {.name = "map",
     .argument = "FILE",
     .type = APP_OPTION_TEXT,
     .offset = AT(run.map),
     .help = "write the map that the verdict names: item,part as CSV; with %p in FILE as files for vt's\n"
             "OfflineLB, one for each part"},
    {.name = "method",
     .argument = "METHOD",
     .type = APP_OPTION_TEXT,
     .offset = AT(method),
     .help = "with --map: the compared method whose map is written"},
};

/* Texts of the shared rows for traces, which compute nothing and make no steps. */
static const app_option_text texts[] = {
    {.name = "generate", .absent = true},
    {.name = "restart", .absent = true},
    {.name = "max-particles", .absent = true},
    {.name = "steps", .absent = true},
    {.name = "dt", .absent = true},
    {.name = "balance", .absent = true},
    {.name = "rebalance", .absent = true},
    {.name = "false-alarms", .absent = true},
    {.name = "lazy", .absent = true},
    {.name = "share", .absent = true},
    {.name = "schedule", .absent = true},
    {.name = "node", .absent = true},
    {.name = "costs", .absent = true},
    {.name = "sample-strategy", .absent = true},
    {.name = "sample-rate", .absent = true},
    {.name = "sample-threshold", .absent = true},
    {.name = "forces", .absent = true},
    {.name = "output", .absent = true},
    {.name = "output-every", .absent = true},
    {.name = "memory-cap",
     .help = "recommend no map by which a part needs more memory: bytes (K, M, G, T; a list is repeated),\n"
             "or a multiple of the mean need of a part"},
    {.name = "imbalance-tol",
     .help = "imbalance at which methods stop, max / mean - 1: maps cost nothing here",
     .fallback = "0"},
    {.name = "compare",
     .help = "divide the items by each of these methods; 'help' lists them",
     .fallback = "count,sfc,rcb,greedy,auto"},
    {.name = "parts", .help = "numbers of parts, 1 to 65536 each; default: the ranks of the trace"},
    {.name = "exchange", .help = "how data travel: direct|two-stage|log, then +broadcast/D, +node/R; auto: cheapest"},
    {.name = "report", .help = "write report.json, compare.csv, phases.csv, loads.csv (of the run) and plots there"},
    {.name = "progress", .help = "say on standard error which number of parts is done"},
};

static const app_command_line command_line = {
    .program = "equipoise-compare",
    .summary = "Which map would have been better? Divides what a run of any code has recorded.",
    .positional = "TRACE",
    .positional_offset = AT(path),
    .positional_room = RF_MOST_FILES,
    .before = &app_run_input,
    .option = table,
    .noptions = (int)(sizeof table / sizeof table[0]),
    .after = &app_run_output,
    .shared_offset = AT(run),
    .text = texts,
    .ntexts = (int)(sizeof texts / sizeof texts[0]),
    .values_size = sizeof(rf_settings),
    .given_offset = AT(given),
    .given_room = RF_SETTINGS_ROWS,
    .epilogue =
        "TRACE is a table (CSV, TSV), an HDF5 file, load data of DARMA vt, dumps of Charm++ (+LBDump), WarpX's\n"
        "LoadBalanceCosts, or a folder of such files; which of them, the content says. It runs with and\n"
        "without mpirun.\n",
};

const app_command_line *rf_settings_table(void)
{
    return &command_line;
}

int rf_settings_complete(void *settings, eqp_message *message)
{
    rf_settings *s = settings;
    const bool given = app_options_given(&command_line, s, "parts");
    const char *memory = s->run.memory_text;
    eqp_message inner = {""};
    int code;

    while (s->npaths < RF_MOST_FILES && s->path[s->npaths] != NULL) {
        s->npaths++;
    }
    APP_REFUSE_IF(s->npaths == 0, message, EQP_ERR_ARGUMENT, "equipoise-compare: give a TRACE (see --help)");
    APP_REFUSE_IF(s->method != NULL && s->run.map == NULL, message, EQP_ERR_ARGUMENT,
                  "equipoise-compare: --method: needs --map");
    if (!app_options_given(&command_line, s, "compare") && eqp_method_find("rcb") == NULL) {
        s->run.compare_text = "count,sfc,tiles,greedy,auto"; /* a build without Zoltan */
    }
    s->run.snapshot = s->path[0];
    s->run.costs = 1; /* loads come from the trace */
    s->has_phase = app_options_given(&command_line, s, "phase");
    s->run.parts_text = given ? s->run.parts_text : "1"; /* until the trace is read */
    s->run.memory_text = NULL; /* until the trace is read, when lists of caps are checked too */
    EQP_TRY(app_run_choose("equipoise-compare", &rf_methods, &s->run, message));
    s->run.parts_text = given ? s->run.parts_text : NULL;
    EQP_TRY(app_memory_cap_parse(memory != NULL ? memory : "none", &s->run.capacities, &inner));
    if (s->run.map != NULL && s->run.nparts_list > 1) {
        eqp_message_set(message, "equipoise-compare: --map: one number of parts, not %d", s->run.nparts_list);
        code = EQP_ERR_ARGUMENT;
    }
done:
    if (code != EQP_OK && inner.text[0] != '\0') {
        eqp_message_set(message, "equipoise-compare: --memory-cap: %s", inner.text);
    }
    return code;
}
