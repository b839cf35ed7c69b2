/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQP_FUZZ_COMMAND_LINE_H
#define EQP_FUZZ_COMMAND_LINE_H

#include "fuzz.h"

#include "run_settings.h"

enum { FUZZ_LINES = 64 };

/* Cuts input into at most FUZZ_LINES lines and ignores the rest. *text: owned by the caller, free(). */
int fuzz_lines(const uint8_t *data, size_t size, char **text, char *line[FUZZ_LINES]);

/* Parses a line per argument and passes the values to `complete` if they ask for a run. */
void fuzz_command_line(const app_command_line *table, int nlines, char *const line[], void (*complete)(void *values));

/* Checks the settings that apps share. */
void fuzz_require_parsed(const app_run_settings *run);
void fuzz_require_complete(const app_run_settings *run);

#endif
