/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines and fields of text. */
#include "base/internal.h"
#include "io/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

enum { LINE_BYTES = 1 << 16 };

int eqp__text_open(eqp__text *text, const char *path, int64_t size, eqp_message *message)
{
    *text = (eqp__text){.source = {.fd = -1}};
    EQP__CHECK(eqp_array_create(&text->buffer, LINE_BYTES + 1, 1));
    return eqp__source_open(path, size, &text->source, message);
}

void eqp__text_close(eqp__text *text)
{
    eqp__source_close(&text->source);
    free(text->buffer);
}

void eqp__text_seek(eqp__text *text, int64_t offset, int64_t line)
{
    text->offset = offset;
    text->line = line;
    text->begin = text->end = 0;
}

int eqp__text_refuse(const eqp__text *text, const char *what, eqp_message *message)
{
    return EQP__SAY(message, EQP_ERR_FORMAT, "%s: line %lld: %s", text->source.path, (long long)text->line, what);
}

int eqp__text_fetch(eqp__text *t, eqp_message *message)
{
    size_t room, bytes;

    memmove(t->buffer, t->buffer + t->begin, t->end - t->begin);
    t->end -= t->begin;
    t->begin = 0;
    room = LINE_BYTES - t->end;
    bytes = t->source.size - t->offset < (int64_t)room ? (size_t)(t->source.size - t->offset) : room;
    EQP__CHECK(eqp__source_read(&t->source, t->buffer + t->end, bytes, t->offset, message));
    t->offset += (int64_t)bytes;
    t->end += bytes;
    return EQP_OK;
}

bool eqp__text_is_fetched(const eqp__text *t)
{
    return t->offset >= t->source.size || t->end - t->begin >= LINE_BYTES;
}

int eqp__text_next(eqp__text *t, eqp__text_line *found, eqp_message *message)
{
    static const char mark[] = "\xef\xbb\xbf"; /* that spreadsheets put before UTF-8 */
    char *stop = memchr(t->buffer + t->begin, '\n', t->end - t->begin);
    size_t length;

    if (!stop && t->offset < t->source.size) {
        EQP__CHECK(eqp__text_fetch(t, message));
        stop = memchr(t->buffer, '\n', t->end);
    }
    if (t->begin == t->end) {
        found->text = NULL;
        return EQP_OK;
    }
    t->line++;
    EQP__FAIL_IF(!stop && t->offset < t->source.size, eqp__text_refuse(t, "is longer than 65535 bytes", message));
    length = stop ? (size_t)(stop - t->buffer) - t->begin : t->end - t->begin;
    *found = (eqp__text_line){
        .text = t->buffer + t->begin, .offset = t->offset - (int64_t)(t->end - t->begin), .ended = stop};
    found->text[length] = '\0';
    t->begin += length + (stop ? 1 : 0);
    EQP__FAIL_IF(memchr(found->text, '\0', length),
                 eqp__text_refuse(t, "holds a zero byte: damaged, or no text", message));
    if (found->offset > 0) {
        return EQP_OK;
    }
    if (strncmp(found->text, mark, 3) == 0) {
        found->text += 3;
    }
    stop = strchr(found->text, '\r');
    EQP__FAIL_IF(stop && stop[1] != '\0',
                 eqp__text_refuse(t, "ends with CR alone: convert the line ends with tr '\\r' '\\n'", message));
    return EQP_OK;
}

int eqp__text_next_data(eqp__text *t, eqp__text_line *found, eqp_message *message)
{
    for (;;) {
        EQP__CHECK(eqp__text_next(t, found, message));
        const char *p = found->text;

        while (p && isspace((unsigned char)*p)) {
            p++;
        }
        if (!p || (*p != '\0' && *p != '#')) {
            return EQP_OK;
        }
    }
}

static char *skip_blanks(char *p, char but)
{
    while (isspace((unsigned char)*p) && *p != but) {
        p++;
    }
    return p;
}

/* Returns the closing quote of a quoted field. Doubled quotes inside are kept. */
static char *end_of_quoted(char *p)
{
    const char quote = *p++;

    while (*p != '\0' && (*p != quote || p[1] == quote)) {
        p += *p == quote ? 2 : 1;
    }
    return p;
}

bool eqp__text_field(char **at, char separator, char **field)
{
    char *p = skip_blanks(*at, separator), *stop, *next;

    if (*p == '\0' || *p == '#') {
        *at = p;
        return false;
    }
    if (separator == 0) {
        for (stop = p; *stop != '\0' && *stop != '#' && !isspace((unsigned char)*stop); stop++) {
        }
        next = *stop == '\0' || *stop == '#' ? stop : stop + 1;
        /* The zero replaces a blank or the start of a comment. */
        *stop = '\0';
        *field = p;
        *at = next;
        return true;
    }
    *field = p;
    if (*p == '"' || *p == '\'') {
        stop = end_of_quoted(p);
        *field = p + 1;
        next = *stop == '\0' ? stop : stop + 1;
        next += strcspn(next, (const char[]){separator, '\0'});
    } else {
        next = p + strcspn(p, (const char[]){separator, '#', '\0'});
        for (stop = next; stop > p && isspace((unsigned char)stop[-1]); stop--) {
        }
    }
    *at = *next == separator ? next + 1 : next;
    if (*next == '#') {
        *next = '\0';
    }
    *stop = '\0';
    return true;
}

/* Counts the fields without changing the line. */
int eqp__text_count(const char *line, char separator)
{
    char copy[LINE_BYTES + 1], *p = copy, *field;
    int n = 0;

    memcpy(copy, line, strlen(line) + 1);
    while (eqp__text_field(&p, separator, &field)) {
        n++;
    }
    return n;
}

/* Fortran writes 1.0D+00. */
bool eqp__text_real(char *field, double *value)
{
    char *stop;

    *value = strtod(field, &stop);
    if (stop != field && (*stop == 'D' || *stop == 'd') && (isdigit((unsigned char)stop[-1]) || stop[-1] == '.')) {
        *stop = 'e';
        *value = strtod(field, &stop);
    }
    return stop != field && *stop == '\0';
}

bool eqp__text_integer(char *field, int64_t *value)
{
    double real;
    char *stop;

    errno = 0;
    *value = strtoll(field, &stop, 10);
    if (stop != field && *stop == '\0' && errno == 0) {
        return true;
    }
    /* Tables of floating-point numbers have ids such as 1.0 and 1e3. */
    if (errno == 0 && eqp__text_real(field, &real) && fabs(real) <= 9007199254740992.0 && real == floor(real)) {
        *value = (int64_t)real;
        return true;
    }
    return false;
}

bool eqp__text_reals(char *line, int n, double *value)
{
    for (int i = 0; i < n; i++) {
        char *field;

        if (!eqp__text_field(&line, 0, &field) || !eqp__text_real(field, &value[i])) {
            return false;
        }
    }
    return true;
}

void eqp__layout_set(eqp__layout *layout, int role, int column)
{
    if (column >= EQP__TEXT_COLUMNS || layout->column[role] >= 0) {
        return;
    }
    layout->column[role] = column;
    layout->role[column] = (int8_t)role;
    layout->ncolumns = column + 1 > layout->ncolumns ? column + 1 : layout->ncolumns;
}

void eqp__layout_forget(eqp__layout *layout, int first, int n)
{
    for (int i = first; i < first + n; i++) {
        if (layout->column[i] >= 0) {
            layout->role[layout->column[i]] = EQP__TEXT_NO_ROLE;
        }
        layout->column[i] = -1;
    }
}

bool eqp__layout_has(const eqp__layout *layout, int first, int n)
{
    bool has = true;

    for (int i = first; i < first + n; i++) {
        has &= layout->column[i] >= 0;
    }
    return has;
}

/* Roles of columns, found from their names. */

enum { NAME_BYTES = 48, MOST_NAMES = 16 };

/* Names in lower case, without blanks, underscores, units and axis. A LAMMPS dump can hold several kinds of positions;
 * the first row found wins. The axis is x, y, z or 0, 1, 2 after the name, or x, y, z before it. */
static const struct {
    int role, naxes;
    bool axis_first, scaled;
    const char *name[MOST_NAMES];
} names[] = {
    {EQP__TEXT_X,
     3,
     false,
     false,
     {"", "pos", "position", "positions", "coord", "coordinate", "coordinates", "particleposition", "points", "point",
      "r", "centre", "center", "com"}},
    {EQP__TEXT_X, 3, true, false, {"u"}},
    {EQP__TEXT_X, 3, true, true, {"s"}},
    {EQP__TEXT_X, 3, true, true, {"su"}},
    {EQP__TEXT_VX,
     3,
     false,
     false,
     {"v", "vel", "velocity", "velocities", "particlevelocity", "particlevelocities", "velo"}},
    {EQP__TEXT_MASS, 1, false, false, {"m", "mass", "masses", "particlemass", "particlemasses", "mp"}},
    {EQP__TEXT_ID,
     1,
     false,
     false,
     {"id", "ids", "particleid", "particleids", "particleindex", "pid", "index", "tag", "number", "iord", "atomid"}},
};

/* Units written after a name without brackets. */
static bool is_unit(const char *word)
{
    static const char *const unit[] = {"kpc", "pc",  "mpc",  "au",   "ly",   "cm",
                                       "km",  "kms", "km/s", "msun", "code", "kpch"};
    bool is = false;

    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++) {
        is |= strcasecmp(unit[i], word) == 0;
    }
    return is;
}

/* "Position_X [kpc/h]" and "position_x_kpc" -> "positionx" */
static void simplify(char *name, char *plain)
{
    char *last = strrchr(name, '_');
    size_t n = 0;

    last = last ? last : strrchr(name, ' ');
    if (last && is_unit(last + 1)) {
        *last = '\0';
    }
    for (; *name != '\0' && *name != '[' && *name != '(' && n + 1 < NAME_BYTES; name++) {
        if (isalnum((unsigned char)*name)) {
            plain[n++] = (char)tolower((unsigned char)*name);
        }
    }
    plain[n] = '\0';
}

/* Returns the axis (0 to 2) if the name is `base` with an axis, else -1. */
static int axis_of(const char *plain, const char *base, bool axis_first)
{
    static const char axes[] = "xyz012";
    const size_t length = strlen(plain), known = strlen(base);
    const char *axis;

    if (length != known + 1) {
        return -1;
    }
    axis = strchr(axes, plain[known]);
    if (axis && !axis_first && strncmp(plain, base, known) == 0 && (known > 0 || axis < axes + 3)) {
        return (int)(axis - axes) % 3;
    }
    axis = strchr(axes, plain[0]);
    return axis && axis < axes + 3 && strcmp(plain + 1, base) == 0 ? (int)(axis - axes) : -1;
}

/* plain: [column + 1][NAME_BYTES] names up to this one. */
static void take_name(eqp__layout *layout, int kind, char (*plain)[NAME_BYTES], int column)
{
    for (int i = 0; i < MOST_NAMES && names[kind].name[i]; i++) {
        const char *name = plain[column], *base = names[kind].name[i];
        const int axis = names[kind].naxes == 3    ? axis_of(name, base, names[kind].axis_first)
                         : strcmp(name, base) == 0 ? 0
                                                   : -1;
        const int earlier = axis >= 0 ? layout->column[names[kind].role + axis] : -1;

        if (earlier >= 0 && strcmp(name, plain[earlier]) == 0) {
            layout->repeated = column + 1;
        } else if (axis >= 0) {
            eqp__layout_set(layout, names[kind].role + axis, column);
        }
    }
}

bool eqp__layout_by_names(eqp__layout *layout, char *line)
{
    char plain[EQP__TEXT_COLUMNS][NAME_BYTES];
    char *field;
    int n = 0;
    bool placed = false;

    while (n < EQP__TEXT_COLUMNS && eqp__text_field(&line, layout->separator, &field)) {
        /* A header separated by blanks may have units in brackets as fields; they name no column. */
        if (layout->separator != 0 || !strchr("[(", field[0]) || field[0] == '\0') {
            simplify(field, plain[n++]);
        }
    }
    for (int kind = 0; kind < (int)(sizeof names / sizeof *names); kind++) {
        const bool of_places = names[kind].role == EQP__TEXT_X;

        for (int c = 0; c < n && !(of_places && placed); c++) {
            if (layout->role[c] == EQP__TEXT_NO_ROLE) {
                take_name(layout, kind, plain, c);
            }
        }
        if (names[kind].naxes == 3 && !eqp__layout_has(layout, names[kind].role, 3)) {
            eqp__layout_forget(layout, names[kind].role, 3);
        } else if (of_places && !placed) {
            placed = true;
            layout->scaled = names[kind].scaled;
        }
    }
    layout->ncolumns = 0;
    for (int r = 0; r < EQP__TEXT_ROLES; r++) {
        layout->ncolumns = layout->column[r] >= layout->ncolumns ? layout->column[r] + 1 : layout->ncolumns;
    }
    return placed;
}
