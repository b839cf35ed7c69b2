/* SPDX-License-Identifier: BSD-3-Clause */
#include "check_table.h"

#include "pairs.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of a row, in the order of the names below. */
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
    int64_t number; /* of the line */
    bool pairs;
    const char *const *name; /* [count] of the numbers; NULL before the line of names */
    int count;
    int columns, category, place[MOST_NUMBERS]; /* columns of the numbers */
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

/* Terminates the field at `at`; returns the next field or NULL. */
static char *cut_field(char *at)
{
    char *end = strchr(at, '\t');

    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    return end + 1;
}

static int read_names(table *t)
{
    int found = 0;

    t->pairs = strstr(t->line, "p3x") != NULL;
    t->name = t->pairs ? pair_name : self_name;
    t->count = t->pairs ? PAIR_NUMBERS : SELF_NUMBERS;
    t->category = -1;
    for (int i = 0; i < MOST_NUMBERS; i++) {
        t->place[i] = -1;
    }
    for (char *at = t->line, *next; at != NULL; at = next, t->columns++) {
        next = cut_field(at);
        if (strcmp(at, "category") == 0) {
            t->category = t->columns;
        }
        for (int i = 0; i < t->count; i++) {
            if (strcmp(at, t->name[i]) == 0 && t->place[i] < 0) {
                t->place[i] = t->columns;
                found++;
            }
        }
    }
    for (int i = 0; found < t->count; i++) {
        if (t->place[i] < 0) {
            return refuse(t, EQP_ERR_FORMAT, "there is no column ", t->name[i]);
        }
    }
    return EQP_OK;
}

static int read_fields(table *t, double number[], const char **category)
{
    int column = 0, found = 0;

    *category = t->pairs ? "pair" : "self";
    for (char *at = t->line, *next; at != NULL; at = next, column++) {
        next = cut_field(at);
        if (column == t->category) {
            *category = at;
        }
        for (int i = 0; i < t->count; i++) {
            if (column == t->place[i]) {
                char *end;
                number[i] = strtod(at, &end);
                if (end == at || *end != '\0' || !isfinite(number[i])) {
                    return refuse(t, EQP_ERR_FORMAT, "not a number: ", t->name[i]);
                }
                found++;
            }
        }
    }
    if (found < t->count) {
        return refuse(t, EQP_ERR_FORMAT, "too few columns", "");
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

static int medium_of(table *t, const double number[3], dd_medium *medium)
{
    const char *wrong = NULL;

    *medium = (dd_medium){.a = number[0], .mu = number[1], .nu = number[2]};
    wrong = medium->nu > -1 && medium->nu < 0.5 ? wrong : "nu is not between -1 and 0.5";
    wrong = medium->mu > 0 ? wrong : "mu is not positive";
    wrong = medium->a > 0 ? wrong : "a is not positive";
    return wrong != NULL ? refuse(t, EQP_ERR_DATA, wrong, "") : EQP_OK;
}

/* Forces on the ends of p1-p2, then of p3-p4. */
static int compute_pair(table *t, const double number[], double force[12])
{
    double column[9][1 + DD_LANES] = {{0}}, on_source[6][1 + DD_LANES] = {{0}};
    const dd_segment target = segment_of(number, number + 3, number + 12);
    const dd_segment source = segment_of(number + 6, number + 9, number + 15);
    dd_pair_counts counts = {0, 0};
    dd_columns columns;
    dd_medium medium;
    int code;

    EQP_TRY(medium_of(t, number + 18, &medium));
    if (!(has_length(&target) && has_length(&source))) {
        EQP_TRY(refuse(t, EQP_ERR_DATA, "a segment has no length", ""));
    }
    for (int d = 0; d < 3; d++) {
        column[d][0] = source.x1[d];
        column[3 + d][0] = source.x2[d];
        column[6 + d][0] = source.burgers[d];
    }
    for (int i = 0; i < 9; i++) {
        columns.at[i] = column[i];
    }
    for (int i = 0; i < 6; i++) {
        columns.force[i] = on_source[i];
        force[i] = 0;
    }
    t->fn(&medium, &target, &columns, 1, &(dd_run){0, 1}, force, &counts);
    for (int i = 0; i < 6; i++) {
        force[6 + i] = on_source[i][0];
    }
done:
    return code;
}

static int compute_self(table *t, const double number[], double force[6])
{
    const dd_segment segment = segment_of(number, number + 3, number + 6);
    dd_medium medium;
    int code;

    EQP_TRY(medium_of(t, number + 9, &medium));
    if (!has_length(&segment)) {
        EQP_TRY(refuse(t, EQP_ERR_DATA, "a segment has no length", ""));
    }
    dd_self_elastic(&medium, &segment, force);
done:
    return code;
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

static int add_row(table *t, const char *category, double deviation)
{
    char name[DD_CHECK_NAME];
    int64_t i = 0;
    int n = 0;

    for (; category[n] != '\0' && n < DD_CHECK_NAME - 1; n++) {
        name[n] = category[n];
        if ((unsigned char)name[n] < ' ' || name[n] == 127) {
            name[n] = '?';
        }
    }
    name[n] = '\0';
    while (i < t->check.ncategories && strcmp(t->check.category[i].category, name) != 0) {
        i++;
    }
    if (i == t->check.ncategories) {
        int code = eqp_array_reserve(&t->check.category, &t->capacity, i + 1, sizeof *t->check.category);
        if (code != EQP_OK) {
            return code;
        }
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
    const int forces = t->pairs ? PAIR_FORCES : SELF_FORCES, n = t->count - forces;
    double number[MOST_NUMBERS], force[12];
    const char *category;
    int code;

    EQP_TRY(read_fields(t, number, &category));
    EQP_TRY(t->pairs ? compute_pair(t, number, force) : compute_self(t, number, force));
    EQP_TRY(add_row(t, category, deviation(force, number + forces, n, number[forces - 2])));
done:
    return code;
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
