/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_settings.h"

#include "output/report.h"
#include <equipoise/more/models.h>
#include <equipoise/more/random.h>
#include <equipoise/more/whatif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name, argument, type, member, help, ...)                                                                   \
    APP_ROW(name, argument, type, app_run_settings, member, help, __VA_ARGS__)

static const app_option input_rows[] = {
    ROW("generate", "KIND[:key=value,...]", KEYED, generate,
        "make the input instead of reading it; 'help' lists the kinds", .fallback = NULL),
    ROW("restart", "FILE", TEXT, restart, "go on from a restart file; --steps counts from the very beginning",
        .fallback = NULL),
    ROW("max-particles", "N", INT, max_particles,
        "refuse an input with more; without it 1000000 of a file, or 4 for each of its bytes", .int_low = 1,
        .int_high = INT64_MAX),
    ROW("steps", "N", INT, steps, "number of steps; 0 computes the forces once", .fallback = "10",
        .int_high = INT64_MAX),
    ROW("dt", "T", REAL, dt, "time of one step", .real_high = INFINITY, .open_low = true),
    ROW("seed", "S", INT, seed, "seed of everything that is random", .fallback = "1", .int_high = INT64_MAX),
};

static const app_option output_rows[] = {
    ROW("balance", "METHOD[:option,...]", TEXT, balance, "how the work is divided; 'help' lists the methods",
        .fallback = "auto"),
    ROW("rebalance", "auto|never|repair|gain|N", TEXT, rebalance,
        "when the map is renewed: by the policy, only at the start, every N steps;\n"
        "repair: a few owners move whenever the work is over the tolerance;\n"
        "gain: by what keeping, repairing and renewing cost for the steps ahead",
        .fallback = "auto"),
    ROW("false-alarms", "P", REAL, false_alarms,
        "probability that noise of measured seconds makes auto or gain renew a map, per step", .fallback = "1e-4",
        .real_high = 1.0, .real_low = 1e-12),
    ROW("lazy", "none|auto|thread|M[:option,...]", TEXT, lazy_text,
        "who makes maps after the first one: the run itself, a thread, or M further ranks;\n"
        "wait=K, delay=K: steps until it is waited for, or taken exactly; repair=auto|never|N;\n"
        "patience=S: seconds until they are given up; spread=node|last: which ranks",
        .fallback = "none"),
    ROW("share", "equal|speeds:S,...|measured|model", TEXT, share_text,
        "work of each rank: equal, in proportion to relative speeds (repeated),\n"
        "by measured speeds, or by speeds as functions of size: model[:" EQP_SPEEDS_KINDS "]",
        .fallback = "equal"),
    ROW("memory-cap", "none|BYTES,...|Xmean", TEXT, memory_text,
        "take no map by which a rank needs more memory: bytes (K, M, G, T; a list is repeated),\n"
        "or a multiple of the mean need of a rank",
        .fallback = "none"),
    ROW("schedule", "none|METHOD[:chunk=N,factor=X]", KEYED, schedule_text,
        "hand the work of a step out while it is done, on top of the map; 'help' lists the methods;\n"
        "chunk: size of all chunks (fixed) or of first ones; factor: a batch is 1/X of what is left",
        .fallback = "none"),
    ROW("imbalance-tol", "X", REAL, imbalance_tol, "wanted imbalance, max / mean - 1", .fallback = "0.02",
        .real_high = 100.0),
    ROW("costs", "NAME", CHOICE, costs,
        "seconds of each kind of work: as measured, or fixed, so that maps do not depend on times",
        .choices = "measured|nominal", .fallback = "measured"),
    ROW("sample-strategy", "NAME", CHOICE, sample_strategy, "how work units are sampled",
        .choices = "random|particle|adaptive|stride", .fallback = "stride"),
    ROW("sample-rate", "X", REAL, sample_rate,
        "work units per interaction (of a group and a tile); without it from the tolerance", .real_high = 1.0,
        .open_low = true),
    ROW("sample-threshold", "S", REAL, sample_threshold, "a unit over S times the wanted weight is split again",
        .fallback = "2", .real_low = 1.25, .real_high = INFINITY),
    ROW("exchange", "auto|PLAN", TEXT, exchange_text,
        "how data travel: direct|two-stage|log, then +broadcast/D, +node/R;\n"
        "auto: direct, or what --balance auto finds cheapest",
        .fallback = "auto"),
    ROW("node", "N|auto|none", INT, node,
        "ranks of one computer read each other's data in place: N together, all, or none", .fallback = "auto",
        .int_low = 1, .int_high = APP_MOST_PARTS, .choices = "auto|none"),
    ROW("compare", "METHOD,...|all", TEXT, compare_text,
        "what if: divide the input by each of these methods into --parts, and take no step", .fallback = NULL),
    ROW("parts", "P,...", TEXT, parts_text,
        "with --compare: numbers of parts, 1 to 65536 each; not tied to the number of ranks", .fallback = NULL),
    ROW("network", "alpha=S,beta=S,node=R|FILE|measure", KEYED, network_text,
        "seconds per message and per byte, ranks that share memory; what is not said stays.\n"
        "reduce=S, gather=S, gather_byte=S: of collective calls, per level and per byte. FILE: lines\n"
        "of these; measure[:file=FILE]: between the ranks of this run, and FILE gets it",
        .fallback = "alpha=2e-6,beta=1e-9,node=1"),
    ROW("report", "DIR", TEXT, report, "write report.json, loads.csv and a page to look at (run.html) there",
        .fallback = NULL),
    ROW("forces", "FILE", TEXT, forces, "write the last forces: HDF5 with ids [n] and forces [n][3]", .fallback = NULL),
    ROW("output", "FILE", TEXT, output, "write a snapshot at the end", .fallback = NULL),
    ROW("output-every", "N", INT, output_every, "with --output: a numbered snapshot every N steps", .int_low = 1,
        .int_high = INT64_MAX),
    ROW("quiet", NULL, FLAG, quiet, "print nothing but errors", .fallback = NULL),
    ROW("progress", NULL, FLAG, progress, "show a progress bar on standard error", .fallback = NULL),
};

const app_option_list app_run_input = {input_rows, (int)(sizeof input_rows / sizeof input_rows[0])};
const app_option_list app_run_output = {output_rows, (int)(sizeof output_rows / sizeof output_rows[0])};

int app_run_check_inputs(const char *program, const app_run_settings *run, eqp_message *message)
{
    int inputs = (run->snapshot != NULL) + (run->generate != NULL) + (run->restart != NULL);

    APP_REFUSE_IF(inputs == 0, message, EQP_ERR_ARGUMENT, "%s: give a SNAPSHOT, --generate or --restart (see --help)",
                  program);
    APP_REFUSE_IF(inputs > 1, message, EQP_ERR_ARGUMENT, "%s: SNAPSHOT, --generate and --restart exclude each other",
                  program);
    return app_run_check_outputs(program, run, message);
}

int app_run_check_outputs(const char *program, const app_run_settings *run, eqp_message *message)
{
    APP_REFUSE_IF(run->output_every > 0 && run->output == NULL, message, EQP_ERR_ARGUMENT,
                  "%s: --output-every: needs --output", program);
    APP_REFUSE_IF(run->compare_text != NULL && (run->output != NULL || run->forces != NULL), message, EQP_ERR_ARGUMENT,
                  "%s: --compare: makes no steps: it takes neither --output nor --forces", program);
    if ((run->compare_text != NULL) != (run->parts_text != NULL)) {
        const bool compare = run->compare_text != NULL;
        eqp_message_set(message, "%s: --%s: needs --%s", program, compare ? "compare" : "parts",
                        compare ? "parts" : "compare");
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

static int choose_methods(const eqp_methods *own, app_run_settings *run, const char **option, eqp_message *message)
{
    const eqp_choice_options plain = {.strategy = (eqp_sample_strategy)run->sample_strategy,
                                      .rate = run->sample_rate,
                                      .threshold = run->sample_threshold};

    EQP_CHECK(eqp_choice_parse(own, &plain, run->balance, &run->choice, message));
    run->method = run->choice.method;
    *option = "compare";
    if (run->compare_text != NULL) {
        EQP_CHECK(eqp_choices_parse(own, &plain, run->compare_text, &run->ncompare, &run->compare, message));
    }
    return EQP_OK;
}

static int choose_share(app_run_settings *run, eqp_message *message)
{
    const char *text = run->share_text != NULL ? run->share_text : "equal";
    EQP_CHECK(app_share_parse(text, &run->share, message));

    APP_REFUSE_IF(run->ncompare > 0 && run->share.kind > EQP_SHARE_SPEEDS, message, EQP_ERR_ARGUMENT,
                  "%s: nothing is measured where no step is made", text);
    for (int i = 0; i < run->nparts_list; i++) {
        EQP_CHECK(app_share_check(&run->share, run->parts[i], message));
    }
    return EQP_OK;
}

static int choose_memory(app_run_settings *run, eqp_message *message)
{
    EQP_CHECK(app_memory_cap_parse(run->memory_text != NULL ? run->memory_text : "none", &run->capacities, message));

    for (int i = 0; i < run->nparts_list; i++) {
        EQP_CHECK(app_memory_cap_check(&run->capacities, run->parts[i], message));
    }
    return EQP_OK;
}

static int read_schedule(app_run_settings *run, eqp_message *message)
{
    app_keyed keyed;
    EQP_CHECK(app_keyed_parse(run->schedule_text, &keyed, message));
    run->schedule = eqp_schedule_method_find(keyed.kind);
    if (run->schedule == NULL) {
        eqp_nearest nearest = {.text = keyed.kind, .length = strlen(keyed.kind)};
        for (int i = 0; i < eqp_schedule_method_count(); i++) {
            eqp_nearest_look(&nearest, eqp_schedule_method_at(i)->name);
        }
        eqp_message_set(message, "'%.100s' is no method; 'help' lists them", run->schedule_text);
        eqp_nearest_suggest(&nearest, message);
        app_keyed_free(&keyed);
        return EQP_ERR_UNKNOWN;
    }
    app_keyed_int(&keyed, "chunk", 1, INT32_MAX, &run->schedule_rules.chunk);
    app_keyed_real(&keyed, "factor", 1, false, INFINITY, &run->schedule_rules.factor);
    return app_keyed_end(&keyed, message);
}

static int choose_schedule(app_run_settings *run, eqp_message *message)
{
    run->schedule = NULL;
    run->schedule_rules = eqp_schedule_options_defaults();
    if (run->schedule_text == NULL || strcmp(run->schedule_text, "none") == 0) {
        return EQP_OK;
    }
    EQP_CHECK(read_schedule(run, message));
    APP_REFUSE_IF(run->ncompare > 0, message, EQP_ERR_ARGUMENT, "%s: nothing is handed out where no step is made",
                  run->schedule_text);
    return EQP_OK;
}

static int choose_policy(app_run_settings *run, eqp_message *message)
{
    run->policy = eqp_policy_options_defaults();
    run->policy.imbalance_tol = run->imbalance_tol;
    run->policy.false_alarms = run->false_alarms;
    const int code = eqp_policy_options_parse(run->rebalance, &run->policy);
    APP_REFUSE_IF(code != EQP_OK, message, code, "'%.100s' is not auto, never, repair, gain or a number of steps > 0",
                  run->rebalance);
    return EQP_OK;
}

static int choose_lazy(app_run_settings *run, eqp_message *message)
{
    run->lazy = eqp_lazy_options_defaults();
    EQP_CHECK(run->lazy_text != NULL ? eqp_lazy_options_parse(run->lazy_text, &run->lazy, message) : EQP_OK);
    APP_REFUSE_IF(run->ncompare > 0 && run->lazy.mode != EQP_LAZY_NONE, message, EQP_ERR_ARGUMENT,
                  "%s: no map is used where no step is made", run->lazy_text);
    return EQP_OK;
}

static int choose_exchange(app_run_settings *run, eqp_message *message)
{
    run->exchange = (eqp_exchange_plan)EQP_EXCHANGE_PLAN_DEFAULTS;
    run->exchange_auto = run->exchange_text == NULL || strcmp(run->exchange_text, "auto") == 0;
    const int code = run->exchange_auto ? EQP_OK : eqp_exchange_plan_parse(run->exchange_text, &run->exchange);
    APP_REFUSE_IF(code != EQP_OK, message, code,
                  "'%.100s' is not auto, nor a plan such as two-stage+broadcast/16+node/4", run->exchange_text);
    return EQP_OK;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int choose_parts(app_run_settings *run, eqp_message *message)
{
    int kept = 0;

    if (run->parts_text != NULL) {
        EQP_CHECK(app_parse_int_list(run->parts_text, 1, APP_MOST_PARTS, &run->nparts_list, &run->parts, message));
    }
    if (run->nparts_list > 0) {
        qsort(run->parts, (size_t)run->nparts_list, sizeof *run->parts, by_number);
        for (int i = 0; i < run->nparts_list; i++) {
            if (kept == 0 || run->parts[kept - 1] != run->parts[i]) {
                run->parts[kept++] = run->parts[i];
            }
        }
        run->nparts_list = kept;
    }
    return EQP_OK;
}

/* Compares a plan for nodes only if nodes are full. */
static int check_nodes(app_run_settings *run, eqp_message *message)
{
    for (int i = 0; i < run->nparts_list && !run->exchange_auto; i++) {
        APP_REFUSE_IF(run->parts[i] % run->exchange.node != 0, message, EQP_ERR_ARGUMENT,
                      "%d ranks on a node do not divide %lld parts", run->exchange.node, (long long)run->parts[i]);
    }
    return EQP_OK;
}

static int choose_network(app_run_settings *run, eqp_message *message)
{
    run->network = (app_network_choice){.network = EQP_NETWORK_DEFAULTS};
    return run->network_text != NULL ? app_network_parse(run->network_text, &run->network, message) : EQP_OK;
}

int app_run_choose(const char *program, const eqp_methods *own, app_run_settings *run, eqp_message *message)
{
    static const struct {
        const char *option;
        int (*choose)(app_run_settings *run, eqp_message *message);
    } further[] = {{"rebalance", choose_policy},  {"lazy", choose_lazy},         {"exchange", choose_exchange},
                   {"parts", choose_parts},       {"exchange", check_nodes},     {"share", choose_share},
                   {"memory-cap", choose_memory}, {"schedule", choose_schedule}, {"network", choose_network}};
    eqp_message inner = {""};
    const char *option = "balance";
    int code = choose_methods(own, run, &option, &inner);

    for (size_t i = 0; i < sizeof further / sizeof further[0] && code == EQP_OK; i++) {
        option = further[i].option;
        code = further[i].choose(run, &inner);
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: --%s: %s", program, option, inner.text[0] ? inner.text : eqp_error_text(code));
        app_run_settings_free(run);
    }
    return code;
}

void app_run_settings_free(app_run_settings *run)
{
    free(run->compare);
    free(run->parts);
    app_share_free(&run->share);
    app_memory_cap_free(&run->capacities);
    app_network_free(&run->network);
    run->compare = NULL;
    run->parts = NULL;
    run->ncompare = 0;
    run->nparts_list = 0;
}

eqp_balancer_options app_run_balancing(const app_run_settings *run)
{
    eqp_balancer_options options;

    (void)eqp_balancer_options_init(&options, sizeof options);
    options.method = run->choice;
    options.imbalance_tol = run->imbalance_tol;
    options.seed = (uint64_t)run->seed;
    options.policy = run->policy;
    options.share = run->share;
    options.capacities = run->capacities;
    options.plan_auto = run->exchange_auto;
    options.plan = run->exchange;
    options.network = run->network.network;
    options.calibrate = false; /* costs are fitted to batches that include everything forces take */
    options.handed_out = run->schedule != NULL;
    options.fixed_costs = run->costs == 1;
    options.lazy = run->makers;
    return options;
}

int app_run_balancer_create(const char *program, MPI_Comm comm, const eqp_problem *problem,
                            const eqp_balancer_options *options, eqp_balancer **balancer, eqp_message *message)
{
    eqp_message inner = {""};
    const int code = eqp_balancer_create(comm, problem, options, balancer, &inner);

    if (code == EQP_ERR_ARGUMENT) {
        eqp_message_set(message, "%s: %s", program, inner.text);
    }
    return code;
}

int app_run_node(const app_run_settings *run, MPI_Comm comm, eqp_node **node, bool *lost)
{
    eqp_node *all = NULL;
    int nranks = 1, code;

    *node = NULL;
    *lost = false;
    MPI_Comm_size(comm, &nranks);
    if (run->node < 0 || run->node == 1 || nranks == 1 || run->schedule != NULL || !run->exchange_auto) {
        return EQP_OK;
    }
    code = eqp_node_create(comm, (int)run->node, &all);
    *lost = code == EQP_ERR_MEMORY;
    if (code == EQP_OK && eqp_node_view(all)->nnodes < nranks) {
        *node = all;
    } else {
        eqp_node_free(all);
    }
    return *lost ? EQP_OK : code;
}

int app_run_check_ranks(const char *program, const app_run_settings *run, int nranks, eqp_message *message)
{
    eqp_message inner = {""};
    const char *option = "share";
    int code = app_share_check(&run->share, nranks, &inner);

    if (code == EQP_OK) {
        option = "memory-cap";
        code = app_memory_cap_check(&run->capacities, nranks, &inner);
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: --%s: %s", program, option, inner.text);
    }
    return code;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++) {
        hash = eqp_random_bits(hash, at[i], 0);
    }
    return hash;
}

int64_t app_run_settings_hash(const app_run_settings *run)
{
    const char *const text[] = {run->snapshot,     run->generate,   run->restart,       run->balance,
                                run->rebalance,    run->share_text, run->schedule_text, run->exchange_text,
                                run->compare_text, run->parts_text, run->network_text,  run->lazy_text,
                                run->memory_text};
    const double number[] = {run->dt, run->imbalance_tol, run->false_alarms, run->sample_rate, run->sample_threshold};
    const int64_t count[] = {run->steps,        run->max_particles,  run->seed,           run->sample_strategy,
                             run->output_every, run->output != NULL, run->forces != NULL, run->costs};
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        const char *word = text[i] != NULL ? text[i] : "\x01";
        hash = mix(hash, word, strlen(word) + 1);
    }
    hash = mix(hash, number, sizeof number);
    return (int64_t)(mix(hash, count, sizeof count) >> 1);
}

int app_run_check_particles(const app_run_settings *run, const char *input, int64_t n, int64_t bytes,
                            eqp_message *message)
{
    const int64_t per_byte = bytes < INT64_MAX / APP_PARTICLES_PER_BYTE ? bytes * APP_PARTICLES_PER_BYTE : INT64_MAX;
    int64_t most = run->max_particles;

    if (most == 0) {
        most = bytes == 0 ? INT64_MAX : per_byte > APP_PARTICLES_OF_A_FILE ? per_byte : APP_PARTICLES_OF_A_FILE;
    }
    APP_REFUSE_IF(n > most, message, EQP_ERR_DATA, "%s: %lld particles or nodes; the limit is %lld (--max-particles)",
                  input, (long long)n, (long long)most);
    return EQP_OK;
}

const char *app_run_input_path(const app_run_settings *run)
{
    return run->restart != NULL ? run->restart : run->snapshot;
}

bool app_run_asks(const char *value)
{
    return value != NULL && strcmp(value, "help") == 0;
}

static int list_method(eqp_table *list, const eqp_method *method)
{
    const eqp_option *option;

    EQP_CHECK(eqp_table_add(list, "%s\t%s", method->name, method->summary));
    for (int i = 0; (option = eqp_choice_option(method, i)) != NULL; i++) {
        EQP_CHECK(eqp_table_add(list, option->type == EQP_OPTION_FLAG ? "  %s\t  %s" : "  %s=\t  %s", option->name,
                                option->help));
    }
    return EQP_OK;
}

int app_run_list_methods(const eqp_methods *own, char **text)
{
    static const char *const header[] = {"method and options", "what it does"};
    const eqp_method *method;
    eqp_table *list = NULL;
    int code;

    EQP_TRY(eqp_table_create(2, header, &list));
    for (int i = 0; (method = eqp_methods_at(own, i)) != NULL; i++) {
        EQP_TRY(list_method(list, method));
    }
    for (int i = 0; (method = eqp_method_lacking(i)) != NULL; i++) {
        EQP_TRY(eqp_table_add(list, "%s\tnot built: %s", method->name, method->summary));
    }
    EQP_TRY(eqp_table_text(list, text));
done:
    eqp_table_free(list);
    return code;
}

int app_run_list_schedules(char **text)
{
    static const char *const header[] = {"method", "what it hands out"};
    const eqp_schedule_method *method;
    eqp_table *list = NULL;
    int code;

    EQP_TRY(eqp_table_create(2, header, &list));
    for (int i = 0; (method = eqp_schedule_method_at(i)) != NULL; i++) {
        EQP_TRY(eqp_table_add(list, "%s\t%s", method->name, method->summary));
    }
    EQP_TRY(eqp_table_text(list, text));
done:
    eqp_table_free(list);
    return code;
}

static int list_kind(eqp_table *list, const app_recipe_kind *kind)
{
    EQP_CHECK(eqp_table_add(list, "%s\t\t%s", kind->name, kind->help));
    for (int k = 0; k < kind->nkeys; k++) {
        EQP_CHECK(eqp_table_add(list, "  %s\t%g\t%s", kind->key[k].name, kind->key[k].value, kind->key[k].help));
    }
    return EQP_OK;
}

int app_run_list_recipes(const app_recipes *table, char **text)
{
    static const char *const header[] = {"kind and keys", "default", "what it is"};
    eqp_table *list = NULL;
    int code;

    EQP_TRY(eqp_table_create(3, header, &list));
    for (int i = 0; i < table->nkinds; i++) {
        EQP_TRY(list_kind(list, &table->kind[i]));
    }
    EQP_TRY(eqp_table_text(list, text));
done:
    eqp_table_free(list);
    return code;
}
