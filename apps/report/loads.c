/* SPDX-License-Identifier: BSD-3-Clause */
#include "loads.h"

#include <equipoise/more/base.h>
#include <equipoise/more/file.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "../shell/options.h"

enum { STEP, RANK, LOAD, PREDICTED, PARTICLES, EXCHANGE, BALANCE, BUSY, NCOLUMNS };
static const char *const column_name[NCOLUMNS] = {
    "step", "rank", "load", "predicted", "particles", "exchange_seconds", "balance_seconds", "busy_seconds"};

/* One step's loads, measured or predicted, as far as its ranks have been read. */
typedef struct step_sum {
    double largest, total;
    bool known; /* of all ranks */
} step_sum;

/* A file half read. */
typedef struct reading {
    const char *path;
    int64_t line, rows;
    int column[NCOLUMNS];  /* number of each column in a row; -1: absent */
    char *field[NCOLUMNS]; /* of the present row; NULL: absent */
    int64_t step;
    int rank;
    double *load, *total; /* [room] of each rank: of this step; sum of the steps before */
    int64_t load_room, total_room;
    step_sum measured, predicted;
    app_loads loads;
    const app_loads_visitor *visitor; /* or NULL */
    eqp_message *message;
} reading;

static int refuse(const reading *r, const char *what)
{
    eqp_message_set(r->message, "%.250s: line %lld: %s", r->path, (long long)r->line, what);
    return EQP_ERR_DATA;
}

/* Cuts the first field off a row in place, without its quotes; NULL after the last one. */
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
            r->column[c] = strcmp(field, column_name[c]) == 0 ? i : r->column[c];
        }
    }
    for (int c = 0; c < PARTICLES; c++) {
        if (r->column[c] < 0) {
            eqp_message_set(r->message, "%.250s: not a loads.csv: there is no column '%s'", r->path, column_name[c]);
            return EQP_ERR_FORMAT;
        }
    }
    return EQP_OK;
}

/* NaN where it is not known. */
static double imbalance_of(reading *r, const step_sum *sum)
{
    double mean = sum->total / r->loads.ranks;
    double imbalance = mean > 0.0 ? sum->largest / mean - 1.0 : 0.0;

    if (!sum->known) {
        return NAN;
    }
    r->loads.imbalance_low = fmin(r->loads.imbalance_low, imbalance);
    r->loads.imbalance_high = fmax(r->loads.imbalance_high, imbalance);
    return imbalance;
}

/* All ranks have given their rows. */
static void end_step(reading *r)
{
    const double measured = imbalance_of(r, &r->measured), predicted = imbalance_of(r, &r->predicted);

    r->loads.predicted = r->loads.predicted || r->predicted.known;
    r->loads.last = r->step;
    for (int k = 0; k < r->loads.ranks; k++) {
        r->total[k] += r->load[k];
    }
    if (r->visitor && r->visitor->step) {
        r->visitor->step(r->visitor->user, r->step, measured, predicted);
    }
}

/* Rows must come in order: a step's first row has rank 0, and all steps have the ranks of the first one. */
static int place_row(reading *r, int64_t step, int64_t rank)
{
    bool new_step = r->rows == 0 || step != r->step;

    if (rank != (new_step ? 0 : r->rank + 1) || (r->rows > 0 && step < r->step)) {
        return refuse(r, "rows are not step by step, and rank by rank from 0");
    }
    if (new_step && r->rows > 0) {
        if (r->rank + 1 != r->loads.ranks) {
            return refuse(r, "the step before has too few ranks");
        }
        end_step(r);
    }
    if (r->rows == 0) {
        r->loads.first = step;
    }
    if (step == r->loads.first) {
        r->loads.ranks = (int)rank + 1;
    } else if (rank >= r->loads.ranks) {
        return refuse(r, "the step has more ranks than the one before");
    }
    if (new_step) {
        r->measured = r->predicted = (step_sum){.known = true};
    }
    r->step = step;
    r->rank = (int)rank;
    r->rows++;
    return EQP_OK;
}

static void add_to_step(step_sum *sum, double value)
{
    sum->known = sum->known && !isnan(value);
    sum->largest = fmax(sum->largest, value);
    sum->total += value;
}

static int add_loads(reading *r, double load, double predicted)
{
    int code = eqp_array_reserve(&r->load, &r->load_room, r->rank + 1, sizeof *r->load);

    code = code ? code : eqp_array_reserve(&r->total, &r->total_room, r->rank + 1, sizeof *r->total);
    if (code) {
        return code;
    }
    r->total[r->rank] = r->step == r->loads.first ? 0.0 : r->total[r->rank];
    r->load[r->rank] = load;
    add_to_step(&r->measured, load);
    add_to_step(&r->predicted, predicted);
    if (!isfinite(r->total[r->rank] + load) || !isfinite(r->measured.total)) {
        return refuse(r, "the loads add up to more than a number holds");
    }
    if (r->predicted.known && !isfinite(r->predicted.total)) {
        return refuse(r, "the predicted loads add up to more than a number holds");
    }
    return EQP_OK;
}

/* Seconds of a column that may be absent. */
static int read_seconds(reading *r, int column, double *seconds)
{
    *seconds = 0.0;
    if (r->column[column] >= 0 && eqp_read_real(r->field[column], 0.0, false, INFINITY, seconds, NULL)) {
        eqp_message_set(r->message, "%.250s: line %lld: %s is not a number >= 0", r->path, (long long)r->line,
                        column_name[column]);
        return EQP_ERR_DATA;
    }
    return EQP_OK;
}

static int parse_row(reading *r, char *row, app_load *of)
{
    int64_t rank;
    char *text;
    int code;

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
    of->predicted = NAN;
    if (eqp_read_int(r->field[STEP], INT64_MIN, INT64_MAX, &of->step, NULL) ||
        eqp_read_int(r->field[RANK], INT_MIN, INT_MAX - 1, &rank, NULL)) {
        return refuse(r, "step or rank is not an integer");
    }
    of->rank = (int)rank;
    if (eqp_read_real(r->field[LOAD], 0.0, false, INFINITY, &of->load, NULL)) {
        return refuse(r, "load is not a number >= 0");
    }
    if (*r->field[PREDICTED] && eqp_read_real(r->field[PREDICTED], -INFINITY, false, INFINITY, &of->predicted, NULL)) {
        return refuse(r, "predicted is not a number");
    }
    code = read_seconds(r, EXCHANGE, &of->exchange);
    code = code ? code : read_seconds(r, BALANCE, &of->balance);
    return code ? code : read_seconds(r, BUSY, &of->busy);
}

/* whole: the line has its end. */
static int read_row(reading *r, char *row, bool whole)
{
    int64_t particles = 0;
    app_load of;
    int code = parse_row(r, row, &of);

    if (code == EQP_ERR_DATA && !whole && r->rows > 0 && r->step > r->loads.first) {
        return EQP_OK; /* the end of a file that is being written */
    }
    code = code ? code : place_row(r, of.step, of.rank);
    code = code ? code : add_loads(r, of.load, of.predicted);
    if (!code && r->visitor && r->visitor->row) {
        code = r->visitor->row(r->visitor->user, &of);
    }
    if (code || r->column[PARTICLES] < 0 || of.step > r->loads.first) {
        return code;
    }
    if (eqp_read_int(r->field[PARTICLES], 0, INT64_MAX - r->loads.particles, &particles, NULL)) {
        return refuse(r, "particles is not an integer >= 0");
    }
    r->loads.particles += particles;
    return EQP_OK;
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

/* The last step, and the numbers of the whole run. */
static int finish(reading *r)
{
    if (r->rows == 0) {
        eqp_message_set(r->message, "%.250s: holds no loads", r->path);
        return EQP_ERR_DATA;
    }
    if (r->rank + 1 == r->loads.ranks) {
        end_step(r);
    }
    for (int k = 0; k < r->loads.ranks; k++) {
        r->loads.mean += r->total[k] / r->loads.ranks;
        r->loads.largest = fmax(r->loads.largest, r->total[k]);
        if (r->visitor && r->visitor->rank) {
            r->visitor->rank(r->visitor->user, k, r->total[k]);
        }
    }
    if (r->column[PARTICLES] < 0) {
        r->loads.particles = -1;
    }
    return EQP_OK;
}

int app_loads_read(const char *path, const app_loads_visitor *visitor, app_loads *loads, eqp_message *message)
{
    reading r = {.path = path, .message = message, .visitor = visitor, .loads = {.imbalance_low = INFINITY}};
    FILE *file = NULL;
    int code = eqp_input_open(path, &file, message);

    if (code) {
        return code;
    }
    code = read_lines(&r, file);
    code = code ? code : finish(&r);
    if (!code) {
        *loads = r.loads;
    }
    free(r.total);
    free(r.load);
    (void)fclose(file);
    return code;
}
