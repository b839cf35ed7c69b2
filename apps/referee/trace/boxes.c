/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of WarpX's reduced diagnostics LoadBalanceCosts: one line per step with a group of columns per box. The header
 * is `#[1]step() [2]time(s) [3]cost_box_0() [4]proc_box_0() ...`; a step with fewer boxes than the largest one is
 * filled with NaN. Level and lowest cell identify a box: a regrid makes new boxes. */
#include "build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COST, PROC, LEV, I_LOW, J_LOW, K_LOW, NFIELDS };
static const char *const field_name[NFIELDS] = {"cost", "proc", "lev", "i_low", "j_low", "k_low"};

/* Most levels: each doubles the cells along an axis. */
enum { MOST_LEVELS = 30 };

/* Field and box of a column; box -1: ignored. */
typedef struct column {
    int32_t field;
    int64_t box;
} column;

typedef struct boxes {
    rf_build *build;
    int64_t ncolumns, column_room, nboxes; /* nboxes: most in a line */
    column *column;
    double *value; /* [nboxes][NFIELDS] of this line */
    rf_keys known; /* level and lowest cell; boxes of the first step keep WarpX's numbers */
} boxes;

/* "[7]i_low_box_0()" */
static column read_column(char *name)
{
    column none = {0, -1};
    char *middle, *end;
    long long number;

    if (name[0] == '[') {
        name += strcspn(name, "]");
        name += name[0] == ']';
    }
    name[strcspn(name, "(")] = '\0';
    middle = strstr(name, "_box_");
    if (middle == NULL) {
        return none;
    }
    *middle = '\0';
    number = strtoll(middle + 5, &end, 10);
    for (int f = 0; f < NFIELDS; f++) {
        if (strcmp(name, field_name[f]) == 0 && end > middle + 5 && *end == '\0' && number >= 0) {
            return (column){f, number};
        }
    }
    return none;
}

static int read_header(boxes *b, char *line, char separator)
{
    char *name;

    line += line[0] == '#';
    while ((name = rf_field_next(&line, separator)) != NULL) {
        EQP_CHECK(eqp_array_reserve(&b->column, &b->column_room, b->ncolumns + 1, sizeof *b->column));
        b->column[b->ncolumns] = read_column(name);
        const int64_t at = b->column[b->ncolumns++].box;
        RF_REFUSE_IF(at > b->ncolumns, b->build, EQP_ERR_FORMAT, "box %lld in column %lld", (long long)at,
                     (long long)b->ncolumns); /* boxes are numbered without gaps */
        b->nboxes = at >= b->nboxes ? at + 1 : b->nboxes;
    }
    return eqp_array_create(&b->value, b->nboxes * NFIELDS, sizeof *b->value);
}

static int name_box(boxes *b, int64_t index, const int64_t key[RF_KEY_WORDS])
{
    char text[120];

    if (b->build->item[index].name != NULL) {
        return EQP_OK;
    }
    (void)snprintf(text, sizeof text, "level %lld at %lld %lld %lld", (long long)key[0], (long long)key[1],
                   (long long)key[2], (long long)key[3]);
    return rf_build_name(b->build, index, strdup(text));
}

static int take_box(boxes *b, int64_t phase, const double value[NFIELDS])
{
    int64_t key[RF_KEY_WORDS], index;
    rf_row row = {.phase = phase, .load = value[COST], .bytes = RF_NONE, .placed = true};

    for (int f = PROC; f < NFIELDS; f++) {
        RF_REFUSE_IF(!(fabs(value[f]) < 0x1p53) || value[f] != floor(value[f]), b->build, EQP_ERR_DATA, "%s is %g",
                     field_name[f], value[f]);
    }
    RF_REFUSE_IF(value[LEV] < 0 || value[LEV] > MOST_LEVELS, b->build, EQP_ERR_DATA, "level %g", value[LEV]);
    row.rank = (int64_t)value[PROC];
    for (int d = 0; d < 3; d++) {
        row.centre[d] = ldexp(value[I_LOW + d], -(int)value[LEV]); /* levels refine by 2 */
        key[1 + d] = (int64_t)value[I_LOW + d];
    }
    key[0] = (int64_t)value[LEV];
    EQP_CHECK(rf_keys_take(&b->known, key, &row.item));
    EQP_CHECK(rf_build_row(b->build, &row, &index));
    return name_box(b, index, key);
}

static int read_line(boxes *b, char *line, char separator)
{
    char *field = rf_field_next(&line, separator);
    int64_t step = 0, at = 1;

    for (int64_t v = 0; v < b->nboxes * NFIELDS; v++) {
        b->value[v] = NAN;
    }
    EQP_CHECK(rf_field_int(b->build, field != NULL ? field : "", "step", &step));
    for (; (field = rf_field_next(&line, separator)) != NULL; at++) {
        RF_REFUSE_IF(at >= b->ncolumns, b->build, EQP_ERR_DATA, "more fields than the header has");
        const column *c = &b->column[at];
        if (c->box >= 0 && strcasecmp(field, "nan") != 0) {
            EQP_CHECK(rf_field_real(b->build, field, field_name[c->field], &b->value[c->box * NFIELDS + c->field]));
        }
    }
    RF_REFUSE_IF(at < b->ncolumns, b->build, EQP_ERR_DATA, "%lld fields, where the header has %lld", (long long)at,
                 (long long)b->ncolumns); /* a step of fewer boxes is filled with NaN */
    for (int64_t i = 0; i < b->nboxes; i++) {
        const double *value = b->value + i * NFIELDS;
        if (!isnan(value[COST]) || !isnan(value[PROC])) { /* else this step lacks the box */
            EQP_CHECK(take_box(b, step, value));
        }
    }
    return EQP_OK;
}

int rf_read_boxes(rf_build *build, const char *path)
{
    boxes b = {.build = build, .known = {.more = RF_KEY_WORDS - 1}};
    rf_lines lines = {.stream = NULL};
    bool end = false;
    char separator = ' ';
    int code;

    EQP_TRY(rf_lines_open(build, path, &lines));
    EQP_TRY(rf_build_timed(build, false)); /* the file does not distinguish seconds from a heuristic */
    for (;;) {
        EQP_TRY(rf_lines_next(&lines, build, &end));
        if (end) {
            break;
        }
        if (b.ncolumns == 0) {
            separator = rf_separator_of(lines.line);
            EQP_TRY(read_header(&b, lines.line, separator));
        } else if (lines.line[strspn(lines.line, " \t")] != '\0') {
            EQP_TRY(read_line(&b, lines.line, separator));
        }
    }
done:
    rf_lines_close(&lines);
    free(b.column);
    free(b.value);
    rf_keys_free(&b.known);
    return code;
}
