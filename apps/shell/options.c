/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A command line being read. The caller's values change only after all of it is read. */
typedef struct reading {
    const app_command_line *line;
    char *values; /* [values_size] */
    bool *given;  /* [rows] */
    int npositional;
    app_action action;
    eqp_message *message;
} reading;

static int read_int(const app_option *option, const char *text, int64_t *value, eqp_message *message)
{
    bool any = option->int_low == 0 && option->int_high == 0;
    int64_t low = any ? INT64_MIN : option->int_low;
    int64_t high = any || option->int_high < low ? INT64_MAX : option->int_high;

    int word;

    if (option->choices != NULL && eqp_read_choice(text, option->choices, &word, NULL) == EQP_OK) {
        *value = low - 1 - word;
        return EQP_OK;
    }
    return eqp_read_int(text, low, high, value, message);
}

static int read_real(const app_option *option, const char *text, double *value, eqp_message *message)
{
    bool no_limits = option->real_low == 0.0 && option->real_high == 0.0;
    double low = no_limits && !option->open_low ? -INFINITY : option->real_low;

    return eqp_read_real(text, low, option->open_low, no_limits ? INFINITY : option->real_high, value, message);
}

static int read_text(const app_option *option, const char *text, const char **value, eqp_message *message)
{
    app_keyed keyed;
    int code = EQP_OK;

    APP_REFUSE_IF(!*text, message, EQP_ERR_ARGUMENT, "the value is empty");
    if (option->type == APP_OPTION_KEYED && !(code = app_keyed_parse(text, &keyed, message))) {
        app_keyed_free(&keyed);
    }
    *value = text;
    return code;
}

static int store(const reading *r, const app_option *option, const char *text)
{
    void *at = r->values + option->offset;
    eqp_message what = {"out of memory"};
    int code = EQP_OK;

    switch (option->type) {
    case APP_OPTION_FLAG:
        *(bool *)at = true;
        break;
    case APP_OPTION_INT:
        code = read_int(option, text, at, &what);
        break;
    case APP_OPTION_REAL:
        code = read_real(option, text, at, &what);
        break;
    case APP_OPTION_CHOICE:
        code = eqp_read_choice(text, option->choices, at, &what);
        break;
    case APP_OPTION_TEXT:
    case APP_OPTION_KEYED:
        code = read_text(option, text, at, &what);
        break;
    }
    APP_REFUSE_IF(code != EQP_OK, r->message, code, "%s: --%s: %s", r->line->program, option->name, what.text);
    return EQP_OK;
}

static int refuse(const reading *r, const char *argument, int length, const char *why)
{
    eqp_message_set(r->message, "%s: %.*s: %s", r->line->program, length < 100 ? length : 100, argument, why);
    return EQP_ERR_ARGUMENT;
}

int app_options_count(const app_command_line *line)
{
    return (line->before ? line->before->n : 0) + line->noptions + (line->after ? line->after->n : 0);
}

app_option app_options_row(const app_command_line *line, int i)
{
    int nbefore = line->before ? line->before->n : 0;
    bool own = i >= nbefore && i < nbefore + line->noptions;
    app_option row;

    if (own) {
        return line->option[i - nbefore];
    }
    row = i < nbefore ? line->before->option[i] : line->after->option[i - nbefore - line->noptions];
    row.offset += line->shared_offset;
    for (int k = 0; k < line->ntexts; k++) {
        if (strcmp(line->text[k].name, row.name) == 0) {
            row.help = line->text[k].help ? line->text[k].help : row.help;
            row.fallback = line->text[k].fallback ? line->text[k].fallback : row.fallback;
            row.name = line->text[k].absent ? NULL : row.name;
            break;
        }
    }
    return row;
}

static int find_row(const app_command_line *line, const char *name, size_t length)
{
    int n = app_options_count(line);

    for (int k = 0; k < n; k++) {
        const app_option row = app_options_row(line, k);
        if (row.name && strlen(row.name) == length && strncmp(row.name, name, length) == 0) {
            return k;
        }
    }
    return -1;
}

static int refuse_name(const reading *r, const char *argument, size_t length)
{
    const int n = app_options_count(r->line);
    eqp_nearest nearest = {.text = argument + 2, .length = length - 2};
    int code;

    for (int k = 0; k < n; k++) {
        eqp_nearest_look(&nearest, app_options_row(r->line, k).name);
    }
    code = refuse(r, argument, (int)length, "no such option; --help lists them");
    if (nearest.word != NULL) {
        eqp_message_set(r->message, "%s: %.*s: no such option; did you mean --%s?", r->line->program,
                        length < 100 ? (int)length : 100, argument, nearest.word);
    }
    return code;
}

/* Reads argv[*i], which begins with two dashes, and its value, which may be the next argument. */
static int read_option(reading *r, int argc, char *const *argv, int *i)
{
    const char *argument = argv[*i], *name = argument + 2, *value = NULL;
    size_t length = strcspn(name, "=");
    int k = find_row(r->line, name, length);
    app_option option;

    if (k < 0) {
        return refuse_name(r, argument, length + 2);
    }
    option = app_options_row(r->line, k);
    if (name[length]) {
        value = name + length + 1;
    }
    if (option.type == APP_OPTION_FLAG && value) {
        return refuse(r, argument, (int)length + 2, "takes no value");
    }
    if (option.type != APP_OPTION_FLAG && !value) {
        /* A word that looks like an option is an option: a forgotten value must not swallow it. */
        if (*i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0) {
            return refuse(r, argument, (int)length + 2, "needs a value");
        }
        value = argv[++*i];
    }
    r->given[k] = true;
    return store(r, &option, value);
}

/* plain: it follows "--", so a leading dash has no meaning. */
static int read_positional(reading *r, const char *argument, bool plain)
{
    const app_command_line *line = r->line;

    if (!plain && argument[0] == '-' && argument[1]) {
        return refuse(r, argument, (int)strnlen(argument, 100), "no such option; --help lists them");
    }
    APP_REFUSE_IF(!*argument || !line->positional, r->message, EQP_ERR_ARGUMENT,
                  "%s: '%.100s': an argument that is no option", line->program, argument);
    APP_REFUSE_IF(r->npositional >= (line->positional_room > 0 ? line->positional_room : 1), r->message,
                  EQP_ERR_ARGUMENT, "%s: '%.100s': only %s %s can be given", line->program, argument,
                  line->positional_room > 0 ? "so many" : "one", line->positional);
    memcpy(r->values + line->positional_offset + (size_t)r->npositional++ * sizeof argument, &argument,
           sizeof argument);
    return EQP_OK;
}

static int read_arguments(reading *r, int argc, char *const *argv)
{
    bool plain = false;
    int code = EQP_OK;

    for (int i = 1; i < argc && !code; i++) {
        if (!plain && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            r->action = APP_HELP;
            return EQP_OK;
        } else if (plain || strncmp(argv[i], "--", 2) != 0) {
            code = read_positional(r, argv[i], plain);
        } else if (strcmp(argv[i], "--") == 0) {
            plain = true;
        } else if (strcmp(argv[i], "--version") == 0) {
            r->action = APP_VERSION;
            return EQP_OK;
        } else {
            code = read_option(r, argc, argv, &i);
        }
    }
    return code;
}

int app_options_parse(const app_command_line *line, int argc, char *const *argv, void *values, app_action *action,
                      eqp_message *message)
{
    APP_FREED char *made = NULL;
    APP_FREED bool *given = NULL;
    const int noptions = app_options_count(line);
    int code = eqp_array_create(&made, (int64_t)line->values_size, 1);

    code = code ? code : eqp_array_create(&given, noptions, sizeof *given);
    APP_REFUSE_IF(code, message, code, "%s: %s", line->program, eqp_error_text(code));
    reading r = {line, made, given, 0, APP_RUN, message};
    for (int k = 0; k < noptions; k++) {
        const app_option row = app_options_row(line, k);
        EQP_CHECK(row.fallback ? store(&r, &row, row.fallback) : EQP_OK);
    }
    EQP_CHECK(read_arguments(&r, argc, argv));
    if (line->given_room > 0) {
        const int room = line->given_room < noptions ? line->given_room : noptions;
        memcpy(made + line->given_offset, given, (size_t)room * sizeof *given);
    }
    memcpy(values, made, line->values_size);
    *action = r.action;
    return EQP_OK;
}

bool app_options_given(const app_command_line *line, const void *values, const char *name)
{
    const int row = find_row(line, name, strlen(name));
    bool given = false;

    if (row >= 0 && row < line->given_room) {
        memcpy(&given, (const char *)values + line->given_offset + (size_t)row * sizeof given, sizeof given);
    }
    return given;
}

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

    EQP_CHECK(!stream ? EQP_ERR_MEMORY : EQP_OK);
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
