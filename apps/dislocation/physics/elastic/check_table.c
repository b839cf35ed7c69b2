/* SPDX-License-Identifier: BSD-3-Clause */
#include "check_table.h"

#include "pairs.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of a row, in the order of the names below: a, mu, nu come last before the forces. */
enum { PAIR_FORCES = 21, PAIR_NUMBERS = 33, SELF_FORCES = 12, SELF_NUMBERS = 18, MOST_NUMBERS = 33 };

static const char *const pair_name[PAIR_NUMBERS] = {
    "p1x",  "p1y",  "p1z",  "p2x",  "p2y",  "p2z",  "p3x",  "p3y",  "p3z",  "p4x",  "p4y",
    "p4z",  "b12x", "b12y", "b12z", "b34x", "b34y", "b34z", "a",    "mu",   "nu",   "fq1x",
    "fq1y", "fq1z", "fq2x", "fq2y", "fq2z", "fq3x", "fq3y", "fq3z", "fq4x", "fq4y", "fq4z",
};

static const char *const self_name[SELF_NUMBERS] = {
    "p1x", "p1y", "p1z", "p2x",  "p2y",  "p2z",  "bx",   "by",   "bz",
    "a",   "mu",  "nu",  "fq1x", "fq1y", "fq1z", "fq2x", "fq2y", "fq2z",
};

typedef struct table {
    FILE *from;
    char *line;
    size_t room;
    int fields;     /* number of fields; `line` holds their texts one after the other */
    int64_t number; /* of the line */
    bool pairs;
    const char *const *name;           /* [count] of the numbers; NULL before the line of names */
    int count, forces;                 /* the forces begin at that number */
    int category, place[MOST_NUMBERS]; /* columns; -1: none */
    dd_pairs_fn fn;
    dd_check check;
    int64_t capacity;
    eqp_message *message;
} table;

static int refuse(table *t, int code, const char *what, const char *name)
{
    eqp_message_set(t->message, "line %lld: %s%s", (long long)t->number, what, name);
    return code;
}

/* The next line that is neither empty nor a comment, without its end. \param[out] more false at the end of the file */
static int next_line(table *t, bool *more)
{
    ssize_t length;

    do {
        length = getline(&t->line, &t->room, t->from);
        if (length < 0) {
            *more = false;
            return ferror(t->from) ? EQP_ERR_IO : feof(t->from) ? EQP_OK : EQP_ERR_MEMORY;
        }
        t->number++;
        if (strlen(t->line) != (size_t)length) {
            return refuse(t, EQP_ERR_FORMAT, "a character with code 0", "");
        }
        t->line[strcspn(t->line, "\r\n")] = '\0';
    } while (t->line[0] == '\0' || t->line[0] == '#');
    *more = true;
    return EQP_OK;
}

/* Ends each field of the line. */
static void cut_fields(table *t)
{
    t->fields = 1;
    for (char *at = t->line; (at = strchr(at, '\t')) != NULL; t->fields++) {
        *at++ = '\0';
    }
}

static const char *field_of(const table *t, int column)
{
    const char *at = t->line;

    for (; column > 0; column--) {
        at += strlen(at) + 1;
    }
    return at;
}

static int find_column(const table *t, const char *name)
{
    int column = 0;

    while (column < t->fields && strcmp(field_of(t, column), name) != 0) {
        column++;
    }
    return column < t->fields ? column : -1;
}

static int read_names(table *t)
{
    cut_fields(t);
    t->pairs = find_column(t, "p3x") >= 0;
    t->name = t->pairs ? pair_name : self_name;
    t->count = t->pairs ? PAIR_NUMBERS : SELF_NUMBERS;
    t->forces = t->pairs ? PAIR_FORCES : SELF_FORCES;
    t->category = find_column(t, "category");
    for (int i = 0; i < t->count; i++) {
        t->place[i] = find_column(t, t->name[i]);
        if (t->place[i] < 0) {
            return refuse(t, EQP_ERR_FORMAT, "there is no column ", t->name[i]);
        }
    }
    return EQP_OK;
}

static int read_numbers(table *t, double number[])
{
    cut_fields(t);
    for (int i = 0; i < t->count; i++) {
        if (t->place[i] >= t->fields) {
            return refuse(t, EQP_ERR_FORMAT, "too few columns", "");
        }
        const char *at = field_of(t, t->place[i]);
        char *end;
        number[i] = strtod(at, &end);
        if (end == at || *end != '\0' || !isfinite(number[i])) {
            return refuse(t, EQP_ERR_FORMAT, "not a number: ", t->name[i]);
        }
    }
    return EQP_OK;
}

static dd_segment segment_of(const double x1[3], const double x2[3], const double burgers[3])
{
    return (dd_segment){{x1[0], x1[1], x1[2]}, {x2[0], x2[1], x2[2]}, {burgers[0], burgers[1], burgers[2]}};
}

static bool has_length(const dd_segment *s)
{
    return s->x1[0] != s->x2[0] || s->x1[1] != s->x2[1] || s->x1[2] != s->x2[2];
}

static int compute(table *t, const double number[], double force[12])
{
    const double *last = number + t->forces - 3;
    const dd_medium medium = {.a = last[0], .mu = last[1], .nu = last[2]};
    const dd_segment target = segment_of(number, number + 3, number + (t->pairs ? 12 : 6)),
                     source = t->pairs ? segment_of(number + 6, number + 9, number + 15) : target;
    const char *wrong = !(medium.a > 0)                                ? "a is not positive"
                        : !(medium.mu > 0)                             ? "mu is not positive"
                        : !(medium.nu > -1 && medium.nu < 0.5)         ? "nu is not between -1 and 0.5"
                        : !has_length(&target) || !has_length(&source) ? "a segment has no length"
                                                                       : NULL;

    if (wrong != NULL) {
        return refuse(t, EQP_ERR_DATA, wrong, "");
    }
    if (t->pairs) {
        dd_pair_force(t->fn, &medium, &target, &source, force);
    } else {
        dd_self_elastic(&medium, &target, force);
    }
    return EQP_OK;
}

static double largest(const double x[], int n)
{
    double most = 0;

    for (int i = 0; i < n; i++) {
        most = isnan(x[i]) ? x[i] : fmax(most, fabs(x[i]));
    }
    return most;
}

/* A row without forces has no deviation unless something is computed. */
static double deviation(const double force[], const double expected[], int n, double mu)
{
    const double size = largest(expected, n), computed = largest(force, n);
    const bool per_mu = fabs(log(computed / mu / size)) < fabs(log(computed / size));
    double worst = 0;

    for (int i = 0; i < n; i++) {
        const double difference = fabs((per_mu ? force[i] / mu : force[i]) - expected[i]);
        if (isnan(difference)) {
            return NAN;
        }
        worst = fmax(worst, difference);
    }
    return worst == 0 ? 0 : worst / size;
}

static int add_row(table *t, double deviation)
{
    const bool has_category = t->category >= 0 && t->category < t->fields;
    char name[DD_CHECK_NAME];
    int64_t i = 0;

    snprintf(name, sizeof name, "%s", has_category ? field_of(t, t->category) : t->pairs ? "pair" : "self");
    for (char *c = name; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
    }
    while (i < t->check.ncategories && strcmp(t->check.category[i].category, name) != 0) {
        i++;
    }
    if (i == t->check.ncategories) {
        EQP_CHECK(eqp_array_reserve(&t->check.category, &t->capacity, i + 1, sizeof *t->check.category));
        t->check.category[i] = (dd_check_row){.rows = 0};
        memcpy(t->check.category[i].category, name, sizeof name);
        t->check.ncategories++;
    }
    dd_check_row *row = &t->check.category[i];
    row->rows++;
    if (!(deviation <= row->worst) && !isnan(row->worst)) {
        row->worst = deviation;
    }
    return EQP_OK;
}

static int check_row(table *t)
{
    double number[MOST_NUMBERS], force[12];

    EQP_CHECK(read_numbers(t, number));
    EQP_CHECK(compute(t, number, force));
    return add_row(t, deviation(force, number + t->forces, t->count - t->forces, number[t->forces - 2]));
}

int dd_check_table(FILE *from, dd_isa isa, dd_check *check, eqp_message *message)
{
    table t = {.from = from, .message = message};
    bool more = true;
    int code = dd_pairs_choose(isa, &t.fn, NULL);

    while (code == EQP_OK && more) {
        code = next_line(&t, &more);
        if (code == EQP_OK && more) {
            code = t.name != NULL ? check_row(&t) : read_names(&t);
        }
    }
    if (code == EQP_OK && t.check.ncategories == 0) {
        code = refuse(&t, EQP_ERR_FORMAT, "there are no rows", "");
    }
    free(t.line);
    if (code == EQP_OK) {
        *check = t.check;
    } else {
        dd_check_free(&t.check);
    }
    return code;
}

void dd_check_free(dd_check *check)
{
    free(check->category);
    *check = (dd_check){0};
}
