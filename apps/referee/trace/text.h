/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of text, their fields, and numbers in fields. Private to this folder. */
#ifndef RF_TEXT_H
#define RF_TEXT_H

#include "build.h"

/* A file that is read line by line. Zeros: none. */
typedef struct rf_lines {
    FILE *stream;
    char *line; /* without its line end; initially NULL */
    size_t room;
    int64_t number;
} rf_lines;

int rf_lines_open(const char *path, rf_lines *lines, eqp_message *message);
void rf_lines_close(rf_lines *lines);

/* Reads the next line; *end is set at the end of the file. Passes its number to the build. EQP_OK, EQP_ERR_IO,
 * EQP_ERR_FORMAT for binary data. */
int rf_lines_next(rf_lines *lines, rf_build *build, bool *end, eqp_message *message);

/* Cuts off the first field at a separator (' ': any run of blanks), without surrounding blanks and quotes; NULL after
 * the last one. */
char *rf_field_next(char **rest, char separator);

/* Separator of a header: tab, semicolon or comma, else blanks. */
char rf_separator_of(const char *header);

/* Parses a field as a number; name: of the column. */
int rf_field_int(const rf_build *build, const char *field, const char *name, int64_t *value, eqp_message *message);
int rf_field_real(const rf_build *build, const char *field, const char *name, double *value, eqp_message *message);

#endif
