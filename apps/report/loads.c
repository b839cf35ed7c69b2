/* SPDX-License-Identifier: BSD-3-Clause */
#include "loads.h"

#include <equipoise/more/base.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "../shell/options.h"

/* Columns after step and rank; the method follows the load. */
static const struct member {
    const char *name;
    size_t offset;
    bool counts; /* written as an integer */
} members[] = {
#define REAL(name, of)                                                                                                 \
    {                                                                                                                  \
        name, offsetof(eqp_rank_row, of), false                                                                        \
    }
#define COUNT(of)                                                                                                      \
    {                                                                                                                  \
#of, offsetof(eqp_rank_row, of), true                                                                          \
    }
    REAL("load", load),
    REAL("predicted", predicted),
    COUNT(particles),
    COUNT(targets),
    COUNT(interactions),
    COUNT(ghosts),
    COUNT(bytes_sent),
    REAL("force_seconds", load),
    REAL("balance_seconds", balance_seconds),
    REAL("speed", speed),
    COUNT(helped),
    REAL("busy_seconds", busy_seconds),
    REAL("exchange_seconds", exchange_seconds),
    COUNT(migrated),
    COUNT(bytes_moved),
    COUNT(last_messages_sent),
    COUNT(last_messages_received),
    COUNT(last_bytes_sent),
    COUNT(last_bytes_received),
};
enum { MEMBERS = sizeof members / sizeof members[0], METHOD = 3, WRITTEN = 3 + MEMBERS };

static void list_fields(int64_t step, int rank, const char *method, const eqp_rank_row *row, eqp_field field[WRITTEN])
{
    field[0] = eqp_field_count("step", step);
    field[1] = eqp_field_count("rank", rank);
    field[METHOD] = eqp_field_text("method", method);
    for (int m = 0; m < MEMBERS; m++) {
        double value;
        memcpy(&value, (const char *)row + members[m].offset, sizeof value);
        field[2 + m + (2 + m >= METHOD)] = members[m].counts ? eqp_field_count(members[m].name, (int64_t)value)
                                                             : eqp_field_real(members[m].name, value);
    }
}

int app_loads_create(const char *dir, eqp_csv **csv, eqp_message *message)
{
    static const eqp_rank_row none;
    eqp_field field[WRITTEN];
    const char *column[WRITTEN];
    APP_FREED char *path = NULL;

    list_fields(0, 0, "", &none, field);
    for (int c = 0; c < WRITTEN; c++) {
        column[c] = field[c].name;
    }
    EQP_CHECK(eqp_report_directory(dir, message));
    path = eqp__report_file_join(dir, "loads.csv");
    EQP_CHECK(path != NULL ? EQP_OK : EQP_ERR_MEMORY);
    return eqp_csv_create(path, WRITTEN, column, csv, message);
}

int app_loads_add(eqp_csv *csv, int64_t step, int rank, const char *method, const eqp_rank_row *row)
{
    eqp_field field[WRITTEN];

    list_fields(step, rank, method, row, field);
    return eqp_csv_add(csv, WRITTEN, field);
}

enum { STEP, RANK, LOAD, NCOLUMNS = 6 };
/* A file must have the first three columns. From LOAD on they are in seconds. */
static const struct column {
    const char *name;
    size_t offset;
} columns[NCOLUMNS] = {{"step", 0},
                       {"rank", 0},
                       {"load", offsetof(app_load, load)},
                       {"exchange_seconds", offsetof(app_load, exchange)},
                       {"balance_seconds", offsetof(app_load, balance)},
                       {"busy_seconds", offsetof(app_load, busy)}};

typedef struct reading {
    const char *path;
    int64_t line, rows;
    int column[NCOLUMNS];  /* number of each column in a row; -1: absent */
    char *field[NCOLUMNS]; /* of the present row; NULL: absent */
    int64_t step;
    int rank;
    app_loads loads;
    const app_loads_visitor *visitor; /* or NULL */
    eqp_message *message;
} reading;

static int refuse(const reading *r, const char *what)
{
    eqp_message_set(r->message, "%.250s: line %lld: %s", r->path, (long long)r->line, what);
    return EQP_ERR_DATA;
}

/* Cuts the first field off a row in place, without quotes; NULL after the last one. */
static char *next_field(char **rest)
{
    char *from = *rest, *to = *rest, *field = *rest;
    bool quoted = false;

    if (!field) {
        return NULL;
    }
    for (; *from && (quoted || *from != ','); from++) {
        if (*from != '"') {
            *to++ = *from;
        } else if (quoted && from[1] == '"') {
            *to++ = *from++;
        } else {
            quoted = !quoted;
        }
    }
    *rest = *from ? from + 1 : NULL;
    *to = '\0';
    return field;
}

static int read_header(reading *r, char *row)
{
    char *field;

    for (int c = 0; c < NCOLUMNS; c++) {
        r->column[c] = -1;
    }
    for (int i = 0; (field = next_field(&row)); i++) {
        for (int c = 0; c < NCOLUMNS; c++) {
            r->column[c] = strcmp(field, columns[c].name) == 0 ? i : r->column[c];
        }
    }
    for (int c = 0; c <= LOAD; c++) {
        APP_REFUSE_IF(r->column[c] < 0, r->message, EQP_ERR_FORMAT, "%.250s: not a loads.csv: there is no column '%s'",
                      r->path, columns[c].name);
    }
    return EQP_OK;
}

/* Rows must be in order: a step's first row has rank 0, and all steps have the first step's ranks. */
static int place_row(reading *r, int64_t step, int64_t rank)
{
    bool new_step = r->rows == 0 || step != r->step;

    if (rank != (new_step ? 0 : r->rank + 1) || (r->rows > 0 && step < r->step)) {
        return refuse(r, "rows are not step by step, and rank by rank from 0");
    }
    if (new_step && r->rows > 0 && r->rank + 1 != r->loads.ranks) {
        return refuse(r, "the step before has too few ranks");
    }
    if (r->rows == 0) {
        r->loads.first = step;
    }
    if (step == r->loads.first) {
        r->loads.ranks = (int)rank + 1;
    } else if (rank >= r->loads.ranks) {
        return refuse(r, "the step has more ranks than the one before");
    }
    r->step = step;
    r->rank = (int)rank;
    r->rows++;
    return EQP_OK;
}

static int parse_row(reading *r, char *row, app_load *of)
{
    int64_t rank;
    char *text;

    memset(r->field, 0, sizeof r->field);
    for (int i = 0; (text = next_field(&row)); i++) {
        for (int c = 0; c < NCOLUMNS; c++) {
            r->field[c] = r->column[c] == i ? text : r->field[c];
        }
    }
    for (int c = 0; c < NCOLUMNS; c++) {
        if (r->column[c] >= 0 && !r->field[c]) {
            return refuse(r, "the row is too short");
        }
    }
    *of = (app_load){.rank = 0};
    if (eqp_read_int(r->field[STEP], INT64_MIN, INT64_MAX, &of->step, NULL) ||
        eqp_read_int(r->field[RANK], INT_MIN, INT_MAX - 1, &rank, NULL)) {
        return refuse(r, "step or rank is not an integer");
    }
    of->rank = (int)rank;
    for (int c = LOAD; c < NCOLUMNS; c++) {
        double *seconds = (double *)(void *)((char *)of + columns[c].offset);
        APP_REFUSE_IF(r->column[c] >= 0 && eqp_read_real(r->field[c], 0.0, false, INFINITY, seconds, NULL), r->message,
                      EQP_ERR_DATA, "%.250s: line %lld: %s is not a number >= 0", r->path, (long long)r->line,
                      columns[c].name);
    }
    return EQP_OK;
}

/* whole: the line is terminated. */
static int read_row(reading *r, char *row, bool whole)
{
    app_load of;
    int code = parse_row(r, row, &of);

    if (code == EQP_ERR_DATA && !whole && r->rows > 0 && r->step > r->loads.first) {
        return EQP_OK; /* the file is still being written */
    }
    code = code ? code : place_row(r, of.step, of.rank);
    if (!code && r->visitor) {
        code = r->visitor->row(r->visitor->user, &of);
    }
    return code;
}

static int read_lines(reading *r, FILE *file)
{
    char *row = NULL;
    size_t room = 0;
    ssize_t length;
    int code = EQP_OK;

    errno = 0;
    while (!code && (length = getline(&row, &room, file)) >= 0) {
        bool whole = length > 0 && row[length - 1] == '\n';

        while (length > 0 && (row[length - 1] == '\n' || row[length - 1] == '\r')) {
            row[--length] = '\0';
        }
        code = r->line++ == 0 ? read_header(r, row) : read_row(r, row, whole);
    }
    if (!code && !feof(file)) {
        eqp_message_set(r->message, "%.250s: cannot read: %s", r->path, strerror(errno));
        code = errno == ENOMEM ? EQP_ERR_MEMORY : EQP_ERR_IO;
    }
    free(row);
    return code;
}

int app_loads_read(const char *path, const app_loads_visitor *visitor, app_loads *loads, eqp_message *message)
{
    reading r = {
        .path = path,
        .message = message,
        .visitor = visitor,
    };
    FILE *file = NULL;
    int code = eqp_input_open(path, &file, message);

    if (code) {
        return code;
    }
    code = read_lines(&r, file);
    if (!code && r.rows == 0) {
        eqp_message_set(message, "%.250s: holds no loads", path);
        code = EQP_ERR_DATA;
    }
    if (!code) {
        *loads = r.loads;
    }
    (void)fclose(file);
    return code;
}
