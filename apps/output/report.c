/* SPDX-License-Identifier: BSD-3-Clause */
#include "output/report.h"
#include <equipoise/more/base.h>
#include <equipoise/version.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

struct eqp_report {
    json_t *root; /* all keys but those that are in the file already */
    char *dir;
    eqp_output *file; /* NULL: finished */
    int64_t nsteps;
};

/* The keys of the schema in the order of the file; the first ones are written as they come. Other keys belong to the
 * app. */
static const char *const keys[] = {"schema",
                                   "app",
                                   "version",
                                   "steps",
                                   "command",
                                   "seed",
                                   "ranks",
                                   "particles",
                                   "interactions",
                                   "interactions_by_kind",
                                   "cost_seconds_by_kind",
                                   "model",
                                   "compare"};
enum { STREAMED = 4 };

/* NULL without memory. A file name of the user may be in any encoding; that must not cost the report. */
static json_t *text_to_json(const char *text)
{
    char *clean = eqp__utf8_repair(text);
    json_t *value = clean ? json_string(clean) : NULL;

    free(clean);
    return value;
}

static json_t *counts_to_json(int64_t n, const int64_t *count)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < n && list; i++) {
        if (json_array_append_new(list, json_integer((json_int_t)count[i]))) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *make_row(int n, const eqp_field *field);

static json_t *list_to_json(int n, int nfields, const eqp_field *field)
{
    json_t *list = json_array();

    for (int i = 0; i < n && list; i++) {
        if (json_array_append_new(list, make_row(nfields, field + (size_t)i * (size_t)nfields))) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *field_to_json(const eqp_field *field)
{
    switch (field->type) {
    case EQP_FIELD_COUNT:
        return json_integer((json_int_t)field->value.count);
    case EQP_FIELD_REAL:
        return isfinite(field->value.real) ? json_real(field->value.real) : json_null();
    case EQP_FIELD_TEXT:
        return field->value.text ? text_to_json(field->value.text) : json_null();
    case EQP_FIELD_BOOL:
        return json_boolean(field->value.flag);
    case EQP_FIELD_COUNTS:
        return counts_to_json(field->value.counts.n, field->value.counts.at);
    case EQP_FIELD_LIST:
        return list_to_json(field->value.list.n, field->value.list.nfields, field->value.list.at);
    }
    return NULL;
}

/* json_object_set_new takes the value over even when it fails, and fails when the value is NULL. */
static int put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) ? EQP_ERR_MEMORY : EQP_OK;
}

static int put_field(json_t *object, const eqp_field *field)
{
    return put(object, field->name, field_to_json(field));
}

/* Writes the text of a value, without its first bytes, whole or not at all. */
static int write_value(eqp_report *report, const char *before, const json_t *value, size_t flags, int without)
{
    char *text = value ? json_dumps(value, flags | JSON_ENCODE_ANY) : NULL;

    EQP_CHECK(!text ? EQP_ERR_MEMORY : EQP_OK);
    (void)fprintf(eqp_output_stream(report->file), "%s%s", before, text + without);
    free(text);
    return EQP_OK;
}

static int write_text(eqp_report *report, const char *before, const char *text)
{
    json_t *value = text_to_json(text);
    int code = write_value(report, before, value, 0, 0);

    json_decref(value);
    return code;
}

static int open_file(eqp_report *report, const char *app, eqp_message *message)
{
    char *path = NULL;
    int code;

    EQP_TRY(eqp_report_directory(report->dir, message));
    path = eqp__report_file_join(report->dir, "report.json");
    EQP_TRY(path ? EQP_OK : EQP_ERR_MEMORY);
    EQP_TRY(eqp_output_create(path, &report->file, message));
    (void)fprintf(eqp_output_stream(report->file), "{\n  \"schema\": %d,\n", EQP_REPORT_SCHEMA);
    EQP_TRY(write_text(report, "  \"app\": ", app));
    EQP_TRY(write_text(report, ",\n  \"version\": ", eqp_version()));
    (void)fputs(",\n  \"steps\": [", eqp_output_stream(report->file));
done:
    free(path);
    return code;
}

int eqp_report_create(const char *app, const char *dir, eqp_report **report, eqp_message *message)
{
    eqp_report *r = NULL;
    int code;

    EQP_TRY(eqp_array_create(&r, 1, sizeof *r));
    r->root = json_object();
    r->dir = strdup(dir);
    EQP_TRY(r->root && r->dir ? EQP_OK : EQP_ERR_MEMORY);
    for (size_t k = STREAMED; k < sizeof keys / sizeof keys[0]; k++) {
        EQP_TRY(put(r->root, keys[k], json_null()));
    }
    EQP_TRY(put(r->root, "interactions_by_kind", json_object()));
    EQP_TRY(put(r->root, "cost_seconds_by_kind", json_object()));
    EQP_TRY(put(r->root, "compare", json_array()));
    EQP_TRY(eqp_report_set_model(r, NAN, NAN));
    EQP_TRY(open_file(r, app, message));
    *report = r;
    return EQP_OK;
done:
    eqp_report_free(r);
    return code;
}

void eqp_report_free(eqp_report *report)
{
    if (report) {
        eqp_output_discard(report->file);
        json_decref(report->root);
        free(report->dir);
        free(report);
    }
}

int eqp_report_set(eqp_report *report, eqp_field field)
{
    return put_field(report->root, &field);
}

int eqp_report_set_interactions(eqp_report *report, const char *kind, int64_t count)
{
    const eqp_field field = eqp_field_count(kind, count);

    return put_field(json_object_get(report->root, "interactions_by_kind"), &field);
}

int eqp_report_set_cost(eqp_report *report, const char *kind, double seconds)
{
    const eqp_field field = eqp_field_real(kind, seconds);

    return put_field(json_object_get(report->root, "cost_seconds_by_kind"), &field);
}

/* A new object of fields; NULL without memory. */
static json_t *make_row(int n, const eqp_field *field)
{
    json_t *row = json_object();

    for (int i = 0; i < n && row; i++) {
        if (put_field(row, &field[i])) {
            json_decref(row);
            row = NULL;
        }
    }
    return row;
}

int eqp_report_set_group(eqp_report *report, const char *name, int n, const eqp_field *field)
{
    return put(report->root, name, make_row(n, field));
}

int eqp_report_set_model(eqp_report *report, double rmse, double rank_correlation)
{
    const eqp_field field[] = {eqp_field_real("rmse", rmse), eqp_field_real("rank_correlation", rank_correlation)};

    return eqp_report_set_group(report, "model", 2, field);
}

int eqp_report_add_step(eqp_report *report, int n, const eqp_field *field)
{
    json_t *row = make_row(n, field);
    const int code = write_value(report, report->nsteps > 0 ? ",\n    " : "\n    ", row, 0, 0);

    json_decref(row);
    report->nsteps += code == EQP_OK;
    return code;
}

int eqp_report_add_compare(eqp_report *report, int n, const eqp_field *field)
{
    json_t *compare = json_object_get(report->root, "compare");

    return json_array_append_new(compare, make_row(n, field)) ? EQP_ERR_MEMORY : EQP_OK;
}

static eqp_field json_to_field(const char *name, const json_t *value)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_INTEGER:
        return eqp_field_count(name, json_integer_value(value));
    case JSON_REAL:
        return eqp_field_real(name, json_real_value(value));
    case JSON_STRING:
        return eqp_field_text(name, json_string_value(value));
    case JSON_TRUE:
    case JSON_FALSE:
        return eqp_field_bool(name, json_is_true(value));
    default:
        return eqp_field_text(name, NULL);
    }
}

/* All names of the rows in the order in which they first appear; borrowed from the rows. */
static int find_columns(json_t *rows, const char ***columns, int *ncolumns)
{
    json_t *seen = json_object(), *row, *value;
    const char **names = NULL, *name;
    int64_t n = 0, capacity = 0;
    size_t i;
    int code = seen ? EQP_OK : EQP_ERR_MEMORY;

    json_array_foreach(rows, i, row)
    {
        json_object_foreach(row, name, value)
        {
            if (!code && !json_is_array(value) && !json_object_get(seen, name) &&
                !(code = put(seen, name, json_true())) &&
                !(code = eqp_array_reserve(&names, &capacity, n + 1, sizeof *names))) {
                names[n++] = name;
            }
        }
    }
    json_decref(seen);
    if (code) {
        free(names);
        return code;
    }
    *columns = names;
    *ncolumns = (int)n;
    return EQP_OK;
}

static int write_rows(json_t *rows, const char *dir, eqp_message *message)
{
    const char **columns = NULL;
    eqp_field *fields = NULL;
    EQP_CSV_FREED eqp_csv *csv = NULL;
    json_t *row;
    size_t i;
    int n = 0, code;

    EQP_TRY(find_columns(rows, &columns, &n));
    if (n == 0) {
        goto done; /* rows without a single field */
    }
    EQP_TRY(eqp_array_create(&fields, n, sizeof *fields));
    EQP_TRY(eqp_csv_create(dir, "compare.csv", NULL, &csv, message));
    for (int c = 0; c < n; c++) {
        fields[c] = eqp_field_text(NULL, columns[c]);
    }
    EQP_TRY(eqp_csv_add(csv, n, fields));
    json_array_foreach(rows, i, row)
    {
        for (int c = 0; c < n; c++) {
            fields[c] = json_to_field(columns[c], json_object_get(row, columns[c]));
        }
        EQP_TRY(eqp_csv_add(csv, n, fields));
    }
    code = eqp_csv_finish(csv, message);
done:
    free(fields);
    free(columns);
    return code;
}

int eqp_report_finish(eqp_report *report, eqp_message *message)
{
    json_t *compare = json_object_get(report->root, "compare");
    eqp_output *file = NULL;
    int code;

    EQP_TRY(json_array_size(compare) > 0 ? write_rows(compare, report->dir, message) : EQP_OK);
    /* The other keys go on in the object that the file has begun. */
    EQP_TRY(write_value(report, report->nsteps > 0 ? "\n  ]," : "],", report->root, JSON_INDENT(2), 1));
    (void)fputc('\n', eqp_output_stream(report->file));
    file = report->file;
    report->file = NULL;
    code = eqp_output_commit(file, message);
done:
    eqp_output_discard(report->file);
    report->file = NULL;
    return code;
}
