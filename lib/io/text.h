/* SPDX-License-Identifier: BSD-3-Clause */
/* Particles as text: lines of a file, and the role of each column. */
#ifndef EQP_IO_TEXT_H
#define EQP_IO_TEXT_H

#include "io/internal.h"

#include <ctype.h>

/* Roles of columns: the numbers of a particle in the order of plain text, then id and type. */
enum {
    EQP__TEXT_MASS,
    EQP__TEXT_X,
    EQP__TEXT_Y,
    EQP__TEXT_Z,
    EQP__TEXT_VX,
    EQP__TEXT_VY,
    EQP__TEXT_VZ,
    EQP__TEXT_NUMBERS,
    EQP__TEXT_ID = EQP__TEXT_NUMBERS,
    EQP__TEXT_KIND, /* type, from 1, which gives the mass */
    EQP__TEXT_ROLES,
    EQP__TEXT_NO_ROLE = EQP__TEXT_ROLES
};

/* Later columns are ignored. */
enum { EQP__TEXT_COLUMNS = 1024, EQP__TEXT_KINDS = 1 << 16 };

typedef struct eqp__text {
    eqp__source source;
    int64_t offset, line; /* offset of the next byte to fetch; number of the last line returned, from 1 */
    size_t begin, end;    /* fetched and not yet returned: buffer[begin .. end) */
    char *buffer;         /* owned */
} eqp__text;

typedef struct eqp__text_line {
    char *text; /* zero-terminated; NULL: the file has ended */
    int64_t offset;
    bool ended; /* true: ended by a newline; false: by the end of the file */
} eqp__text_line;

/* The layout of a text file, found from its first lines. */
typedef struct eqp__layout {
    char format[32];
    char separator; /* 0: blanks; else ',', ';' or a tab */
    bool counted;   /* n lines follow; otherwise all to the end of the file */
    bool every;     /* every line is a particle, none blank or a comment */
    bool whole;     /* the last line must end with a newline */
    bool exact;     /* all lines have the same number of columns */
    int64_t n;
    int column[EQP__TEXT_ROLES];        /* from 0; -1: none */
    int8_t role[EQP__TEXT_COLUMNS + 1]; /* role of each column */
    int ncolumns;                       /* columns required: the last one with a role, + 1 */
    int repeated;                       /* column, from 1, whose name repeats that of an earlier one; 0: none */
    int64_t nkinds;
    double *mass; /* [nkinds] owned, of types 1 to nkinds; 0: without mass */
    bool scaled;  /* places are fractions of the edges of a box */
    double origin[3], edge[3][3];
    double time, box;
    eqp_message note;
} eqp__layout;

/* text_lines.c. size: as for eqp__source_open(). */
int eqp__text_open(eqp__text *text, const char *path, int64_t size, eqp_message *message);
void eqp__text_close(eqp__text *text);
#define EQP__TEXT EQP__AT_END(eqp__text_close) eqp__text
/* Fetches more bytes behind those that were not returned; none at the end of the file. */
int eqp__text_fetch(eqp__text *text, eqp_message *message);
/* Moves to the line at offset; line: its number, from 0. */
void eqp__text_seek(eqp__text *text, int64_t offset, int64_t line);
bool eqp__text_is_fetched(const eqp__text *text); /* true: the buffer holds the rest of the file, or is full */
/* The next line of any kind, valid until the next call; or the next line that is neither blank nor a comment. */
int eqp__text_next(eqp__text *text, eqp__text_line *found, eqp_message *message);
int eqp__text_next_data(eqp__text *text, eqp__text_line *found, eqp_message *message);
/* "PATH: line N: what"; EQP_ERR_FORMAT. */
int eqp__text_refuse(const eqp__text *text, const char *what, eqp_message *message);

/* text_lines.c. Takes one field at *at and moves past it and its separator; false: no field is left. The field is
 * zero-terminated in place, without surrounding blanks and quotes. */
bool eqp__text_field(char **at, char separator, char **field);
int eqp__text_count(const char *line, char separator);
/* False unless the whole field is a number. */
bool eqp__text_real(char *field, double *value);
bool eqp__text_integer(char *field, int64_t *value);
/* Reads the first n numbers, separated by blanks; modifies the line. */
bool eqp__text_reals(char *line, int n, double *value);

void eqp__layout_set(eqp__layout *layout, int role, int column);
/* Removes n roles from `first` on. */
void eqp__layout_forget(eqp__layout *layout, int first, int n);
bool eqp__layout_has(const eqp__layout *layout, int first, int n);

/* text_lines.c. Columns by their names, taken apart; false: x, y, z are not among them. */
bool eqp__layout_by_names(eqp__layout *layout, char *names);

/* text_atoms.c. *found: true for text of a molecular dynamics code; the layout is then filled and the next line of
 * `text` is the first particle's. Otherwise the position in `text` is undefined. */
int eqp__layout_of_atoms(eqp__text *text, eqp__layout *layout, bool *found, eqp_message *message);
/* Checks that only further frames follow the last particle. Sets the layout's note. */
int eqp__layout_check_rest(eqp__text *text, eqp__layout *layout, eqp_message *message);

#endif
