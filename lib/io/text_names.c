/* SPDX-License-Identifier: BSD-3-Clause */
/* Roles of columns, found from their names. */
#include "io/text.h"

#include <strings.h>

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

static void forget(eqp__layout *layout, int first, int n)
{
    for (int i = first; i < first + n; i++) {
        if (layout->column[i] >= 0) {
            layout->role[layout->column[i]] = EQP__TEXT_NO_ROLE;
        }
        layout->column[i] = -1;
    }
}

bool eqp__layout_by_names(eqp__layout *layout, char *line)
{
    char plain[EQP__TEXT_COLUMNS][NAME_BYTES];
    char *field;
    int n = 0;
    bool placed = false;

    while (n < EQP__TEXT_COLUMNS && eqp__text_field(&line, layout->separator, &field)) {
        /* Between blanks, units in brackets are fields without a column. */
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
            forget(layout, names[kind].role, 3);
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
