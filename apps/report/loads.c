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

int app_loads_create(const char *dir, eqp_csv **csv, eqp_message *message)
{
    EQP_CHECK(eqp_report_directory(dir, message));
    return eqp_csv_create(dir, "loads.csv",
                          "step,rank,load,method,predicted,particles,targets,interactions,ghosts,bytes_sent,"
                          "force_seconds,balance_seconds,speed,helped,busy_seconds,exchange_seconds,migrated,"
                          "bytes_moved,last_messages_sent,last_messages_received,last_bytes_sent,last_bytes_received",
                          csv, message);
}

int app_loads_add(eqp_csv *csv, int64_t step, int rank, const char *method, const eqp_rank_row *row)
{
#define COUNT(member) eqp_field_count(#member, (int64_t)row->member)
#define REAL(member) eqp_field_real(#member, row->member)
    const eqp_field field[] = {eqp_field_count("step", step),
                               eqp_field_count("rank", rank),
                               REAL(load),
                               eqp_field_text("method", method),
                               REAL(predicted),
                               COUNT(particles),
                               COUNT(targets),
                               COUNT(interactions),
                               COUNT(ghosts),
                               COUNT(bytes_sent),
                               eqp_field_real("force_seconds", row->load),
                               REAL(balance_seconds),
                               REAL(speed),
                               COUNT(helped),
                               REAL(busy_seconds),
                               REAL(exchange_seconds),
                               COUNT(migrated),
                               COUNT(bytes_moved),
                               COUNT(last_messages_sent),
                               COUNT(last_messages_received),
                               COUNT(last_bytes_sent),
                               COUNT(last_bytes_received)};

    return eqp_csv_add(csv, (int)(sizeof field / sizeof field[0]), field);
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
    reading r = {.path = path, .message = message, .visitor = visitor};
    FILE *file = NULL;

    EQP_CHECK(eqp_input_open(path, &file, message));
    const int code = read_lines(&r, file);
    (void)fclose(file);
    EQP_CHECK(code);
    APP_REFUSE_IF(r.rows == 0, message, EQP_ERR_DATA, "%.250s: holds no loads", path);
    *loads = r.loads;
    return EQP_OK;
}
