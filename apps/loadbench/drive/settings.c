/* SPDX-License-Identifier: BSD-3-Clause */
#include "settings.h"

#include "../physics/scenario.h"

#include <equipoise/more/base.h>

#include <math.h>

#define AT(field) offsetof(lb_settings, field)
#define ROW(name, argument, type, member, help, ...)                                                                   \
    APP_ROW(name, argument, type, lb_settings, member, help, __VA_ARGS__)

static const app_option table[] = {
    ROW("scenario", "KIND[:key=value,...]", KEYED, scenario_text,
        "how the weights of vertices change over the steps; 'help' lists the kinds", .fallback = "front"),
    ROW("start", "NAME", CHOICE, start,
        "where vertices live before they are balanced: equally many along a curve, in equally wide slabs,\n"
        "anywhere, or all on rank 0",
        .choices = LB_STARTS, .fallback = "curve"),
    ROW("unit", "S", REAL, unit, "CPU seconds that weight 1 takes; measured when the run begins", .fallback = "1e-6",
        .real_high = 1000.0, .open_low = true),
    ROW("array", "BYTES", INT, array, "size in bytes of the array that work accesses at random", .fallback = "65536",
        .int_low = 16, .int_high = INT64_C(1) << 36),
};

/* Texts of the shared rows for graphs, which have no physics to resume and no forces. */
static const app_option_text texts[] = {
    {.name = "generate", .help = "the graph; 'help' lists the kinds", .fallback = "grid"},
    {.name = "steps", .help = "number of steps; in step 0 vertices live where --start puts them"},
    {.name = "restart", .absent = true},
    {.name = "max-particles", .absent = true},
    {.name = "dt", .absent = true},
    {.name = "memory-cap", .absent = true},
    {.name = "schedule", .absent = true},
    {.name = "node", .absent = true},
    {.name = "forces", .absent = true},
    {.name = "output", .absent = true},
    {.name = "output-every", .absent = true},
};

static const app_command_line command_line = {
    .program = "loadbench",
    .summary = "A benchmark of load balance: a graph whose vertices cost time.",
    .positional = "LOADS",
    .positional_offset = AT(run.snapshot),
    .before = &app_run_input,
    .option = table,
    .noptions = (int)(sizeof table / sizeof table[0]),
    .after = &app_run_output,
    .shared_offset = AT(run),
    .text = texts,
    .ntexts = (int)(sizeof texts / sizeof texts[0]),
    .values_size = sizeof(lb_settings),
    .given_offset = AT(given),
    .given_room = LB_SETTINGS_ROWS,
    .epilogue = "Run it with mpirun; LOADS is the loads.csv of another run's --report, whose loads the weights then\n"
                "follow instead of --scenario. Seconds are CPU seconds.\n",
};

const app_command_line *lb_settings_table(void)
{
    return &command_line;
}

const char *lb_settings_start(const lb_settings *settings)
{
    static const char *const names[] = {"curve", "slabs", "scatter", "first"};

    return names[settings->start];
}

/* Reads a recipe; without a seed of its own it gets the run's. */
static int read_recipe(const app_recipes *recipes, const char *option, const char *text, int64_t seed,
                       app_recipe *recipe, eqp_message *message)
{
    eqp_message inner = {""};
    const int code = app_recipe_parse(recipes, text, recipe, &inner);

    if (code != EQP_OK) {
        eqp_message_set(message, "loadbench: --%s: %s", option, inner.text);
    } else if (!recipe->seeded) {
        recipe->seed = (uint64_t)seed;
    }
    return code;
}

int lb_settings_complete(void *values, eqp_message *message)
{
    lb_settings *s = values;

    EQP_CHECK(app_run_check_outputs("loadbench", &s->run, message));
    APP_REFUSE_IF(s->run.snapshot != NULL && app_options_given(&command_line, s, "scenario"), message, EQP_ERR_ARGUMENT,
                  "loadbench: LOADS and --scenario exclude each other: weights follow one of them");
    EQP_CHECK(read_recipe(&lb_generators, "generate", s->run.generate, s->run.seed, &s->generator, message));
    EQP_CHECK(read_recipe(&lb_scenarios, "scenario", s->scenario_text, s->run.seed, &s->scenario, message));
    return app_run_choose("loadbench", NULL, &s->run, message);
}
