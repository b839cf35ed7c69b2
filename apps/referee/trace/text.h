/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of text, cut into fields, and numbers in them. Private to this folder. */
#ifndef RF_TEXT_H
#define RF_TEXT_H

#include "build.h"

/* A file that is read line by line. Zeros: none. */
typedef struct rf_lines {
    FILE *stream;
    char *line; /* without its end; NULL at first */
    size_t room;
    int64_t number;
} rf_lines;

int rf_lines_open(const char *path, rf_lines *lines, eqp_message *message);
void rf_lines_close(rf_lines *lines);

/* The next line, *end at the end of the file. Tells the build its number. EQP_OK, EQP_ERR_IO, EQP_ERR_FORMAT for bytes
 * that are no text. */
int rf_lines_next(rf_lines *lines, rf_build *build, bool *end, eqp_message *message);

/* Cuts the first field off, at a separator (' ': at any run of blanks), without blanks around it and without quotes;
 * NULL after the last one. */
char *rf_field_next(char **rest, char separator);

/* Which separator a header has: a tab, a semicolon, a comma, else blanks. */
char rf_separator_of(const char *header);

/* Parses a field as a number; name: of the column. */
int rf_field_int(const rf_build *build, const char *field, const char *name, int64_t *value, eqp_message *message);
int rf_field_real(const rf_build *build, const char *field, const char *name, double *value, eqp_message *message);

#endif
