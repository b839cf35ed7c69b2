/* SPDX-License-Identifier: BSD-3-Clause */
#include "compare.h"

#include "../shell/shell.h"

#include <equipoise/more/whatif.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE 1e-9   /* smaller time differences count as equal */
#define NO_GAIN 0.01 /* smaller gains do not justify a more complex method */
#define HALF 0.5     /* efficiency below which ranks are wasted */
#define SIMPLE "sfc" /* the weighted curve, which costs almost nothing */
#define STRAW_MAN "count"
#define AS_RUN APP_COMPARE_AS_RUN

/* Steps without work count as efficient. */
static double efficiency_of(const eqp_compared *row)
{
    const eqp_evaluated *e = &row->evaluated;

    return e->step_seconds > 0 ? e->step_seconds_ideal / e->step_seconds : 1.0;
}

static bool has_phases(const eqp_compared *row)
{
    return row->phases.n > 1;
}

enum { PHASE_FIELDS = 9 };

/* field: [phases][PHASE_FIELDS] */
static void list_phases(const eqp_compared *row, eqp_field *field)
{
    for (int k = 0; k < row->phases.n; k++) {
        const eqp_evaluated *turn = &row->phase[k];
        const eqp_field of[PHASE_FIELDS] = {
            eqp_field_count("phase", k),
            eqp_field_real("times", row->phases.times[k]),
            eqp_field_real("imbalance", row->cycle.imbalance[k]),
            eqp_field_count("ghosts_total", turn->ghosts_total),
            eqp_field_count("ghosts_max", turn->ghosts_max),
            eqp_field_count("bytes_total", turn->bytes_total),
            eqp_field_count("bytes_max", turn->bytes_max),
            eqp_field_count("messages_max", turn->messages_max),
            eqp_field_real("step_seconds", turn->step_seconds),
        };
        memcpy(field + (ptrdiff_t)k * PHASE_FIELDS, of, sizeof of);
    }
}

int app_report_set_all(eqp_report *report, int n, const eqp_field *field)
{
    int code = EQP_OK;

    for (int i = 0; i < n && code == EQP_OK; i++) {
        code = eqp_report_set(report, field[i]);
    }
    return code;
}

int app_report_set_provenance(eqp_report *report)
{
    const app_provenance from = app_provenance_take();
    const eqp_field field[] = {eqp_field_text("host", from.host), eqp_field_text("date", from.date),
                               eqp_field_text("mpi", from.mpi), eqp_field_text("compiler", from.compiler),
                               eqp_field_text("commit", from.commit)};

    return app_report_set_all(report, (int)(sizeof field / sizeof field[0]), field);
}

int app_report_set_network(eqp_report *report, const eqp_network *network)
{
    const eqp_field field[] = {
        eqp_field_real("network_alpha", network->alpha),   eqp_field_real("network_beta", network->beta),
        eqp_field_count("network_node", network->node),    eqp_field_real("network_reduce", network->reduce),
        eqp_field_real("network_gather", network->gather), eqp_field_real("network_gather_byte", network->gather_byte)};

    return app_report_set_all(report, (int)(sizeof field / sizeof field[0]), field);
}

/* Fields of every row; some rows have four more. */
enum { ALWAYS = 26 };

int app_compare_add(eqp_report *report, int n, const eqp_compared *rows, const int *grain_size)
{
    int code = EQP_OK;

    for (int i = 0; i < n && code == EQP_OK; i++) {
        const eqp_compared *row = &rows[i];
        const eqp_evaluated *e = &row->evaluated;
        eqp_field phases[EQP_CYCLE_PHASES * PHASE_FIELDS];
        char plan[EQP_EXCHANGE_NAME_SIZE];
        eqp_exchange_plan_name(&e->plan, plan);
        list_phases(row, phases);
        eqp_field fields[ALWAYS + 4] = {
            eqp_field_text("method", row->method),
            eqp_field_count("parts", row->parts),
            eqp_field_real("imbalance", e->imbalance),
            eqp_field_real("load_max", e->load_max),
            eqp_field_real("load_mean", e->load_mean),
            eqp_field_count("ghosts_total", e->ghosts_total),
            eqp_field_count("ghosts_max", e->ghosts_max),
            eqp_field_count("neighbours_max", e->neighbours_max),
            eqp_field_count("units", row->units),
            eqp_field_real("sample_rate", row->sample_rate),
            eqp_field_count("split_owners", row->split_owners),
            eqp_field_text("exchange", plan),
            eqp_field_real("balance_seconds", row->balance_seconds),
            eqp_field_real("step_seconds", e->step_seconds),
            eqp_field_real("step_seconds_ideal", e->step_seconds_ideal),
            eqp_field_real("imbalance_next", row->imbalance_next),
            eqp_field_real("exchange_seconds", e->exchange_seconds),
            eqp_field_count("messages_max", e->messages_max),
            eqp_field_count("bytes_total", e->bytes_total),
            eqp_field_count("bytes_max", e->bytes_max),
            eqp_field_text("chosen", row->chosen[0] != '\0' ? row->chosen : NULL),
            eqp_field_real("step_next", row->step_next),
            eqp_field_real("exchange_hidden", e->hidden_seconds),
            eqp_field_real("overhead_seconds", e->overhead_seconds),
            eqp_field_real("memory_max", e->memory_max),
            eqp_field_real("memory_use", e->memory_use),
        };
        int nfields = ALWAYS;
        if (has_phases(row)) {
            fields[nfields++] = eqp_field_real("cycle_efficiency", row->cycle.efficiency);
            fields[nfields++] = eqp_field_real("imbalance_worst", row->cycle.worst);
            fields[nfields++] = eqp_field_list("phases", row->phases.n, PHASE_FIELDS, phases);
        }
        if (grain_size != NULL) {
            fields[nfields++] = eqp_field_count("group_size", grain_size[row->grain]);
        }
        code = eqp_report_add_compare(report, nfields, fields);
    }
    return code;
}

/* Rows with the same number of parts, of all methods. */
typedef struct group {
    int n;
    const eqp_compared *row; /* [n] */
} group;

static group group_of(int n, const eqp_compared *rows)
{
    group g = {1, rows};

    while (g.n < n && rows[g.n].parts == rows[0].parts) {
        g.n++;
    }
    return g;
}

static const eqp_compared *find(const group *g, const char *method)
{
    for (int i = 0; i < g->n; i++) {
        if (strcmp(g->row[i].method, method) == 0) {
            return &g->row[i];
        }
    }
    return NULL;
}

static double imbalance_of(const eqp_compared *row)
{
    return row->evaluated.imbalance;
}

/* True if a map fits into memory, or that is unknown. */
static bool fits(const eqp_compared *row)
{
    return row->evaluated.memory_use <= 1.0;
}

static double ghosts_of(const eqp_compared *row)
{
    return (double)row->evaluated.ghosts_total;
}

static double seconds_of(const eqp_compared *row)
{
    return row->evaluated.step_seconds;
}

static const char *mark(const group *g, const eqp_compared *row, double (*value)(const eqp_compared *row))
{
    double least = INFINITY;

    for (int i = 0; i < g->n; i++) {
        least = fmin(least, value(&g->row[i]));
    }
    return value(row) <= least * (1 + ALIKE) ? "*" : " ";
}

/* Fraction of another method's step time that this one saves. */
static double gain_of(const eqp_compared *row, const eqp_compared *other)
{
    return other != NULL && seconds_of(other) > 0 ? 1.0 - seconds_of(row) / seconds_of(other) : NAN;
}

static int add_percent(eqp_table *table, const char *format, double share)
{
    return isfinite(share) ? eqp_table_add(table, format, 100.0 * share) : eqp_table_add(table, "%s", "");
}

/* Options that decide the columns of a table. */
typedef struct columns {
    app_compare_look look;
    bool cycle, memory;
} columns;

static int add_memory(eqp_table *table, const eqp_compared *row)
{
    static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    double bytes = row->evaluated.memory_max;
    int k = 0;

    while (bytes >= 999.5 && k < 5) {
        bytes /= 1000.0;
        k++;
    }
    return eqp_table_add(table, "%.3g %s%s", bytes, unit[k], fits(row) ? " " : "!");
}

static int add_work(eqp_table *table, const group *g, const eqp_compared *row, const columns *c)
{
    const eqp_evaluated *e = &row->evaluated;
    const bool chosen = row->chosen[0] != '\0';

    EQP_CHECK(eqp_table_add(table, "%d\t%s%s%s%s", row->parts, row->method, chosen ? " (" : "", row->chosen,
                            chosen ? ")" : ""));
    EQP_CHECK(c->look.grain_size != NULL ? eqp_table_add(table, "%d", c->look.grain_size[row->grain]) : EQP_OK);
    EQP_CHECK(eqp_table_add(table, "%.2f%%%s", 100.0 * e->imbalance, mark(g, row, imbalance_of)));
    EQP_CHECK(c->cycle ? add_percent(table, "%.1f%%", has_phases(row) ? row->cycle.efficiency : NAN) : EQP_OK);
    EQP_CHECK(add_percent(table, "%.2f%%", row->imbalance_next));
    EQP_CHECK(eqp_table_add(table, "%lld%s\t%lld\t%d", (long long)e->ghosts_total, mark(g, row, ghosts_of),
                            (long long)e->ghosts_max, e->neighbours_max));
    return c->memory ? add_memory(table, row) : EQP_OK;
}

static int add_time(eqp_table *table, const group *g, const eqp_compared *row, const columns *c)
{
    char plan[EQP_EXCHANGE_NAME_SIZE];

    eqp_exchange_plan_name(&row->evaluated.plan, plan);
    EQP_CHECK(
        eqp_table_add(table, "%.4g%s", (c->look.unitless ? 1.0 : 1e3) * seconds_of(row), mark(g, row, seconds_of)));
    EQP_CHECK(add_percent(table, "%.1f%%", efficiency_of(row)));
    EQP_CHECK(add_percent(table, "%+.1f%%", gain_of(row, find(g, STRAW_MAN))));
    EQP_CHECK(add_percent(table, "%+.1f%%", gain_of(row, find(g, SIMPLE))));
    return eqp_table_add(table, "%.3g\t%s", row->balance_seconds, plan);
}

static void print_legend(FILE *stream, const columns *c)
{
    fputs("* the best of its number of parts; most: ghosts of one part; vs: by how much the step is shorter\n"
          "balance: CPU seconds of the largest rank of this run for survey, units, assignment and traces\n",
          stream);
    if (c->cycle) {
        fputs("imbalance, ghosts, step: of one cycle; cycle eff.: mean load over largest load, each summed over its "
              "phases\n",
              stream);
    }
    if (c->look.grain_size != NULL) {
        fputs("group: most particles of an owner, the best for the method; balance: with trying all\n", stream);
    }
    if (c->memory) {
        fputs("memory: of the part that needs most; ! more than a part has: not recommended\n", stream);
    }
}

static columns find_columns(int n, const eqp_compared *rows, const app_compare_look *look)
{
    columns c = {.look = look != NULL ? *look : (app_compare_look){.memory = false}};

    for (int i = 0; i < n; i++) {
        c.cycle = c.cycle || has_phases(&rows[i]);
        c.memory = c.memory || rows[i].evaluated.memory_use > 0 || (c.look.memory && rows[i].evaluated.memory_max > 0);
    }
    return c;
}

static int create_table(const columns *c, int *ncolumns, eqp_table **table)
{
    const struct {
        const char *name;
        bool wanted;
    } all[] = {{"parts", true},
               {"method", true},
               {"group", c->look.grain_size != NULL},
               {"imbalance", true},
               {"cycle eff.", c->cycle},
               {"next", true},
               {"ghosts", true},
               {"most", true},
               {"neighbours", true},
               {"memory", c->memory},
               {c->look.unitless ? "step" : "step ms", true},
               {"efficiency", true},
               {"vs count", true},
               {"vs sfc", true},
               {"balance s", true},
               {"exchange", true}};
    const char *header[sizeof all / sizeof all[0]];

    *ncolumns = 0;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        if (all[k].wanted) {
            header[(*ncolumns)++] = all[k].name;
        }
    }
    return eqp_table_create(*ncolumns, header, table);
}

int app_compare_table(FILE *stream, int n, const eqp_compared *rows, const app_compare_look *look)
{
    const columns c = find_columns(n, rows, look);
    eqp_table *table = NULL;
    char *text = NULL;
    int ncolumns, code;

    EQP_TRY(create_table(&c, &ncolumns, &table));
    for (int i = 0; i < n;) {
        const group g = group_of(n - i, rows + i);
        for (int k = 0; k < ncolumns && i > 0; k++) {
            EQP_TRY(eqp_table_add(table, "%s", ""));
        }
        for (int k = 0; k < g.n; k++) {
            EQP_TRY(add_work(table, &g, &g.row[k], &c));
            EQP_TRY(add_time(table, &g, &g.row[k], &c));
        }
        i += g.n;
    }
    EQP_TRY(eqp_table_text(table, &text));
    fputs(text, stream);
    print_legend(stream, &c);
done:
    free(text);
    eqp_table_free(table);
    return code;
}

/* True if the first map is preferable: it fits into memory, or needs less, or is faster by a margin. */
static bool is_better(const eqp_compared *row, const eqp_compared *best, double margin)
{
    if (!fits(row) || !fits(best)) {
        return row->evaluated.memory_use < best->evaluated.memory_use;
    }
    return seconds_of(row) < seconds_of(best) * margin;
}

/* The fastest map of a group that fits, else the one that needs the least memory. `auto` takes a map that another row
 * also shows, so that row is named if it is as fast. The run's map, and then the curve, are named if they are nearly as
 * fast. */
static const eqp_compared *winner(const group *g, const app_compare_look *look)
{
    const double enough = look != NULL && look->exact ? ALIKE : NO_GAIN;
    const eqp_compared *const simpler[] = {find(g, AS_RUN), find(g, SIMPLE)}, *best = &g->row[0];

    for (int i = 1; i < g->n; i++) {
        const eqp_compared *row = &g->row[i];
        const double margin = best->chosen[0] != '\0' ? 1 + ALIKE : 1 - ALIKE;
        best = is_better(row, best, margin) ? row : best;
    }
    for (int k = 0; k < 2; k++) {
        if (simpler[k] != NULL && fits(simpler[k]) && seconds_of(simpler[k]) <= seconds_of(best) * (1 + enough)) {
            return simpler[k];
        }
    }
    return best;
}

const eqp_compared *app_compare_winner(int n, const eqp_compared *rows, const app_compare_look *look)
{
    const group g = n > 0 ? group_of(n, rows) : (group){0, rows};

    const eqp_compared *best = n > 0 ? winner(&g, look) : NULL;

    return best != NULL && fits(best) ? best : NULL;
}

/* Facts for the sentences of the verdict. */
typedef struct findings {
    const eqp_compared *first;   /* winner at the smallest number of parts */
    const eqp_compared *beyond;  /* at the next larger number of parts after `last`; NULL: none */
    const eqp_compared *last;    /* at the largest number with at least half efficiency; NULL: none */
    const eqp_compared *fastest; /* over all numbers */
    const eqp_compared *misfit;  /* at the largest number of parts at which no map fits into memory; NULL: none */
    bool work, parts;            /* there is work; there are several numbers of parts */
    group last_group;
} findings;

static findings look_through(int n, const eqp_compared *rows, const app_compare_look *look)
{
    findings f = {0};

    for (int i = 0; i < n;) {
        const group g = group_of(n - i, rows + i);
        const eqp_compared *best = winner(&g, look);
        i += g.n;
        f.work = f.work || best->evaluated.load_max > 0;
        f.parts = f.parts || best->parts > 1;
        if (!fits(best)) {
            f.misfit = best;
            continue;
        }
        f.first = f.first == NULL ? best : f.first;
        if (efficiency_of(best) >= HALF) {
            f.last = best;
            f.last_group = g;
            f.beyond = NULL;
        } else if (f.beyond == NULL) {
            f.beyond = best;
        }
        f.fastest = f.fastest == NULL || seconds_of(best) < seconds_of(f.fastest) ? best : f.fastest;
    }
    return f;
}

static void say_method(FILE *stream, const eqp_compared *row)
{
    fprintf(stream, "%s", row->method);
    if (row->chosen[0] != '\0') {
        fprintf(stream, " (%s)", row->chosen);
    }
}

static void say_gain(FILE *stream, const findings *f, const char *method)
{
    const double gain = gain_of(f->last, find(&f->last_group, method));

    if (strcmp(f->last->method, method) != 0 && isfinite(gain)) {
        fprintf(stream, ", %.1f%% %s time than %s%s", fabs(100.0 * gain), gain >= 0 ? "less" : "more",
                strcmp(method, AS_RUN) == 0 ? "" : "with ", method);
    }
}

static void say_reach(FILE *stream, const findings *f, const app_compare_look *look)
{
    if (f->last == NULL) {
        fprintf(stream, "This problem scales to fewer than %d part%s, the fewest that were compared: ", f->first->parts,
                app_plural(f->first->parts));
        fprintf(stream, "only %.0f%% of a step is work there with ", 100.0 * efficiency_of(f->first));
        say_method(stream, f->first);
        fprintf(stream, ".");
        return;
    }
    fprintf(stream, "This problem scales to %d part%s", f->last->parts, app_plural(f->last->parts));
    if (f->beyond == NULL) {
        fprintf(stream, ", the most that were compared, if not to more");
    }
    fprintf(stream, ": %.0f%% of a step is work there", 100.0 * efficiency_of(f->last));
    if (f->beyond != NULL) {
        fprintf(stream, ", %.0f%% at %d part%s", 100.0 * efficiency_of(f->beyond), f->beyond->parts,
                app_plural(f->beyond->parts));
    }
    const char *method = f->last->method;
    if (strcmp(method, AS_RUN) == 0) {
        fprintf(stream, ". Keep the map of the run");
    } else {
        fprintf(stream, ". Use ");
        say_method(stream, f->last);
        fprintf(stream, " there");
    }
    say_gain(stream, f, SIMPLE);
    say_gain(stream, f, STRAW_MAN);
    say_gain(stream, f, AS_RUN);
    if ((strcmp(method, SIMPLE) == 0 || strcmp(method, AS_RUN) == 0) && f->last_group.n > 1) {
        fprintf(stream, "; nothing that was compared is %sfaster", look != NULL && look->exact ? "" : "more than 1% ");
    }
    fprintf(stream, ".");
}

static void say_fastest(FILE *stream, const findings *f, const app_compare_look *look)
{
    const bool unitless = look != NULL && look->unitless;
    const double efficiency = efficiency_of(f->fastest), step = (unitless ? 1.0 : 1e3) * seconds_of(f->fastest);
    const char *unit = unitless ? "" : " ms";

    if (f->fastest == f->last) {
        fprintf(stream, " No step is shorter: %.4g%s.", step, unit);
        return;
    }
    fprintf(stream, " The shortest step, %.4g%s, is at %d part%s with ", step, unit, f->fastest->parts,
            app_plural(f->fastest->parts));
    say_method(stream, f->fastest);
    if (efficiency < HALF) {
        fprintf(stream, "; only %.0f%% of it is work", 100.0 * efficiency);
    }
    fprintf(stream, ".");
}

/* If no map fits, names the closest one and recommends none. */
static void say_misfit(FILE *stream, const findings *f)
{
    const eqp_evaluated *e = &f->misfit->evaluated;

    fprintf(stream, "%sNo map into %d part%s that was compared fits into memory: with ",
            f->first != NULL || !f->work || !f->parts ? " " : "", f->misfit->parts, f->misfit->parts == 1 ? "" : "s");
    say_method(stream, f->misfit);
    fprintf(stream, ", which comes nearest, a part needs %.4g bytes, %.0f%% of what it has.", e->memory_max,
            100.0 * e->memory_use);
}

void app_compare_verdict(FILE *stream, int n, const eqp_compared *rows, const app_compare_look *look)
{
    const findings f = look_through(n, rows, look);

    if (!f.work || !f.parts) {
        fprintf(stream, "Nothing to balance: %s.", !f.work ? "nothing has a load" : "there is one part");
    } else if (f.first != NULL) {
        say_reach(stream, &f, look);
        say_fastest(stream, &f, look);
    }
    if (f.misfit != NULL) {
        say_misfit(stream, &f);
    }
    fputc('\n', stream);
}
