/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of tables of items and edges. The header names the columns. */
#include "build.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ITEM, X, Y, Z, LOAD, PHASE, RANK, BYTES, FIXED, HELD, WORKING, BLOCK, BLOCK_BYTES, FROM, TO, NCOLUMNS };

/* Names of a column; messages use the first. */
enum { MOST_NAMES = 6 };
static const char *const names[NCOLUMNS][MOST_NAMES] = {
    [ITEM] = {"item", "id", "object", "task", "element", NULL},
    [X] = {"x", NULL},
    [Y] = {"y", NULL},
    [Z] = {"z", NULL},
    [LOAD] = {"load", "cost", "work", "time", "seconds", "cpu"},
    [PHASE] = {"phase", "step", "iteration", NULL},
    [RANK] = {"rank", "proc", "part", "pe", NULL},
    [BYTES] = {"bytes", "size", NULL},
    [FIXED] = {"fixed", NULL},
    [HELD] = {"held", "memory", "footprint", NULL},
    [WORKING] = {"working", NULL},
    [BLOCK] = {"block", "shared_id", NULL},
    [BLOCK_BYTES] = {"block_bytes", "shared_bytes", NULL},
    [FROM] = {"from", "source", NULL},
    [TO] = {"to", "target", NULL},
};

/* Units of loads, in seconds. */
static const struct unit {
    const char *name;
    double seconds;
} units[] = {{"s", 1}, {"sec", 1}, {"seconds", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}};

typedef struct table {
    rf_build *build;
    char separator;
    bool edges;           /* of edges, else of items */
    bool timed;           /* loads are seconds, else of no known unit */
    char unread[41];      /* first column that is ignored */
    int nunread;          /* number of ignored columns */
    char odd[40];         /* suffix of a load's name that is no unit, or "" */
    int column[NCOLUMNS]; /* -1: absent */
    double unit;          /* of a load, in seconds */
    char *field[NCOLUMNS];
} table;

/* Cuts off the unit after a name: "load_ms", "load(ms)", "load [ms]". */
static char *cut_unit(char *name)
{
    char *at = strpbrk(name, "([");
    char *unit = "";

    if (at != NULL) {
        unit = at + 1;
        unit[strcspn(unit, ")]")] = '\0';
    } else if ((at = strrchr(name, '_')) != NULL) {
        unit = at + 1;
    }
    if (at != NULL) {
        while (at > name && at[-1] == ' ') {
            at--;
        }
        *at = '\0';
    }
    return unit;
}

static int find_column(const char *name)
{
    for (int c = 0; c < NCOLUMNS; c++) {
        for (int k = 0; k < MOST_NAMES && names[c][k] != NULL; k++) {
            if (strcasecmp(name, names[c][k]) == 0) {
                return c;
            }
        }
    }
    return -1;
}

/* Applies the unit of a column; *known: false for an unknown word, as part of another column's name. */
static int take_unit(table *t, int column, const char *unit, bool *known)
{
    static const char *const sizes[] = {"kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib"};
    const size_t n = sizeof units / sizeof units[0];
    size_t k = 0;

    *known = true;
    if (column == LOAD && unit[0] != '\0') {
        while (k < n && strcasecmp(unit, units[k].name) != 0) {
            k++;
        }
        *known = k < n;
        t->unit = k < n ? units[k].seconds : t->unit;
        t->timed = t->timed || k < n;
        if (k == n) {
            (void)snprintf(t->odd, sizeof t->odd, "%s", unit);
        }
        return EQP_OK;
    }
    if (column != BYTES && (column < HELD || column > BLOCK_BYTES)) {
        return EQP_OK; /* positions may have any unit */
    }
    for (k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        RF_REFUSE_IF(strcasecmp(unit, sizes[k]) == 0, t->build, EQP_ERR_FORMAT, "unit '%.40s': bytes come in bytes",
                     unit);
    }
    *known = unit[0] == '\0' || strcasecmp(unit, "bytes") == 0 || strcasecmp(unit, "b") == 0;
    return EQP_OK;
}

static int take_name(table *t, char *name, int at)
{
    char whole[64];
    int column;
    int code;

    (void)snprintf(whole, sizeof whole, "%s", name);
    column = find_column(name);
    t->timed = t->timed || strcasecmp(name, "seconds") == 0 || strcasecmp(name, "time") == 0;
    if (column < 0) {
        const char *unit = cut_unit(name);
        bool known = true;
        column = find_column(name);
        EQP_TRY(column >= 0 ? take_unit(t, column, unit, &known) : EQP_OK);
        column = known ? column : -1;
    }
    if (column < 0) {
        if (t->nunread++ == 0) {
            (void)snprintf(t->unread, sizeof t->unread, "%.40s", whole);
        }
        return EQP_OK;
    }
    RF_REFUSE_IF(t->column[column] >= 0, t->build, EQP_ERR_FORMAT, "two columns are '%s'", names[column][0]);
    t->column[column] = at;
    code = EQP_OK;
done:
    return code;
}

static int want_column(const table *t, int column)
{
    return t->column[column] >= 0
               ? EQP_OK
               : rf_build_refuse(t->build, EQP_ERR_FORMAT, "there is no column '%s'", names[column][0]);
}

static int read_header(table *t, char *line)
{
    char *name;
    int at = 0;

    t->separator = rf_separator_of(line);
    t->unit = 1.0;
    t->timed = false;
    t->odd[0] = '\0';
    t->nunread = 0;
    for (int c = 0; c < NCOLUMNS; c++) {
        t->column[c] = -1;
    }
    while ((name = rf_field_next(&line, t->separator)) != NULL) {
        EQP_CHECK(take_name(t, name, at++));
    }
    t->edges = t->column[FROM] >= 0 || t->column[TO] >= 0;
    if (!t->edges && t->column[ITEM] < 0 && t->column[RANK] >= 0) {
        t->column[ITEM] = t->column[RANK];
        rf_build_note(t->build, "there are loads of ranks only: each rank is one item");
    }
    if (t->nunread == 1) {
        rf_build_note(t->build, "column '%s' is not read", t->unread);
    } else if (t->nunread > 1) {
        rf_build_note(t->build, "column '%s' and %d more are not read", t->unread, t->nunread - 1);
    }
    EQP_CHECK(want_column(t, t->edges ? FROM : ITEM));
    RF_REFUSE_IF(!t->edges && t->column[LOAD] < 0 && t->odd[0] != '\0', t->build, EQP_ERR_FORMAT,
                 "unit '%s' of loads is not known", t->odd);
    EQP_CHECK(want_column(t, t->edges ? TO : LOAD));
    EQP_CHECK(t->edges ? EQP_OK : rf_build_timed(t->build, t->timed));
    if (!t->edges && (t->column[Y] >= 0 || t->column[Z] >= 0)) {
        EQP_CHECK(want_column(t, X));
        EQP_CHECK(t->column[Z] >= 0 ? want_column(t, Y) : EQP_OK);
    }
    return EQP_OK;
}

/* Field of a column in this row; NULL if the column is absent, or the field is empty where it may be. */
static int get(const table *t, int column, bool may_be_empty, const char **field)
{
    *field = t->column[column] >= 0 ? t->field[column] : NULL;
    if (t->column[column] >= 0 && (*field == NULL || (*field)[0] == '\0')) {
        *field = NULL;
        return may_be_empty ? EQP_OK : rf_build_refuse(t->build, EQP_ERR_DATA, "there is no %s", names[column][0]);
    }
    return EQP_OK;
}

static int get_int(const table *t, int column, bool may_be_empty, int64_t *value)
{
    const char *field;

    EQP_CHECK(get(t, column, may_be_empty, &field));
    if (field != NULL) {
        EQP_CHECK(rf_field_int(t->build, field, names[column][0], value));
    }
    return EQP_OK;
}

static int get_real(const table *t, int column, bool may_be_empty, double *value, bool *there)
{
    const char *field;

    EQP_CHECK(get(t, column, may_be_empty, &field));
    *there = field != NULL;
    if (field != NULL) {
        EQP_CHECK(rf_field_real(t->build, field, names[column][0], value));
    }
    return EQP_OK;
}

/* Reads the given values only: a number of bytes may be empty, as may the block of an item that shares none. */
static int read_needs(const table *t, rf_needs *needs)
{
    bool there;

    needs->known = t->column[HELD] >= 0 || t->column[WORKING] >= 0 || t->column[BLOCK] >= 0;
    needs->block = -1;
    EQP_CHECK(get_real(t, HELD, true, &needs->held, &there));
    EQP_CHECK(get_real(t, WORKING, true, &needs->working, &there));
    EQP_CHECK(get_real(t, BLOCK_BYTES, true, &needs->block_bytes, &there));
    return get_int(t, BLOCK, true, &needs->block);
}

static int read_item(const table *t)
{
    rf_row row = {.phase = 0, .rank = RF_NONE, .bytes = RF_NONE};
    int64_t fixed = 0;
    bool there, placed[3] = {false};

    EQP_CHECK(get_int(t, ITEM, false, &row.item));
    EQP_CHECK(get_real(t, LOAD, false, &row.load, &there));
    row.load *= t->unit;
    for (int d = 0; d < 3; d++) {
        EQP_CHECK(get_real(t, X + d, true, &row.centre[d], &placed[d]));
        RF_REFUSE_IF(t->column[X + d] >= 0 && placed[d] != placed[0], t->build, EQP_ERR_DATA, "half a position");
    }
    row.placed = placed[0];
    EQP_CHECK(get_int(t, PHASE, false, &row.phase));
    EQP_CHECK(get_int(t, RANK, false, &row.rank));
    EQP_CHECK(get_int(t, BYTES, true, &row.bytes));
    EQP_CHECK(get_int(t, FIXED, true, &fixed));
    row.fixed = fixed != 0;
    EQP_CHECK(read_needs(t, &row.needs));
    RF_REFUSE_IF(row.fixed && row.rank == RF_NONE, t->build, EQP_ERR_DATA, "item %lld is fixed, but has no rank",
                 (long long)row.item);
    return rf_build_row(t->build, &row, NULL);
}

static int read_edge(const table *t)
{
    int64_t from = 0, to = 0, bytes = RF_NONE, phase = RF_NONE;

    EQP_CHECK(get_int(t, FROM, false, &from));
    EQP_CHECK(get_int(t, TO, false, &to));
    EQP_CHECK(get_int(t, BYTES, true, &bytes));
    EQP_CHECK(get_int(t, PHASE, true, &phase));
    return rf_build_edge(t->build, from, to, bytes, phase);
}

static int read_row(table *t, char *line)
{
    char *field;
    int at = 0, columns = 0;

    for (int c = 0; c < NCOLUMNS; c++) {
        t->field[c] = NULL;
        columns = t->column[c] >= columns ? t->column[c] + 1 : columns;
    }
    while ((field = rf_field_next(&line, t->separator)) != NULL) {
        for (int c = 0; c < NCOLUMNS; c++) {
            t->field[c] = t->column[c] == at ? field : t->field[c];
        }
        at++;
    }
    RF_REFUSE_IF(at < columns, t->build, EQP_ERR_DATA, "%d fields, where the header has more", at);
    return t->edges ? read_edge(t) : read_item(t);
}

static bool is_header(const char *line)
{
    line += strspn(line, " \t\"");
    return isalpha((unsigned char)line[0]) && strncasecmp(line, "nan", 3) != 0 && strncasecmp(line, "inf", 3) != 0;
}

bool rf_is_table(const char *text)
{
    bool has[NCOLUMNS] = {false};
    char line[4097], *rest = line, *name;

    while (*text != '\0' && (strchr("#\r\n", *text) != NULL || strncasecmp(text, "sep=", 4) == 0)) {
        text += *text == '\r' || *text == '\n' ? 1 : strcspn(text, "\n");
    }
    (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\r\n"), text);
    const char separator = rf_separator_of(line);
    while (is_header(text) && (name = rf_field_next(&rest, separator)) != NULL) {
        int column = find_column(name);
        if (column < 0) {
            (void)cut_unit(name);
            column = find_column(name);
        }
        if (column >= 0) {
            has[column] = true;
        }
    }
    return (has[LOAD] && (has[ITEM] || has[RANK])) || (has[FROM] && has[TO]);
}

int rf_read_text(rf_build *build, const char *path, bool edges_only)
{
    table t = {.build = build};
    rf_lines lines = {.stream = NULL};
    bool end = false, begun = false;
    int code;

    EQP_TRY(rf_lines_open(build, path, &lines));
    for (;;) {
        EQP_TRY(rf_lines_next(&lines, build, &end));
        if (end) {
            break;
        }
        char *line = lines.line;
        if (line[strspn(line, " \t,;")] == '\0' || line[0] == '#' || strncasecmp(line, "sep=", 4) == 0) {
            continue; /* a comment, a row of empty cells, a spreadsheet's separator line */
        }
        if (is_header(line)) {
            EQP_TRY(read_header(&t, line));
            begun = true;
            if (edges_only && !t.edges) {
                EQP_TRY(want_column(&t, FROM));
            }
        } else {
            EQP_TRY(begun ? read_row(&t, line)
                          : rf_build_refuse(build, EQP_ERR_FORMAT,
                                            "not a trace: no JSON, HDF5 or dump, nor a header such as "
                                            "'item,x,y,z,load'"));
        }
    }
    if (!begun) {
        EQP_TRY(rf_build_refuse(build, EQP_ERR_FORMAT, "not a trace: there is no header"));
    }
done:
    rf_lines_close(&lines);
    return code;
}
