/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads report.json of a run of any length step by step; the page gets some steps and the sums over all. */
#include "pack.h"

#include <equipoise/more/base.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 1024 }; /* more than the page's width */

/* Members of a step that the page shows. */
static const char *const shown[] = {"step",
                                    "rebalanced",
                                    "action",
                                    "why",
                                    "migrated",
                                    "bytes_sent",
                                    "ghosts_total",
                                    "imbalance_predicted",
                                    "imbalance_measured",
                                    "force_seconds_max",
                                    "force_seconds_mean",
                                    "step_seconds_predicted",
                                    "step_seconds_measured",
                                    "exchange_seconds_max",
                                    "balance_seconds"};
/* Members summed over all steps; the first ones are numbers. */
static const char *const summed[] = {"ghosts_total",      "imbalance_predicted", "imbalance_measured",
                                     "force_seconds_max", "force_seconds_mean",  "balance_seconds"};
enum { SHOWN = sizeof shown / sizeof shown[0], SUMMED = sizeof summed / sizeof summed[0] };

/* One of `every` steps is kept: the first with a new map, else the first. */
typedef struct steps {
    json_t *kept, *last; /* last: the last step, kept or not */
    int64_t n, maps, every;
    double sum[SUMMED];
    int64_t known[SUMMED];
} steps;

static bool has_map(const json_t *step)
{
    return json_is_true(json_object_get(step, "rebalanced"));
}

static int halve(steps *s)
{
    json_t *half = json_array();

    for (size_t i = 0; i < json_array_size(s->kept) && half != NULL; i += 2) {
        json_t *first = json_array_get(s->kept, i), *second = json_array_get(s->kept, i + 1);
        if (json_array_append(half, has_map(second) && !has_map(first) ? second : first) != 0) {
            json_decref(half);
            half = NULL;
        }
    }
    if (half == NULL) {
        return EQP_ERR_MEMORY;
    }
    json_decref(s->kept);
    s->kept = half;
    s->every *= 2;
    return EQP_OK;
}

static int keep(steps *s, json_t *step)
{
    const size_t n = json_array_size(s->kept);

    json_decref(s->last);
    s->last = json_incref(step);
    if (s->n % s->every == 0) {
        EQP_CHECK(json_array_append(s->kept, step) == 0 ? EQP_OK : EQP_ERR_MEMORY);
        EQP_CHECK(n + 1 >= MOST_STEPS ? halve(s) : EQP_OK);
    } else if (has_map(step) && !has_map(json_array_get(s->kept, n - 1))) {
        EQP_CHECK(json_array_set(s->kept, n - 1, step) == 0 ? EQP_OK : EQP_ERR_MEMORY);
    }
    s->n++;
    return EQP_OK;
}

static int add_step(steps *s, const json_t *step)
{
    json_t *some = json_object();
    int code = some != NULL ? EQP_OK : EQP_ERR_MEMORY;

    for (int k = 0; k < SHOWN && code == EQP_OK; k++) {
        json_t *value = json_object_get(step, shown[k]);
        code = value == NULL || json_object_set(some, shown[k], value) == 0 ? EQP_OK : EQP_ERR_MEMORY;
    }
    for (int k = 0; k < SUMMED; k++) {
        const json_t *value = json_object_get(step, summed[k]);
        s->sum[k] += json_number_value(value);
        s->known[k] += json_is_number(value);
    }
    s->maps += has_map(step);
    code = code == EQP_OK ? keep(s, some) : code;
    json_decref(some);
    return code;
}

/* ---- the text ---- */

/* State of the scan of a JSON text. Only whole elements of "steps" and the text around the array are parsed. */
typedef struct scan {
    const char *path;
    app_bytes rest, step; /* text without the steps; the present step */
    int64_t quote;        /* start of the last string in rest */
    int depth, inside;    /* of rest and of the present step */
    bool quoted, escaped; /* within a string; after a backslash in it */
    bool is_steps;        /* the last string of the outermost object is the key "steps" */
    bool within;          /* within its array */
    int line, first_line; /* from 1; first_line: of the present step */
    int skipped, after;   /* lines missing from rest after its line `after` */
    steps *steps;
    eqp_message *message;
} scan;

static int refuse(const scan *s, int line, const char *why)
{
    eqp_message_set(s->message, "%.200s: line %d: %.80s", s->path, line, why);
    return EQP_ERR_FORMAT;
}

static int put_byte(app_bytes *bytes, int byte)
{
    unsigned char *at;

    EQP_CHECK(app_bytes_add(bytes, 1, &at));
    *at = (unsigned char)byte;
    return EQP_OK;
}

static bool is_blank(const app_bytes *text)
{
    for (int64_t i = 0; i < text->n; i++) {
        if (text->data[i] == '\0' || strchr(" \t\r\n", text->data[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* last: the array ends here; it may be empty. */
static int end_step(scan *s, bool last)
{
    json_error_t error = {.line = 0};
    json_t *step;
    int code = EQP_OK;

    if (!last || s->steps->n > 0 || !is_blank(&s->step)) {
        step = json_loadb((const char *)s->step.data, (size_t)s->step.n, JSON_REJECT_DUPLICATES, &error);
        code = step == NULL            ? refuse(s, s->first_line + (error.line > 0 ? error.line - 1 : 0), error.text)
               : !json_is_object(step) ? refuse(s, s->line, "a step is no object")
                                       : add_step(s->steps, step);
        json_decref(step);
    }
    s->step.n = 0;
    s->first_line = s->line;
    return code;
}

/* True if the byte is outside of strings. */
static bool is_sign(scan *s, int byte)
{
    const bool escaped = s->escaped, was_quoted = s->quoted;

    s->escaped = was_quoted && byte == '\\' && !escaped;
    s->quoted = byte == '"' && !escaped ? !was_quoted : was_quoted;
    return !was_quoted && !s->quoted;
}

static int nesting(int byte)
{
    return byte == '{' || byte == '[' ? 1 : byte == '}' || byte == ']' ? -1 : 0;
}

static int take_inside(scan *s, int byte)
{
    const bool sign = is_sign(s, byte);

    if (sign && s->inside == 0 && (byte == ',' || byte == ']')) {
        EQP_CHECK(end_step(s, byte == ']'));
        s->within = byte == ',';
        s->after = s->line - s->skipped;
        EQP_CHECK(s->within ? EQP_OK : put_byte(&s->rest, byte));
    } else {
        s->inside += sign ? nesting(byte) : 0;
        s->skipped += byte == '\n';
        EQP_CHECK(put_byte(&s->step, byte));
    }
    return EQP_OK;
}

static int take_outside(scan *s, int byte)
{
    static const char key[] = "\"steps";
    const int64_t length = sizeof key - 1;
    const bool began = s->quoted, sign = is_sign(s, byte);

    if (s->quoted && !began) {
        s->quote = s->rest.n;
    } else if (began && !s->quoted) {
        s->is_steps = s->depth == 1 && s->rest.n - s->quote == length &&
                      memcmp(s->rest.data + s->quote, key, (size_t)length) == 0;
    } else if (sign && byte == '[' && s->depth == 1 && s->is_steps) {
        s->within = true;
        s->inside = 0;
        s->first_line = s->line;
    } else if (sign) {
        s->depth += nesting(byte);
        s->is_steps = s->is_steps && strchr(": \t\r\n", byte) != NULL;
    }
    return put_byte(&s->rest, byte);
}

static int scan_file(scan *s, FILE *file)
{
    int byte, code = EQP_OK;

    while (code == EQP_OK && (byte = getc(file)) != EOF) {
        code = s->within ? take_inside(s, byte) : take_outside(s, byte);
        s->line += byte == '\n';
    }
    if (code == EQP_OK && ferror(file)) {
        eqp_message_set(s->message, "%.250s: cannot read: %s", s->path, strerror(errno));
        code = EQP_ERR_IO;
    }
    return code;
}

static int parse_rest(const scan *s, json_t **report)
{
    json_error_t error;
    json_t *made =
        json_loadb(s->rest.n > 0 ? (const char *)s->rest.data : "", (size_t)s->rest.n, JSON_REJECT_DUPLICATES, &error);

    if (made == NULL) {
        return refuse(s, error.line + (error.line > s->after ? s->skipped : 0), error.text);
    }
    if (!json_is_integer(json_object_get(made, "schema")) || !json_is_array(json_object_get(made, "steps"))) {
        json_decref(made);
        eqp_message_set(s->message, "%.250s: is no report: 'schema' or 'steps' is missing", s->path);
        return EQP_ERR_FORMAT;
    }
    *report = made;
    return EQP_OK;
}

static int put_totals(const steps *s, json_t *report)
{
    json_t *totals = json_pack("{s:I, s:I, s:I}", "steps", (json_int_t)s->n, "maps", (json_int_t)s->maps, "every",
                               (json_int_t)s->every);
    int code = totals != NULL ? EQP_OK : EQP_ERR_MEMORY;

    for (int k = 0; k < SUMMED && code == EQP_OK; k++) {
        json_t *of = json_pack("{s:f, s:I}", "sum", s->sum[k], "known", (json_int_t)s->known[k]);
        code = json_object_set_new(totals, summed[k], of) == 0 ? EQP_OK : EQP_ERR_MEMORY;
    }
    if (code == EQP_OK && s->n > 0 && json_array_get(s->kept, json_array_size(s->kept) - 1) != s->last) {
        code = json_array_append(s->kept, s->last) == 0 ? EQP_OK : EQP_ERR_MEMORY;
    }
    if (code == EQP_OK &&
        (json_object_set(report, "steps", s->kept) != 0 || json_object_set(report, "totals", totals) != 0)) {
        code = EQP_ERR_MEMORY;
    }
    json_decref(totals);
    return code;
}

int app_pack_report(const char *path, json_t **json, eqp_message *message)
{
    steps all = {.kept = json_array(), .every = 1};
    scan s = {.path = path, .line = 1, .steps = &all, .message = message};
    FILE *file = NULL;
    json_t *report = NULL;
    int code = eqp_input_open(path, &file, message);

    EQP_TRY(code != EQP_OK ? code : all.kept == NULL ? EQP_ERR_MEMORY : EQP_OK);
    EQP_TRY(scan_file(&s, file));
    EQP_TRY(parse_rest(&s, &report));
    EQP_TRY(put_totals(&all, report));
    *json = json_incref(report);
done:
    if (file != NULL) {
        (void)fclose(file);
    }
    json_decref(report);
    json_decref(all.kept);
    json_decref(all.last);
    free(s.rest.data);
    free(s.step.data);
    return code;
}
