/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

/* Column where explanations begin; a longer option gets its own line. */
#define COLUMN 30

static void put_explanation(FILE *stream, int used, const char *help, const char *fallback)
{
    if (used > COLUMN - 2) {
        (void)fputc('\n', stream);
        used = 0;
    }
    (void)fprintf(stream, "%*s", COLUMN - used, "");
    for (; *help; help++) {
        (void)fputc(*help, stream);
        if (*help == '\n') {
            (void)fprintf(stream, "%*s", COLUMN, "");
        }
    }
    if (fallback) {
        (void)fprintf(stream, " [%s]", fallback);
    }
    (void)fputc('\n', stream);
}

static void put_option(FILE *stream, const app_option *option)
{
    const char *argument = option->argument ? option->argument : option->choices;
    int used = fprintf(stream, "  --%s", option->name);

    if (argument && option->type != APP_OPTION_FLAG) {
        used += fprintf(stream, " %s", argument);
    }
    put_explanation(stream, used, option->help, option->fallback);
}

int app_options_help(const app_command_line *line, char **text)
{
    static const app_option common[] = {
        {.name = "version",
         .type = APP_OPTION_FLAG,
         .help = "print the version, and of what the program was made, and stop"},
        {.name = "help", .type = APP_OPTION_FLAG, .help = "print this text and stop; also -h"},
    };
    char *lines = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&lines, &size);
    int broken;

    if (!stream) {
        return EQP_ERR_MEMORY;
    }
    (void)fprintf(stream, "Usage: %s", line->program);
    if (line->positional) {
        (void)fprintf(stream, " [%s]%s", line->positional, line->positional_room > 0 ? "..." : "");
    }
    (void)fprintf(stream, " [options]\n%s\n\nOptions, as --name VALUE or --name=VALUE [default]:\n", line->summary);
    for (int k = 0; k < app_options_count(line); k++) {
        const app_option row = app_options_row(line, k);
        if (row.name) {
            put_option(stream, &row);
        }
    }
    for (size_t k = 0; k < sizeof common / sizeof common[0]; k++) {
        put_option(stream, &common[k]);
    }
    if (line->epilogue) {
        (void)fprintf(stream, "\n%s\n", line->epilogue);
    }
    broken = ferror(stream);
    /* Closing the stream may run out of memory without an error; then there is no text. */
    if (fclose(stream) || broken || !lines) {
        free(lines);
        return EQP_ERR_MEMORY;
    }
    *text = lines;
    return EQP_OK;
}
