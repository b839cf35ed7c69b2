/* SPDX-License-Identifier: BSD-3-Clause */
/* equipoise-compare: divides the recorded run of any code by every method. */
#include "drive/output.h"
#include "drive/problem.h"

#include "../report/compare.h"
#include "../shell/shell.h"
#include "../shell/signals.h"

#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char program_name[] = "equipoise-compare";

typedef struct referee {
    MPI_Comm comm;
    rf_settings settings; /* completed from the trace */
    rf_trace *trace;
    rf_problem problem;
    rf_judged judged;
    eqp_balancer *balancer;
    int rank;
    int left_out; /* methods */
    int64_t own_parts[1];
} referee;

/* Every rank reads the files, so that all have the same trace. */
static int read_trace(referee *r, eqp_message *message)
{
    const rf_settings *s = &r->settings;
    const rf_trace_known known = {.edges = s->edges, .phase = s->has_phase ? s->phase : -1, .nranks = (int)s->ranks};
    eqp_message inner = {""};
    const int code = rf_trace_read(s->npaths, s->path, &known, &r->trace, &inner);

    if (code != EQP_OK) {
        eqp_message_set(message, "%s: %s", program_name, inner.text[0] != '\0' ? inner.text : eqp_error_text(code));
    }
    return eqp_agree(r->comm, code, message);
}

static int find_phase(const referee *r, int64_t *at, eqp_message *message)
{
    const rf_settings *s = &r->settings;

    *at = s->has_phase ? rf_trace_find_phase(r->trace, s->phase) : 0;
    APP_REFUSE_IF(*at < 0, message, EQP_ERR_ARGUMENT, "%s: --phase: the trace has no phase %lld", program_name,
                  (long long)s->phase);
    APP_REFUSE_IF(*at + s->cycle > r->trace->nphases, message, EQP_ERR_ARGUMENT,
                  "%s: --cycle: the trace has %lld phases from there on, not %lld", program_name,
                  (long long)(r->trace->nphases - *at), (long long)s->cycle);
    return EQP_OK;
}

/* Default of --parts: the number of ranks of the trace. */
static int find_parts(referee *r, eqp_message *message)
{
    app_run_settings *run = &r->settings.run;

    if (run->parts_text == NULL) {
        r->own_parts[0] = r->trace->nranks > 0 ? r->trace->nranks : r->settings.ranks;
        APP_REFUSE_IF(r->own_parts[0] == 0, message, EQP_ERR_ARGUMENT, "%s: the trace has no ranks: give --parts",
                      program_name);
        run->parts = r->own_parts;
        run->nparts_list = 1;
    }
    APP_REFUSE_IF(r->settings.run.map != NULL && strstr(r->settings.run.map, "%p") != NULL &&
                      (!r->trace->names_are_json || run->parts[0] != r->trace->nranks),
                  message, EQP_ERR_ARGUMENT,
                  "%s: --map: files for vt's OfflineLB come from vt's load data, for as many parts", program_name);
    return EQP_OK;
}

static bool reads(const void *trace, const char *path)
{
    return rf_trace_reads(trace, path);
}

/* Refuses outputs that are files of the trace. */
static int check_outputs(const referee *r, eqp_message *message)
{
    const app_run_settings *run = &r->settings.run;
    const int nfiles = run->map != NULL && strstr(run->map, "%p") != NULL ? r->trace->nranks : 0;
    APP_FREED char *path = NULL;

    EQP_CHECK(app_places_spare(program_name, run, &app_no_output, reads, r->trace, message));
    for (int part = 0; part < nfiles; part++) {
        EQP_CHECK(rf_vt_path(run->map, part, &path));
        if (rf_trace_reads(r->trace, path)) {
            eqp_message_set(message, "%s: %s: the input would be overwritten", program_name, path);
            EQP_CHECK(EQP_ERR_ARGUMENT);
        }
        free(path);
        path = NULL;
    }
    return EQP_OK;
}

/* Leaves out methods that need positions if the trace has none. */
static int choose_methods(referee *r, eqp_message *message)
{
    app_run_settings *run = &r->settings.run;
    int kept = 0;

    for (int i = 0; i < run->ncompare; i++) {
        if (r->trace->centre != NULL || (run->compare[i].method->flags & EQP_NEEDS_POINTS) == 0) {
            run->compare[kept++] = run->compare[i];
        }
    }
    r->left_out = run->ncompare - kept;
    run->ncompare = kept;
    APP_REFUSE_IF(kept == 0, message, EQP_ERR_ARGUMENT,
                  "%s: --compare: the trace has no positions, which all of these methods need", program_name);
    return EQP_OK;
}

/* A cap needs a trace with memory, and a list of caps a number of parts that it divides. */
static int check_memory(const referee *r, eqp_message *message)
{
    const app_run_settings *run = &r->settings.run;
    const bool capped = run->capacities.n > 0 || run->capacities.of_mean > 0;
    eqp_message inner = {""};
    int code = EQP_OK;

    if (capped && !rf_memory_known(r->trace, capped)) {
        eqp_message_set(&inner, "the trace has no memory: a table has it in columns 'memory', 'block' and "
                                "'block_bytes', or 'bytes'");
        EQP_TRY(EQP_ERR_ARGUMENT);
    }
    for (int i = 0; i < run->nparts_list; i++) {
        EQP_TRY(app_memory_cap_check(&run->capacities, run->parts[i], &inner));
    }
done:
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: --memory-cap: %s", program_name, inner.text);
    }
    return code;
}

static int prepare(referee *r, eqp_message *message)
{
    int64_t at = 0;
    int code;

    EQP_TRY(find_phase(r, &at, message));
    EQP_TRY(find_parts(r, message));
    EQP_TRY(check_outputs(r, message));
    EQP_TRY(choose_methods(r, message));
    EQP_TRY(check_memory(r, message));
    EQP_TRY(rf_problem_create(r->comm, r->trace, at, (int)r->settings.cycle, &r->settings.run.capacities,
                              (uint64_t)r->settings.run.seed, &r->problem));
    EQP_TRY(r->problem.nmoving > 0 ? EQP_OK : EQP_ERR_DATA);
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s: %s", program_name,
                        code == EQP_ERR_DATA ? "no item of the trace may move" : eqp_error_text(code));
    }
    return eqp_agree(r->comm, code, message);
}

static int take_map(void *user, const eqp_compared *row, const eqp_map *map, const eqp_placement *placement)
{
    referee *r = user;
    int code;

    EQP_TRY(rf_problem_gather(&r->problem, row->parts, map, placement));
    code = eqp_agree(r->comm, r->rank == 0 ? rf_judge_map(&r->problem, row->parts, &r->judged) : EQP_OK, NULL);
done:
    return code;
}

static void show(void *user, int n, const eqp_compared *rows)
{
    const referee *r = user;

    if (r->rank == 0 && r->settings.run.progress && n > 0) {
        fprintf(stderr, "%s: compared into %d part%s\n", program_name, rows[0].parts, app_plural(rows[0].parts));
    }
}

static int compare(referee *r, rf_result *result, eqp_message *message)
{
    app_run_settings *run = &r->settings.run;
    const eqp_problem problem = rf_problem_functions(&r->problem);
    app_run_settings first = *run;
    eqp_compared *rows = NULL;
    int code;

    app_compare_first(&first);
    EQP_TRY(app_network_measure(r->comm, &run->network, message));
    result->comparison.network = run->network.network;
    const eqp_network scaled = rf_problem_network(&r->problem, &run->network.network);
    const eqp_exchange_plan *plan = run->exchange_auto ? NULL : &run->exchange;
    const eqp_balancer_options options = app_run_balancing(&first);
    const eqp_comparison wanted = {.nchoices = run->ncompare,
                                   .choice = run->compare,
                                   .ncounts = run->nparts_list,
                                   .parts = run->parts,
                                   .network = &scaled,
                                   .plan = plan,
                                   .capacities = run->capacities,
                                   .on_rows = show,
                                   .on_map = take_map,
                                   .user = r};
    EQP_TRY(app_run_balancer_create(program_name, r->comm, &problem, &options, &r->balancer, message));
    EQP_TRY(eqp_balancer_compare(r->balancer, &wanted, &rows, message));
    for (int i = 0; i < run->ncompare * run->nparts_list; i++) {
        rf_problem_unscale(&r->problem, &rows[i]);
    }
    if (r->rank == 0) {
        code = r->trace->nranks > 0 ? rf_judge_run(&r->problem, &scaled, plan, &r->judged) : EQP_OK;
        code = code == EQP_OK ? rf_result_make(&r->judged, run->ncompare * run->nparts_list, rows, result) : code;
    }
    EQP_TRY(eqp_agree(r->comm, code, NULL));
done:
    free(rows);
    return code;
}

static int print(const referee *r, const rf_result *result, eqp_message *message)
{
    int code = EQP_OK;

    if (!r->settings.run.quiet) {
        EQP_TRY(rf_result_print(result));
        if (r->left_out > 0) {
            printf("methods left out, as they need positions, which the trace has not: %d\n", r->left_out);
        }
    }
    code = app_check_printed(program_name, message);
done:
    return code;
}

/* On rank 0. */
static int write_all(const referee *r, const rf_result *result, const char *command, eqp_message *message)
{
    app_signals_keep(); /* completes the present file */
    if (r->settings.run.map != NULL) {
        EQP_CHECK(rf_result_map(result, message));
    }
    if (r->settings.run.report != NULL) {
        EQP_CHECK(rf_result_report(result, command, message));
    }
    return print(r, result, message);
}

static int work(referee *r, const char *command, eqp_message *message)
{
    rf_result result = {
        .settings = &r->settings,
        .problem = &r->problem,
        .comparison = {.program = program_name, .run = &r->settings.run, .comm = r->comm, .recorded = true}};
    int code;

    EQP_TRY(read_trace(r, message));
    result.comparison.unitless = !r->trace->timed;
    EQP_TRY(prepare(r, message));
    EQP_TRY(compare(r, &result, message));
    EQP_TRY(eqp_agree(r->comm, r->rank == 0 ? write_all(r, &result, command, message) : EQP_OK, message));
done:
    rf_result_free(&result);
    return code;
}

static int simulate(MPI_Comm comm, const void *values, const char *command, int *stopped, eqp_message *message)
{
    referee r = {.comm = comm, .settings = *(const rf_settings *)values};
    app_places places;
    int code;

    (void)stopped;
    r.judged.keep = r.settings.run.map != NULL;
    MPI_Comm_rank(comm, &r.rank);
    code = app_places_take(comm, program_name, &r.settings.run, &app_no_output, NULL, &places, message);
    if (code == EQP_OK) {
        code = work(&r, command, message);
        app_places_free(&places);
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s: %s", program_name, eqp_error_text(code));
    }
    eqp_balancer_free(r.balancer);
    rf_judged_free(&r.judged);
    rf_problem_free(&r.problem);
    rf_trace_free(r.trace);
    return code;
}

static int answer(const void *values, char **text, eqp_message *message)
{
    (void)message;
    return app_run_asks(((const rf_settings *)values)->run.compare_text) ? app_run_list_methods(&rf_methods, text)
                                                                         : EQP_OK;
}

int main(int argc, char **argv)
{
    rf_settings settings = {.run = {.snapshot = NULL}};
    const app_program program = {rf_settings_table(), &settings, answer, rf_settings_complete, simulate, NULL,
                                 {1e-4, 1.0, 0.0},    NULL};
    const int status = app_main(&program, MPI_COMM_WORLD, argc, argv);

    app_run_settings_free(&settings.run);
    return status;
}
