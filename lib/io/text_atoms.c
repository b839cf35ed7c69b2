/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of molecular dynamics codes: LAMMPS dump and data files, XYZ and extended XYZ. The first of several frames is
 * read. (LAMMPS manual, "dump" and "read_data"; extended XYZ as ASE and OVITO write it.) */
#include "io/text.h"

#include "base/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES_BYTES = 4096, HEADER_LINES = 200 };

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static int next_or_end(eqp__text *t, eqp__text_line *at, eqp_message *message)
{
    EQP__CHECK(eqp__text_next(t, at, message));
    return at->text ? EQP_OK : eqp__text_refuse(t, "ends within the header: truncated?", message);
}

/* Reads the number of particles. Each needs a line of at least 6 bytes ("0 0 0"), so the file's size limits it. */
static int take_count(const eqp__text *t, const char *field, eqp__layout *l, eqp_message *message)
{
    char copy[32], *p = copy, *number;

    snprintf(copy, sizeof copy, "%s", field);
    EQP__FAIL_IF(!eqp__text_field(&p, 0, &number) || !eqp__text_integer(number, &l->n) || l->n < 0,
                 eqp__text_refuse(t, "is not a number of atoms", message));
    EQP__FAIL_IF(l->n > t->source.size / 6 + 1,
                 eqp__text_refuse(t, "counts more atoms than the file has room for: truncated?", message));
    l->counted = true;
    return EQP_OK;
}

/* Reads three bounds of the box: lo hi; lo hi tilt; or, with `abc origin`, an edge vector and a component of the
 * origin. */
static int take_bounds(eqp__text *t, const char *heading, eqp__layout *l, eqp_message *message)
{
    const bool general = strstr(heading, "abc") != NULL, tilted = strstr(heading, "xy") != NULL;
    const bool periodic = strstr(heading, " p") != NULL;
    double row[3][4] = {{0}};

    for (int k = 0; k < 3; k++) {
        eqp__text_line at;

        EQP__CHECK(next_or_end(t, &at, message));
        EQP__FAIL_IF(!eqp__text_reals(at.text,
                                      general  ? 4
                                      : tilted ? 3
                                               : 2,
                                      row[k]),
                     eqp__text_refuse(t, "is not a bound of the box", message));
    }
    for (int k = 0; k < 3; k++) {
        for (int c = 0; c < 3; c++) {
            l->edge[k][c] = general ? row[k][c] : 0;
        }
        l->origin[k] = row[k][general ? 3 : 0];
    }
    if (!general) {
        const double xy = row[0][2], xz = row[1][2], yz = row[2][2];
        const double low = fmin(fmin(0, xy), fmin(xz, xy + xz)), high = fmax(fmax(0, xy), fmax(xz, xy + xz));

        /* The bounds of a tilted box enclose all its corners. */
        l->origin[0] -= low;
        l->origin[1] -= fmin(0, yz);
        l->edge[0][0] = row[0][1] - high - l->origin[0];
        l->edge[1][0] = xy;
        l->edge[1][1] = row[1][1] - fmax(0, yz) - l->origin[1];
        l->edge[2][0] = xz;
        l->edge[2][1] = yz;
        l->edge[2][2] = row[2][1] - l->origin[2];
    }
    for (int k = 0; k < 3 && periodic; k++) {
        l->box = fmax(l->box, sqrt(l->edge[k][0] * l->edge[k][0] + l->edge[k][1] * l->edge[k][1] +
                                   l->edge[k][2] * l->edge[k][2]));
    }
    return EQP_OK;
}

/* Reads the names of a dump's columns. Old dumps do not name them. */
static int take_columns(const eqp__text *t, const char *heading, eqp__layout *l, eqp_message *message)
{
    static const char old[] = "id type xs ys zs";
    char names[NAMES_BYTES];

    snprintf(names, sizeof names, "%s", heading[strspn(heading, " \t\r")] != '\0' ? heading : old);
    EQP__FAIL_IF(!eqp__layout_by_names(l, names),
                 eqp__text_refuse(t, "names no positions (x y z, xs ys zs, xu yu zu or xsu ysu zsu)", message));
    return l->counted ? EQP_OK : eqp__text_refuse(t, "comes before the number of atoms", message);
}

static int read_dump(eqp__text *t, eqp__layout *l, eqp_message *message)
{
    eqp__text_line at = {.text = NULL};

    snprintf(l->format, sizeof l->format, "LAMMPS dump");
    l->every = l->whole = true;
    for (;;) {
        EQP__CHECK(next_or_end(t, &at, message)); /* an item, or contents of one that is not used */
        if (begins(at.text, "ITEM: ATOMS")) {
            return take_columns(t, at.text + strlen("ITEM: ATOMS"), l, message);
        }
        if (begins(at.text, "ITEM: NUMBER OF ATOMS")) {
            EQP__CHECK(next_or_end(t, &at, message));
            EQP__CHECK(take_count(t, at.text, l, message));
        } else if (begins(at.text, "ITEM: BOX BOUNDS")) {
            char heading[128];

            snprintf(heading, sizeof heading, "%s", at.text + strlen("ITEM: BOX BOUNDS"));
            EQP__CHECK(take_bounds(t, heading, l, message));
        } else if (strcmp(at.text, "ITEM: TIME") == 0) {
            EQP__CHECK(next_or_end(t, &at, message));
            (void)eqp__text_reals(at.text, 1, &l->time);
        }
    }
}

/* Columns (from 0) of type and x for each atom style. */
static const struct {
    const char *style;
    int type, x, mass; /* mass 0: by type */
} styles[] = {
    {"atomic", 1, 2, 0},    {"charge", 1, 3, 0},     {"bond", 2, 3, 0},       {"angle", 2, 3, 0},
    {"molecular", 2, 3, 0}, {"full", 2, 4, 0},       {"amoeba", 2, 4, 0},     {"sphere", 1, 4, 0},
    {"ellipsoid", 1, 4, 0}, {"dipole", 1, 3, 0},     {"dielectric", 1, 3, 0}, {"body", 1, 4, 3},
    {"line", 2, 5, 0},      {"tri", 2, 5, 0},        {"peri", 1, 4, 0},       {"electron", 1, 5, 0},
    {"dpd", 1, 3, 0},       {"edpd", 1, 4, 0},       {"mdpd", 1, 3, 0},       {"tdpd", 1, 2, 0},
    {"sph", 1, 5, 0},       {"meso", 1, 5, 0},       {"spin", 1, 2, 0},       {"template", 1, 5, 0},
    {"smd", 1, 10, 4},      {"wavepacket", 1, 8, 0}, {"bpm/sphere", 2, 5, 0}, {"oxdna", 1, 2, 0},
    {"hybrid", 1, 2, 0},
};

/* Without a style, the number of columns decides; three more are image flags. In six columns an integer in the third
 * can be a charge or, after a molecule id, the type: the type then stays unknown (-1), and so does the mass. */
static int guess_style(const char *row, int *type, int *x)
{
    char copy[256], *p = copy, *field;
    const int n = eqp__text_count(row, 0), bare = n >= 8 ? n - 3 : n;
    bool whole = false;

    snprintf(copy, sizeof copy, "%s", row);
    for (int c = 0; c < 3 && eqp__text_field(&p, 0, &field); c++) {
        whole = strspn(field, "+-0123456789") == strlen(field);
    }
    *x = bare - 3;
    *type = !whole || bare == 5 ? 1 : bare == 6 ? -1 : 2;
    return bare >= 5 && bare <= 7 ? EQP_OK : EQP_ERR_FORMAT;
}

static int set_style(const eqp__text *t, const char *hint, const char *row, eqp__layout *l, eqp_message *message)
{
    char name[32] = "";
    int type = 0, x = 0, mass = 0;

    (void)sscanf(hint, " # %31s", name);
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        if (strcmp(styles[i].style, name) == 0) {
            type = styles[i].type;
            x = styles[i].x;
            mass = styles[i].mass;
        }
    }
    EQP__FAIL_IF(x == 0 && guess_style(row, &type, &x) != EQP_OK,
                 eqp__text_refuse(t, "is of no known atom style: say which in the line 'Atoms # STYLE'", message));
    eqp__layout_set(l, EQP__TEXT_ID, 0);
    if (type > 0) {
        eqp__layout_set(l, EQP__TEXT_KIND, type);
    }
    for (int c = 0; c < 3; c++) {
        eqp__layout_set(l, EQP__TEXT_X + c, x + c);
    }
    if (mass > 0) {
        eqp__layout_set(l, EQP__TEXT_MASS, mass);
    }
    return EQP_OK;
}

/* True if the line is this section heading, perhaps with a comment. */
static bool is_heading(const char *line, const char *name)
{
    const size_t length = strlen(name);

    line += strspn(line, " \t");
    if (strncmp(line, name, length) != 0) {
        return false;
    }
    line += length + strspn(line + length, " \t\r");
    return *line == '\0' || *line == '#';
}

/* Reads the masses of types 1 to n. Types with names instead of numbers leave the masses unknown. */
static int read_masses(eqp__text *t, int64_t n, eqp__layout *l, eqp_message *message)
{
    EQP__FAIL_IF(n > EQP__TEXT_KINDS, eqp__text_refuse(t, "more than 65536 atom types", message));
    EQP__CHECK(eqp_array_create(&l->mass, n, sizeof *l->mass));
    for (int64_t i = 0; i < n; i++) {
        eqp__text_line at;
        char *p, *field;
        int64_t type;

        EQP__CHECK(eqp__text_next_data(t, &at, message));
        EQP__FAIL_IF(!at.text, eqp__text_refuse(t, "ends within the masses: truncated?", message));
        p = at.text;
        if (!eqp__text_field(&p, 0, &field)) {
            break;
        }
        if (!eqp__text_integer(field, &type)) {
            l->nkinds = 0;
            break; /* names */
        }
        EQP__FAIL_IF(type < 1 || type > n || !eqp__text_reals(p, 1, &l->mass[type - 1]),
                     eqp__text_refuse(t, "is not the mass of an atom type", message));
        l->nkinds = i + 1 == n ? n : 0;
    }
    return EQP_OK;
}

/* A header line is a count followed by its noun, such as "2 atom types". */
static int take_header(eqp__text *t, char *line, eqp__layout *l, int64_t *ntypes, eqp_message *message)
{
    char *p = line, *value, *what, *more = line;

    if (!eqp__text_field(&p, 0, &value) || !eqp__text_field(&p, 0, &what)) {
        return EQP_OK;
    }
    if (strcmp(what, "atoms") == 0 && !l->counted) {
        return take_count(t, value, l, message);
    }
    EQP__FAIL_IF(strcmp(what, "atom") == 0 && eqp__text_field(&p, 0, &more) && strcmp(more, "types") == 0 &&
                     (!eqp__text_integer(value, ntypes) || *ntypes < 0),
                 eqp__text_refuse(t, "is not a number of atom types", message));
    return EQP_OK;
}

/* Leaves the text at the first atom. The masses can follow the atoms, so the whole file is scanned. */
static int read_data(eqp__text *t, eqp__layout *l, eqp_message *message)
{
    int64_t ntypes = 0, offset = -1, before = 0;
    eqp__text_line at;
    bool has_masses = false;

    snprintf(l->format, sizeof l->format, "LAMMPS data");
    l->whole = false;
    EQP__CHECK(eqp__text_next(t, &at, message)); /* the first line is a title */
    for (;;) {
        EQP__CHECK(eqp__text_next_data(t, &at, message));
        if (!at.text) {
            break;
        }
        if (is_heading(at.text, "Masses") && !has_masses) {
            has_masses = true;
            EQP__CHECK(read_masses(t, ntypes, l, message));
        } else if (is_heading(at.text, "Atoms") && offset < 0) {
            char hint[64];

            snprintf(hint, sizeof hint, "%s", at.text + strcspn(at.text, "A") + strlen("Atoms"));
            EQP__CHECK(eqp__text_next_data(t, &at, message));
            EQP__FAIL_IF(!at.text, eqp__text_refuse(t, "ends before the atoms: truncated?", message));
            offset = at.offset;
            before = t->line - 1;
            EQP__CHECK(set_style(t, hint, at.text, l, message));
        } else if (is_heading(at.text, "Velocities")) {
            eqp_message_set(&l->note, "velocities are left out: their section has an order of its own");
        } else if (offset < 0) {
            EQP__CHECK(take_header(t, at.text, l, &ntypes, message));
        }
    }
    EQP__FAIL_IF(offset < 0 || !l->counted,
                 EQP__SAY(message, EQP_ERR_FORMAT, "%s: LAMMPS data, but without %s", t->source.path,
                          offset < 0 ? "a section Atoms: truncated?" : "a number of atoms"));
    eqp__text_seek(t, offset, before);
    if (eqp__layout_has(l, EQP__TEXT_MASS, 1) || l->nkinds == 0 || !eqp__layout_has(l, EQP__TEXT_KIND, 1)) {
        /* Without masses the types are not needed, and can be names. */
        l->nkinds = 0;
        eqp__layout_forget(l, EQP__TEXT_KIND, 1);
    }
    return EQP_OK;
}

/* Sets *is if an early line such as "32000 atoms" exists. */
static int is_data(eqp__text *t, bool *is, eqp_message *message)
{
    eqp__text_line at = {.text = NULL};

    *is = false;
    EQP__CHECK(eqp__text_next(t, &at, message));
    for (int i = 0; at.text && i < HEADER_LINES && !*is; i++) {
        long long n;
        int end = 0;

        EQP__CHECK(eqp__text_next_data(t, &at, message));
        if (at.text && sscanf(at.text, " %lld atoms %n", &n, &end) == 1 && end > 0) {
            *is = at.text[end] == '\0' || at.text[end] == '#';
        }
        /* Header lines are short, and begin with a number. */
        if (at.text && !*is && (strlen(at.text) > 160 || eqp__text_count(at.text, 0) > 7)) {
            break;
        }
    }
    return EQP_OK;
}

/* Properties=species:S:1:pos:R:3:mass:R:1 of the second line. */
static bool take_properties(eqp__layout *l, const char *line)
{
    static const struct {
        const char *name;
        int role, width;
    } known[] = {{"pos", EQP__TEXT_X, 3},       {"positions", EQP__TEXT_X, 3},   {"velo", EQP__TEXT_VX, 3},
                 {"vel", EQP__TEXT_VX, 3},      {"velocities", EQP__TEXT_VX, 3}, {"velocity", EQP__TEXT_VX, 3},
                 {"masses", EQP__TEXT_MASS, 1}, {"mass", EQP__TEXT_MASS, 1},     {"id", EQP__TEXT_ID, 1},
                 {"index", EQP__TEXT_ID, 1}};
    const char *p = strstr(line, "Properties=");
    int column = 0, used = 0, width;
    char name[64], type;

    if (!p) {
        return false;
    }
    p += strlen("Properties=");
    p += *p == '"';
    while (p && sscanf(p, "%63[^: \"]:%c:%d%n", name, &type, &width, &used) == 3 && width > 0 &&
           width <= EQP__TEXT_COLUMNS && column <= EQP__TEXT_COLUMNS) {
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            for (int c = 0; c < width && width == known[i].width && strcmp(known[i].name, name) == 0; c++) {
                eqp__layout_set(l, known[i].role + c, column + c);
            }
        }
        column += width;
        p += used;
        p = *p == ':' ? p + 1 : NULL;
    }
    return eqp__layout_has(l, EQP__TEXT_X, 3);
}

/* Returns the column of x in a particle's line of XYZ: 1 after an element, 0 if there are only three numbers, -1 if
 * this is no such line. */
static int find_x(const char *line)
{
    char copy[512], *p = copy, *field;
    double value[3];
    const int n = eqp__text_count(line, 0);

    snprintf(copy, sizeof copy, "%s", line);
    if (n == 3) {
        return eqp__text_reals(p, 3, value) ? 0 : -1;
    }
    return n > 3 && eqp__text_field(&p, 0, &field) && eqp__text_reals(p, 3, value) ? 1 : -1;
}

/* N-body codes write the number of particles, the time, and lines `m x y z vx vy vz`. */
static bool is_nbody(const char *line, const char *comment, double *time)
{
    char copy[NAMES_BYTES], *p = copy, *field;
    double number[EQP__TEXT_NUMBERS];

    snprintf(copy, sizeof copy, "%s", comment);
    if (eqp__text_count(line, 0) != EQP__TEXT_NUMBERS || eqp__text_count(comment, 0) != 1 ||
        !eqp__text_field(&p, 0, &field) || !eqp__text_real(field, time)) {
        return false;
    }
    snprintf(copy, sizeof copy, "%s", line);
    return eqp__text_reals(copy, EQP__TEXT_NUMBERS, number);
}

/* XYZ: the number of atoms, a comment, the atoms. */
static int read_xyz(eqp__text *t, eqp__layout *l, bool *is, eqp_message *message)
{
    char count[32] = "", comment[NAMES_BYTES] = "", rest;
    int64_t offset = 0, line = 0;
    eqp__text_line at = {.text = NULL};
    int x = -1;

    *is = false;
    EQP__CHECK(eqp__text_next(t, &at, message));
    if (at.text && sscanf(at.text, "%31s %c", count, &rest) == 1 && strspn(count, "0123456789") == strlen(count)) {
        EQP__CHECK(eqp__text_next(t, &at, message));
        if (at.text) {
            snprintf(comment, sizeof comment, "%s", at.text);
            EQP__CHECK(eqp__text_next(t, &at, message));
        }
        x = at.text ? find_x(at.text) : -1;
        offset = at.offset;
        line = t->line - 1;
    }
    /* In extended XYZ the columns can have any order. */
    *is = x >= 0 || (at.text && strstr(comment, "Properties="));
    if (!*is) {
        return EQP_OK;
    }
    snprintf(l->format, sizeof l->format, "XYZ");
    l->every = true;
    EQP__CHECK(take_count(t, count, l, message));
    if (at.text && is_nbody(at.text, comment, &l->time)) {
        snprintf(l->format, sizeof l->format, "text");
        for (int c = 0; c < EQP__TEXT_NUMBERS; c++) {
            eqp__layout_set(l, c, c);
        }
    } else if (!take_properties(l, comment)) {
        for (int c = 0; c < 3; c++) {
            eqp__layout_set(l, EQP__TEXT_X + c, (x < 0 ? 1 : x) + c);
        }
    }
    eqp__text_seek(t, offset, line);
    return EQP_OK;
}

int eqp__layout_of_atoms(eqp__text *t, eqp__layout *l, bool *found, eqp_message *message)
{
    eqp__text_line at = {.text = NULL};

    *found = false;
    EQP__CHECK(eqp__text_next(t, &at, message));
    if (!at.text) {
        return EQP_OK;
    }
    *found = begins(at.text, "ITEM:");
    eqp__text_seek(t, 0, 0);
    if (*found) {
        return read_dump(t, l, message);
    }
    EQP__CHECK(read_xyz(t, l, found, message));
    if (*found) {
        return EQP_OK;
    }
    eqp__text_seek(t, 0, 0);
    EQP__CHECK(is_data(t, found, message));
    eqp__text_seek(t, 0, 0);
    return *found ? read_data(t, l, message) : EQP_OK;
}

int eqp__layout_check_rest(eqp__text *t, eqp__layout *l, eqp_message *message)
{
    const bool dump = begins(l->format, "LAMMPS dump");
    eqp__text_line at = {.text = NULL};
    char *p, *field;
    int64_t n;

    if (!l->every) {
        return EQP_OK; /* a section of a data file */
    }
    EQP__CHECK(eqp__text_next_data(t, &at, message));
    if (!at.text) {
        return EQP_OK;
    }
    p = at.text;
    EQP__FAIL_IF(dump ? !begins(at.text, "ITEM:") : !eqp__text_field(&p, 0, &field) || !eqp__text_integer(field, &n),
                 eqp__text_refuse(t, "more lines than the number of atoms above", message));
    eqp_message_set(&l->note, "has several frames: the first is read");
    return EQP_OK;
}
