/* SPDX-License-Identifier: BSD-3-Clause */
/* Text with one particle per line. One pass records the offset of every 1024th line, so that a slice is parsed alone.
 */
#include "io/text.h"
#include "base/internal.h"
#include "io/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { STRIDE = 1024, TYPE = 1, NTYPES = 6, COMMENT_BYTES = 4096 };

typedef struct mark {
    int64_t offset, line; /* start of a line; number of the line before it */
} mark;

typedef struct detail {
    eqp__layout layout;
    int64_t nmarks, capacity;
    mark *at; /* [nmarks] of particles 0, STRIDE, 2 STRIDE, ... */
} detail;

static bool probe(const eqp__probe *p)
{
    for (size_t i = 0; i < p->length; i++) {
        if (p->head[i] < ' ' && !isspace(p->head[i])) {
            return false;
        }
    }
    return true;
}

static int next_particle(eqp__text *r, const eqp__layout *layout, eqp__text_line *at, eqp_message *message)
{
    return layout->every ? eqp__text_next(r, at, message) : eqp__text_next_data(r, at, message);
}

/* Splits the line in place and stores the columns that have a role. */
static int parse_particle(const eqp__text *r, const eqp__layout *l, char *line, int64_t *id, int64_t *kind,
                          double number[EQP__TEXT_NUMBERS], eqp_message *message)
{
    char what[64], *field = NULL;

    for (int c = 0; c < l->ncolumns; c++) {
        const int role = l->role[c];
        bool good = eqp__text_field(&line, l->separator, &field);

        if (good && role < EQP__TEXT_NUMBERS) {
            good = eqp__text_real(field, &number[role]);
        } else if (good && role < EQP__TEXT_ROLES) {
            good = eqp__text_integer(field, role == EQP__TEXT_ID ? id : kind);
        }
        if (!good) {
            snprintf(what, sizeof what, "column %d is not %s", c + 1,
                     role == EQP__TEXT_ID || role == EQP__TEXT_KIND       ? "an integer"
                     : l->separator != ',' && field && strchr(field, ',') ? "a number: write a decimal point, no comma"
                                                                          : "a number");
            return eqp__text_refuse(r, what, message);
        }
    }
    return EQP_OK;
}

/* The separator is the comma or semicolon after the first field; in a line of names, one anywhere in the line, or a
 * tab. Otherwise any blanks separate. */
static char find_separator(const char *line, bool of_names)
{
    const char *p = line;

    if (!of_names) {
        p += strspn(p, " \t");
        p += strcspn(p, " \t,;#\r");
        p += strspn(p, " \t\r");
        return *p == ',' || *p == ';' ? *p : '\0';
    }
    p = line + strcspn(line, ",;");
    return *p != '\0' ? *p : strchr(line, '\t') ? '\t' : '\0';
}

static bool is_number(const char *line, char separator)
{
    char copy[64], *p = copy, *field;
    double value;

    snprintf(copy, sizeof copy, "%s", line);
    return eqp__text_field(&p, separator, &field) && eqp__text_real(field, &value);
}

/* Three lines: any integer, the number of particles, the time. `at` holds the first. */
static int parse_headers(eqp__text *r, eqp__text_line *at, eqp__layout *l, eqp_message *message)
{
    int64_t number[2];
    char *field, *p;

    for (int i = 0; i < 2; i++) {
        p = at->text;
        EQP__FAIL_IF(
            !eqp__text_field(&p, 0, &field) || !eqp__text_integer(field, &number[i]) || eqp__text_count(p, 0) != 0,
            eqp__text_refuse(r, "neither 'm x y z vx vy vz' nor a header of integer, number of particles, time",
                             message));
        EQP__CHECK(eqp__text_next_data(r, at, message));
        EQP__FAIL_IF(!at->text, eqp__text_refuse(r, "the header of three lines ends here: truncated?", message));
    }
    EQP__FAIL_IF(eqp__text_count(at->text, 0) != 1 || !eqp__text_reals(at->text, 1, &l->time),
                 eqp__text_refuse(r, "the third header line is not the time", message));
    EQP__FAIL_IF(number[1] < 1, eqp__text_refuse(r, "the header above says that there are no particles", message));
    l->n = number[1];
    l->whole = true;
    eqp__layout_set(l, EQP__TEXT_ID, 0);
    for (int c = 0; c < EQP__TEXT_NUMBERS; c++) {
        eqp__layout_set(l, c, c + 1);
    }
    snprintf(l->format, sizeof l->format, "text with ids");
    return eqp__text_next_data(r, at, message);
}

/* Names are in the first line, or in the comment above it if that has as many fields as there are columns. */
static bool find_names(eqp__layout *l, const eqp__text_line *at, char *comment, bool has_names)
{
    bool found = false;

    l->separator = find_separator(at->text, has_names);
    if (has_names) {
        found = eqp__layout_by_names(l, at->text + strspn(at->text, "%!/ "));
    } else if (comment[0] != '\0' &&
               eqp__text_count(comment, l->separator) == eqp__text_count(at->text, l->separator)) {
        found = eqp__layout_by_names(l, comment);
    }
    if (found) {
        snprintf(l->format, sizeof l->format, "text with named columns");
    }
    return found;
}

/* at: the first line of data. */
static int find_columns(eqp__text *r, eqp__text_line *at, char *comment, eqp__layout *l, eqp_message *message)
{
    const bool has_names = !is_number(at->text, find_separator(at->text, false));
    char what[160];
    int n;

    if (find_names(l, at, comment, has_names)) {
        if (l->repeated > 0) {
            snprintf(what, sizeof what, "column %d has the name of an earlier column", l->repeated);
            return eqp__text_refuse(r, what, message);
        }
        return has_names ? eqp__text_next_data(r, at, message) : EQP_OK;
    }
    n = eqp__text_count(at->text, l->separator);
    EQP__FAIL_IF(
        has_names,
        eqp__text_refuse(r, "is not 'm x y z vx vy vz', and names no columns x, y, z: in no known format", message));
    if (n == 3) {
        /* A single unfinished line is probably the start of a longer one. */
        EQP__FAIL_IF(!at->ended, eqp__text_refuse(r, "ends behind three numbers: truncated?", message));
        l->exact = true;
    } else if (n < EQP__TEXT_NUMBERS) {
        snprintf(what, sizeof what,
                 "has %d columns, and is not 'm x y z vx vy vz' nor 'x y z': name them in a first line", n);
        return eqp__text_refuse(r, what, message);
    }
    for (int c = n == 3 ? 1 : 0; c < (n == 3 ? 4 : EQP__TEXT_NUMBERS); c++) {
        eqp__layout_set(l, c, n == 3 ? c - 1 : c);
    }
    snprintf(l->format, sizeof l->format, n == 3 ? "text x y z" : "text");
    return EQP_OK;
}

static void clear_columns(eqp__layout *l)
{
    memset(l->role, EQP__TEXT_NO_ROLE, sizeof l->role);
    for (int i = 0; i < EQP__TEXT_ROLES; i++) {
        l->column[i] = -1;
    }
}

/* True if a comment names the columns of positions. */
static bool names_columns(const char *comment)
{
    char copy[COMMENT_BYTES];
    eqp__layout l = {.separator = find_separator(comment, true)};

    clear_columns(&l);
    snprintf(copy, sizeof copy, "%s", comment);
    return eqp__layout_by_names(&l, copy);
}

/* Finds the first line that is neither blank nor a comment, and above it the last comment that names columns, or else
 * the last one. */
static int find_first(eqp__text *r, eqp__text_line *at, char comment[COMMENT_BYTES], eqp_message *message)
{
    comment[0] = '\0';
    for (;;) {
        EQP__CHECK(eqp__text_next(r, at, message));
        const char *p = at->text;

        if (!p) {
            return EQP_OK;
        }
        p += strspn(p, " \t\r");
        if (*p != '\0' && *p != '#' && strncasecmp(p, "sep=", 4) != 0) {
            return EQP_OK;
        }
        if (*p == '#') {
            p += strspn(p, "#% \t");
            if (names_columns(p) || !names_columns(comment)) {
                snprintf(comment, COMMENT_BYTES, "%s", p);
            }
        }
    }
}

/* `at` becomes the first particle's line. */
static int find_layout(eqp__text *r, eqp__text_line *at, eqp__layout *l, eqp_message *message)
{
    char comment[COMMENT_BYTES];
    bool found = false;

    *l = (eqp__layout){.n = -1};
    clear_columns(l);
    EQP__CHECK(eqp__layout_of_atoms(r, l, &found, message));
    if (found) {
        return next_particle(r, l, at, message);
    }
    eqp__text_seek(r, 0, 0);
    EQP__CHECK(find_first(r, at, comment, message));
    if (!at->text) {
        return EQP_OK;
    }
    return eqp__text_count(at->text, 0) == 1 && find_separator(at->text, true) == '\0'
               ? parse_headers(r, at, l, message)
               : find_columns(r, at, comment, l, message);
}

/* Detects truncated text. Hand-written files may end without a newline; files with headers end with one. */
static int check_line(const eqp__text *r, const eqp__layout *l, const eqp__text_line *at, int columns,
                      eqp_message *message)
{
    EQP__FAIL_IF(!at->ended && l->whole, eqp__text_refuse(r, "ends without a newline: truncated?", message));
    EQP__FAIL_IF(!at->ended && eqp__text_count(at->text, l->separator) < columns,
                 eqp__text_refuse(r, "has fewer columns than the first: truncated?", message));
    EQP__FAIL_IF(l->exact && eqp__text_count(at->text, l->separator) != columns,
                 eqp__text_refuse(r, "has another number of columns than the first", message));
    return EQP_OK;
}

/* Counts the particles from the first on, which `at` holds, and marks every STRIDE-th. */
static int index_lines(eqp__text *r, eqp__text_line *at, detail *d, int64_t *n, eqp_message *message)
{
    const int columns = eqp__text_count(at->text, d->layout.separator);

    for (*n = 0; at->text;) {
        if (*n % STRIDE == 0) {
            EQP__CHECK(eqp_array_reserve(&d->at, &d->capacity, d->nmarks + 1, sizeof *d->at));
            d->at[d->nmarks++] = (mark){.offset = at->offset, .line = r->line - 1};
        }
        ++*n;
        EQP__CHECK(check_line(r, &d->layout, at, columns, message));
        if (d->layout.counted && *n == d->layout.n) {
            break; /* the next line may be anything */
        }
        EQP__CHECK(next_particle(r, &d->layout, at, message));
    }
    return EQP_OK;
}

/* Parses the first particle, so that other text is refused when it is opened. An id column of names is ignored. */
static int check_first(eqp__text *r, detail *d, eqp_message *message)
{
    eqp__layout *l = &d->layout;
    double number[EQP__TEXT_NUMBERS];
    char what[128], *field, *p;
    int64_t id, kind;
    eqp__text_line at;
    bool is_plain;
    int rc;

    eqp__text_seek(r, d->at[0].offset, d->at[0].line);
    EQP__CHECK(next_particle(r, l, &at, message));
    p = at.text;
    if (strcmp(l->format, "text with named columns") == 0 && eqp__layout_has(l, EQP__TEXT_ID, 1)) {
        for (int c = 0; c <= l->column[EQP__TEXT_ID] && eqp__text_field(&p, l->separator, &field); c++) {
            if (c == l->column[EQP__TEXT_ID] && !eqp__text_integer(field, &id)) {
                eqp__layout_forget(l, EQP__TEXT_ID, 1);
            }
        }
        eqp__text_seek(r, d->at[0].offset, d->at[0].line);
        EQP__CHECK(next_particle(r, l, &at, message));
        p = at.text;
    }
    is_plain = strcmp(l->format, "text") == 0 || strcmp(l->format, "text with ids") == 0;
    rc = parse_particle(r, l, p, &id, &kind, number, is_plain ? NULL : message);
    if (rc == EQP_ERR_FORMAT && is_plain) {
        snprintf(what, sizeof what, "is not '%sm x y z vx vy vz': in no known format",
                 eqp__layout_has(l, EQP__TEXT_ID, 1) ? "id " : "");
        rc = eqp__text_refuse(r, what, message);
    }
    return rc;
}

static int load_text(eqp__text *r, eqp__file *file, detail *d, eqp_message *message)
{
    eqp__header *h = &file->header;
    eqp__layout *l = &d->layout;
    eqp__text_line at = {.text = NULL};

    EQP__CHECK(find_layout(r, &at, l, message));
    EQP__FAIL_IF(!at.text || l->n == 0, EQP__SAY(message, EQP_ERR_FORMAT, "%s: holds no particles", r->source.path));
    EQP__CHECK(index_lines(r, &at, d, &h->n[TYPE], message));
    EQP__CHECK(l->counted && h->n[TYPE] == l->n ? eqp__layout_check_rest(r, l, message) : EQP_OK);
    EQP__CHECK(check_first(r, d, message));
    h->has_ids = eqp__layout_has(l, EQP__TEXT_ID, 1);
    h->at_rest = eqp__layout_has(l, EQP__TEXT_VX, 3) ? 0 : UINT32_MAX;
    h->has_masses = eqp__layout_has(l, EQP__TEXT_MASS, 1) || l->nkinds > 0;
    h->note = l->note;
    h->time = l->time;
    h->box_size = l->box;
    h->ntypes = NTYPES;
    h->nfiles = 1;
    if (l->n >= 0) {
        h->total[TYPE] = l->n;
        h->total_mask = UINT64_MAX;
    }
    snprintf(h->format, sizeof h->format, "%s", l->format);
    return EQP_OK;
}

static void release(void *detail_)
{
    detail *d = detail_;

    if (d) {
        EQP__FREE(d->layout.mass, d->at, d);
    }
}

static int load(eqp__file *file, eqp_message *message)
{
    EQP__IN_C_LOCALE;
    detail *d = NULL;
    EQP__TEXT r;
    int code;

    EQP_TRY(eqp__text_open(&r, file->path, -1, message));
    file->size = r.source.size;
    EQP_TRY(eqp_array_create(&d, 1, sizeof *d));
    EQP_TRY(load_text(&r, file, d, message));
    EQP_TRY(eqp__header_check(file, message));
    eqp__header_convert_velocity(&file->header, 0, 0);
    file->detail = d;
    return EQP_OK;
done:
    release(d);
    return code;
}

/* Turns fractions of the box into positions, and types into masses. */
static int complete(const eqp__text *r, const eqp__layout *l, int64_t kind, double number[EQP__TEXT_NUMBERS],
                    eqp_message *message)
{
    if (l->scaled) {
        const double s[3] = {number[EQP__TEXT_X], number[EQP__TEXT_Y], number[EQP__TEXT_Z]};

        for (int c = 0; c < 3; c++) {
            number[EQP__TEXT_X + c] = l->origin[c] + s[0] * l->edge[0][c] + s[1] * l->edge[1][c] + s[2] * l->edge[2][c];
        }
    }
    if (l->nkinds > 0) {
        EQP__FAIL_IF(kind < 1 || kind > l->nkinds, eqp__text_refuse(r, "is of a type without a mass", message));
        number[EQP__TEXT_MASS] = l->mass[kind - 1];
    }
    return EQP_OK;
}

static int read_lines(eqp__text *r, const detail *d, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                      eqp_message *message)
{
    double *const column[EQP__TEXT_NUMBERS] = {to->m, to->x, to->y, to->z, to->vx, to->vy, to->vz};

    eqp__text_seek(r, d->at[first / STRIDE].offset, d->at[first / STRIDE].line);
    for (int64_t i = -(first % STRIDE); i < n; i++) {
        double number[EQP__TEXT_NUMBERS] = {0};
        int64_t id = 0, kind = 0;
        eqp__text_line at;

        EQP__CHECK(next_particle(r, &d->layout, &at, message));
        EQP__FAIL_IF(!at.text, eqp__text_refuse(r, "the file ends early: it has changed since it was opened", message));
        if (i < 0) {
            continue;
        }
        EQP__CHECK(parse_particle(r, &d->layout, at.text, &id, &kind, number, message));
        EQP__CHECK(complete(r, &d->layout, kind, number, message));
        for (int c = 0; c < EQP__TEXT_NUMBERS; c++) {
            if (column[c]) {
                column[c][i] = number[c];
            }
        }
        if (to->id) {
            to->id[i] = id;
        }
    }
    return EQP_OK;
}

static int read_type(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                     eqp_message *message)
{
    EQP__IN_C_LOCALE;
    EQP__TEXT r;

    (void)type;
    EQP__CHECK(eqp__text_open(&r, file->path, file->size, message));
    return read_lines(&r, file->detail, first, n, to, message);
}

const eqp__format eqp__format_text = {
    .probe = probe,
    .load = load,
    .read = read_type,
    .release = release,
};
