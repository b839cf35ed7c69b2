/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include "problem.h"

#include "compare.h"
#include "loads.h"
#include "output/report.h"

#include "../../shell/shell.h"

#include <equipoise/more/base.h>
#include <equipoise/version.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rf_result_free(rf_result *result)
{
    app_compare_free(&result->comparison);
    free(result->later);
    free(result->part);
    free(result->nearest);
}

/* Relative distance to a bound that counts as reaching it, since sums of loads are rounded. */
#define REACHED 1e-9

static int find_nearest(rf_result *r)
{
    const app_comparison *c = &r->comparison;
    rf_nearest *at = NULL;

    EQP_CHECK(eqp_array_create(&r->nearest, c->n, sizeof *r->nearest));
    for (int i = 0; i < c->n; i++) {
        const eqp_compared *row = &c->rows[i];
        if (i == 0 || row->parts != row[-1].parts) {
            at = &r->nearest[r->nnearest++];
            at->parts = row->parts;
            EQP_CHECK(rf_bound_find(r->problem, row->parts, &at->bound));
            EQP_CHECK(rf_memory_prove(r->problem->trace, &r->problem->capacities, row->parts, &at->proof));
        }
        if (row->evaluated.memory_use <= 1.0 &&
            (at->row == NULL || row->evaluated.load_max < at->row->evaluated.load_max)) {
            at->row = row;
            at->reached = row->evaluated.load_max <= at->bound.load * (1 + REACHED);
        }
    }
    return EQP_OK;
}

/* The run's row comes before the methods of its number of parts. */
int rf_result_make(const rf_judged *judged, int n, eqp_compared *rows, rf_result *result)
{
    app_comparison *c = &result->comparison;
    bool ran = judged->run.parts == 0;

    EQP_CHECK(eqp_array_create(&c->rows, n + 1, sizeof *c->rows));
    EQP_CHECK(eqp_array_create(&result->later, n + 1, sizeof *result->later));
    EQP_CHECK(eqp_array_create(&result->part, n + 1, sizeof *result->part));
    for (int i = 0; i < n; i++) {
        if (!ran && rows[i].parts == judged->run.parts) {
            result->later[c->n] = judged->run_later;
            c->rows[c->n++] = judged->run;
            ran = true;
        }
        result->later[c->n] = judged->later[i];
        result->part[c->n] = judged->part[i];
        c->rows[c->n++] = rows[i];
    }
    return find_nearest(result);
}

/* The first row of a method with this number of parts, 0: any; NULL: none. */
static const eqp_compared *find_method(const app_comparison *c, const char *method, int parts)
{
    for (int i = 0; i < c->n; i++) {
        if (strcmp(c->rows[i].method, method) == 0 && (parts == 0 || c->rows[i].parts == parts)) {
            return &c->rows[i];
        }
    }
    return NULL;
}

static int add_later(eqp_table *table, const rf_result *r, int i)
{
    const eqp_compared *row = &r->comparison.rows[i];
    const rf_later *later = &r->later[i];
    const eqp_compared *run = find_method(&r->comparison, APP_COMPARE_AS_RUN, row->parts);
    const double was = run != NULL ? r->later[run - r->comparison.rows].seconds : 0.0;
    const bool chosen = row->chosen[0] != '\0';

    EQP_CHECK(eqp_table_add(table, "%d\t%s%s%s%s", row->parts, row->method, chosen ? " (" : "", row->chosen,
                            chosen ? ")" : ""));
    EQP_CHECK(eqp_table_add(table, "%.2f%%\t%.2f%%\t%.4g", 100.0 * later->mean, 100.0 * later->most, later->seconds));
    EQP_CHECK(was > 0 ? eqp_table_add(table, "%+.1f%%", 100.0 * (1.0 - later->seconds / was))
                      : eqp_table_add(table, "%s", ""));
    return later->moved >= 0 ? eqp_table_add(table, "%" PRId64, later->moved) : eqp_table_add(table, "%s", "");
}

/* Quality of the maps in all later phases. */
static int later_table(const rf_result *r, char **text)
{
    const char *const header[] = {
        "parts", "method", "mean", "worst", r->problem->trace->timed ? "load max s" : "load max", "vs run", "moved"};
    enum { COLUMNS = sizeof header / sizeof header[0] };
    const app_comparison *c = &r->comparison;
    eqp_table *table = NULL;
    int code;

    EQP_TRY(eqp_table_create(COLUMNS, header, &table));
    for (int i = 0; i < c->n; i++) {
        for (int k = 0; k < COLUMNS && i > 0 && c->rows[i].parts != c->rows[i - 1].parts; k++) {
            EQP_TRY(eqp_table_add(table, "%s", ""));
        }
        EQP_TRY(add_later(table, r, i));
    }
    EQP_TRY(eqp_table_text(table, text));
done:
    eqp_table_free(table);
    return code;
}

static int64_t count_later(const rf_result *r)
{
    return r->problem->trace->nphases - r->problem->at - r->problem->ncycle;
}

static void print_title(const rf_result *r)
{
    const rf_problem *p = r->problem;
    const rf_trace *t = p->trace;

    printf("equipoise-compare %s: %s, %" PRId64 " items", eqp_version(), t->format, t->n);
    if (p->nmoving < t->n) {
        printf(" (%" PRId64 " of them fixed)", t->n - p->nmoving);
    }
    printf(", %" PRId64 " edges, %" PRId64 " phase%s", t->edge_first[t->nphases], t->nphases, app_plural(t->nphases));
    if (t->nranks > 0) {
        printf(", %d rank%s", t->nranks, app_plural(t->nranks));
    }
    printf("; maps made of phase %" PRId64, t->phase[p->at]);
    if (p->ncycle > 1) {
        printf(" to %" PRId64 ", a cycle", t->phase[p->at + p->ncycle - 1]);
    }
    putchar('\n');
    if (t->note.text[0] != '\0') {
        printf("%s\n", t->note.text);
    }
    if (t->left_out > 0) {
        printf("%" PRId64 " messages are left out: they are not between items of the trace\n", t->left_out);
    }
}

/* Prints the lower bound of the largest load, and the closest method. */
static void print_bound(const rf_result *r, const rf_nearest *near)
{
    const bool timed = r->problem->trace->timed;

    printf("%d part%s: no largest load is below %.6g%s (%s); ", near->parts, near->parts == 1 ? "" : "s",
           (timed ? 1e3 : 1.0) * near->bound.load, timed ? " ms" : "", near->bound.why);
    if (near->row == NULL) {
        printf("no map fits into memory%s%s\n",
               near->proof.text[0] != '\0' ? ": " : ", but nothing proves that none can", near->proof.text);
    } else if (near->reached) {
        printf("%s reaches it\n", near->row->method);
    } else {
        printf("%s comes nearest, %.2g%% above\n", near->row->method,
               100.0 * (near->row->evaluated.load_max / near->bound.load - 1.0));
    }
}

int rf_result_print(const rf_result *r)
{
    APP_FREED char *later = NULL;

    EQP_CHECK(count_later(r) > 0 ? later_table(r, &later) : EQP_OK);
    print_title(r);
    putchar('\n');
    EQP_CHECK(app_compare_print(&r->comparison));
    putchar('\n');
    for (int i = 0; i < r->nnearest; i++) {
        if (r->nearest[i].bound.load > 0) {
            print_bound(r, &r->nearest[i]);
        }
    }
    if (later != NULL) {
        printf("\nThe same maps in the %" PRId64 " later phases: imbalance, and the sum of the largest loads\n\n%s"
               "moved: items that were on another rank; as-run: as they were then\n",
               count_later(r), later);
    }
    return EQP_OK;
}

enum { BOUND_FIELDS = 5 };

/* field: [nnearest][BOUND_FIELDS] */
static void list_bounds(const rf_result *r, eqp_field *field)
{
    for (int i = 0; i < r->nnearest; i++) {
        const rf_nearest *near = &r->nearest[i];
        const eqp_field of[BOUND_FIELDS] = {
            eqp_field_count("parts", near->parts),
            eqp_field_real("load_max", near->bound.load),
            eqp_field_text("why", near->bound.why),
            eqp_field_text("nearest", near->row != NULL ? near->row->method : NULL),
            eqp_field_bool("reached", near->reached),
        };
        memcpy(field + (ptrdiff_t)i * BOUND_FIELDS, of, sizeof of);
    }
}

static int set_head(const rf_result *r, const char *command, const eqp_field *bounds, eqp_report *report)
{
    const rf_trace *t = r->problem->trace;
    const eqp_field field[] = {
        eqp_field_text("command", command),
        eqp_field_count("seed", r->settings->run.seed),
        eqp_field_count("ranks", r->problem->nranks),
        eqp_field_count("particles", t->n),
        eqp_field_text("input", t->format),
        eqp_field_count("fixed", t->n - r->problem->nmoving),
        eqp_field_count("edges", t->edge_first[t->nphases]),
        eqp_field_count("messages_left_out", t->left_out),
        eqp_field_count("phases", t->nphases),
        eqp_field_count("phase", t->phase[r->problem->at]),
        eqp_field_count("cycle", r->problem->ncycle),
        eqp_field_text("load_unit", t->timed ? "s" : "not said"),
        eqp_field_list("bounds", r->nnearest, BOUND_FIELDS, bounds),
        eqp_field_count("trace_ranks", t->nranks),
    };

    EQP_CHECK(app_report_set_all(report, (int)(sizeof field / sizeof field[0]), field));
    EQP_CHECK(app_report_set_network(report, &r->comparison.network));
    return app_report_set_provenance(report);
}

/* Writes phases.csv: one row for each row of compare.csv. */
static int write_later(const rf_result *r, eqp_message *message)
{
    const app_comparison *c = &r->comparison;
    EQP_CSV_FREED eqp_csv *csv = NULL;

    EQP_CHECK(eqp_csv_create(r->settings->run.report, "phases.csv",
                             "method,parts,phases,imbalance_mean,imbalance_max,seconds,moved", &csv, message));
    for (int i = 0; i < c->n; i++) {
        const rf_later *later = &r->later[i];
        const eqp_field field[] = {
            eqp_field_text("method", c->rows[i].method),
            eqp_field_count("parts", c->rows[i].parts),
            eqp_field_count("phases", count_later(r)),
            eqp_field_real("imbalance_mean", later->mean),
            eqp_field_real("imbalance_max", later->most),
            eqp_field_real("seconds", later->seconds),
            later->moved >= 0 ? eqp_field_count("moved", later->moved) : eqp_field_real("moved", NAN),
        };
        EQP_CHECK(eqp_csv_add(csv, (int)(sizeof field / sizeof field[0]), field));
    }
    return eqp_csv_finish(csv, message);
}

/* Writes the run's loads.csv, for other programs of the project: the load of each rank in each phase. */
static int write_loads(const rf_result *r, eqp_message *message)
{
    const rf_trace *t = r->problem->trace;
    APP_FREED eqp_rank_row *row = NULL;
    EQP_CSV_FREED eqp_csv *csv = NULL;

    EQP_CHECK(eqp_array_create(&row, t->nranks, sizeof *row));
    EQP_CHECK(app_loads_create(r->settings->run.report, &csv, message));
    for (int64_t p = 0; p < t->nphases; p++) {
        for (int k = 0; k < t->nranks; k++) {
            row[k] = (eqp_rank_row){.speed = 1.0};
        }
        for (int64_t i = 0; i < t->n; i++) {
            eqp_rank_row *of = &row[rf_trace_rank(t, p)[i]];
            of->load += rf_trace_load(t, p)[i];
            of->particles += !signbit(rf_trace_load(t, p)[i]) ? 1.0 : 0.0;
        }
        for (int k = 0; k < t->nranks; k++) {
            row[k].predicted = row[k].load;
            row[k].targets = row[k].particles;
            EQP_CHECK(app_loads_add(csv, p, k, APP_COMPARE_AS_RUN, &row[k]));
        }
    }
    return eqp_csv_finish(csv, message);
}

int rf_result_report(const rf_result *r, const char *command, eqp_message *message)
{
    const char *dir = r->settings->run.report;
    eqp_report *report = NULL;
    eqp_field *bounds = NULL;
    int code;

    EQP_TRY(eqp_array_create(&bounds, (int64_t)r->nnearest * BOUND_FIELDS, sizeof *bounds));
    list_bounds(r, bounds);
    EQP_TRY(eqp_report_create("equipoise-compare", dir, &report, message));
    EQP_TRY(set_head(r, command, bounds, report));
    EQP_TRY(app_compare_add(report, r->comparison.n, r->comparison.rows, NULL));
    EQP_TRY(write_later(r, message));
    EQP_TRY(r->problem->trace->nranks > 0 ? write_loads(r, message) : EQP_OK);
    EQP_TRY(eqp_report_finish(report, message));
done:
    eqp_report_free(report);
    free(bounds);
    return code;
}

static int write_csv(const rf_result *r, const int *part, eqp_message *message)
{
    const rf_trace *t = r->problem->trace;
    const bool named = t->name != NULL && !t->names_are_json;
    EQP_CSV_FREED eqp_csv *csv = NULL;

    EQP_CHECK(eqp_csv_create(NULL, r->settings->run.map, named ? "item,part,name" : "item,part", &csv, message));
    for (int64_t i = 0; i < t->n; i++) {
        const eqp_field field[] = {eqp_field_count("item", t->id[i]), eqp_field_count("part", part[i]),
                                   eqp_field_text("name", named ? t->name[i] : NULL)};
        EQP_CHECK(eqp_csv_add(csv, named ? 3 : 2, field));
    }
    return eqp_csv_finish(csv, message);
}

/* The row of the method of --map; NULL: it was not compared. */
static const eqp_compared *find_row(const rf_result *r)
{
    const app_comparison *c = &r->comparison;
    const app_compare_look look = app_comparison_look(c);

    return r->settings->method != NULL ? find_method(c, r->settings->method, 0)
                                       : app_compare_winner(c->n, c->rows, &look);
}

int rf_result_map(const rf_result *r, eqp_message *message)
{
    const rf_problem *p = r->problem;
    const rf_trace *t = p->trace;
    const eqp_compared *row = find_row(r);
    APP_FREED int *run = NULL;
    const int *part;

    APP_REFUSE_IF(row == NULL && r->settings->method == NULL, message, EQP_ERR_ARGUMENT,
                  "equipoise-compare: --map: no map that was compared fits into memory; --method METHOD "
                  "writes one all the same");
    APP_REFUSE_IF(row == NULL, message, EQP_ERR_UNKNOWN,
                  "equipoise-compare: --method: '%.60s' is none of the methods that were compared",
                  r->settings->method);
    part = r->part[row - r->comparison.rows];
    if (part == NULL) {
        EQP_CHECK(eqp_array_create(&run, t->n, sizeof *run));
        for (int64_t i = 0; i < t->n; i++) {
            run[i] = rf_trace_rank(t, p->at)[i];
        }
        part = run;
    }
    return strstr(r->settings->run.map, "%p") != NULL ? rf_vt_write(t, p->at, part, r->settings->run.map, message)
                                                      : write_csv(r, part, message);
}
