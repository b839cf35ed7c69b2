/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of every mini-app: a table with one row per option. A value is read whole or refused, and every
 * refusal is one line that names the option and the mistake. Nothing here prints or exits. */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include <equipoise/more/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Frees a local array at the end of its block; NULL is legal. */
#define APP_FREED __attribute__((cleanup(app_array_free)))
static inline void app_array_free(void *address)
{
    void *array;

    memcpy(&array, address, sizeof array);
    free(array);
}

/* Refuses in one line, in a function with nothing to free. */
#define APP_REFUSE_IF(condition, message, code, ...)                                                                   \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            eqp_message_set(message, __VA_ARGS__);                                                                     \
            return code;                                                                                               \
        }                                                                                                              \
    } while (0)

typedef enum app_option_type {
    APP_OPTION_FLAG,   /* bool; takes no value */
    APP_OPTION_INT,    /* int64_t */
    APP_OPTION_REAL,   /* double, finite */
    APP_OPTION_TEXT,   /* const char *, not empty */
    APP_OPTION_CHOICE, /* int: number of the word in `choices` */
    APP_OPTION_KEYED /* const char *: KIND[:key=value,...] or key=value,...; only the form is checked, see app_keyed */
} app_option_type;

/* Values go into a struct of the app, at `offset`. */
typedef struct app_option {
    const char *name;     /* without the dashes */
    const char *argument; /* name of the value in help; NULL for a flag, or for a choice to list its words */
    app_option_type type;
    size_t offset;             /* offsetof(struct of values, field) */
    const char *fallback;      /* the default, written as on the command line; NULL: false, 0, NULL, the first choice */
    const char *help;          /* "\n" starts a new line */
    int64_t int_low, int_high; /* INT: both inclusive; both 0: any number; int_high < int_low: no upper limit */
    double real_low, real_high; /* REAL: both 0 and !open_low: any finite number; INFINITY: no upper limit */
    bool open_low;              /* REAL: real_low itself is refused; then real_high 0 means no upper limit */
    const char *choices;        /* CHOICE: words separated by '|'; INT: words for int_low - 1, int_low - 2, ... */
} app_option;

/* A row: name, argument, suffix of the type, struct of values and its member, help; then limits, default and choices by
 * name, or `.fallback = NULL`. */
#define APP_ROW(name_, argument_, type_, values_, member_, help_, ...)                                                 \
    {                                                                                                                  \
        .name = name_, .argument = argument_, .type = APP_OPTION_##type_, .offset = offsetof(values_, member_),        \
        .help = help_, __VA_ARGS__                                                                                     \
    }

typedef struct app_option_list {
    const app_option *option; /* [n] */
    int n;
} app_option_list;

/* An app's replacement for texts of a shared row. */
typedef struct app_option_text {
    const char *name;
    const char *help;     /* NULL: as in the row */
    const char *fallback; /* NULL: as in the row */
    bool absent;          /* the app lacks this option; its field keeps the default */
} app_option_text;

/* A command line. --help and --version need no rows. The table consists of the rows of `before`, its own, and the rows
 * of `after`; shared rows refer to a struct at `shared_offset` in the values. */
typedef struct app_command_line {
    const char *program;      /* begins every message */
    const char *summary;      /* a line for help */
    const char *positional;   /* name of the optional argument, such as "SNAPSHOT"; NULL: no argument */
    size_t positional_offset; /* of a const char *: NULL if the argument is absent */
    int positional_room; /* 0: at most one argument; else capacity of an array of const char *, filled from the front */
    const app_option *option; /* [noptions] */
    int noptions;
    size_t values_size;                    /* sizeof(struct of values) */
    const char *epilogue;                  /* further lines of help, or NULL */
    const app_option_list *before, *after; /* shared rows, or NULL */
    size_t shared_offset;                  /* of the struct that they fill */
    const app_option_text *text;           /* [ntexts] */
    int ntexts;
    size_t given_offset; /* of a bool [given_room] in the values: true for rows that were given */
    int given_room;      /* 0: not wanted */
} app_command_line;

/* Number of all rows, and row i for this app: a copy with its own text and the offset in the app's values. A row that
 * the app lacks has no name. */
int app_options_count(const app_command_line *line);
app_option app_options_row(const app_command_line *line, int i);

typedef enum app_action { APP_RUN, APP_HELP, APP_VERSION } app_action;

/* Reads argv[1] to argv[argc - 1] as --name value or --name=value; the last of several wins, "--" ends the options.
 * values: the app's struct, overwritten whole (defaults first, bytes without a row 0); its texts point into argv and
 * the table. action: help and version win over everything, including mistakes after them. On error both are unchanged
 * and the message says "program: --name: what is wrong". EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY. */
int app_options_parse(const app_command_line *line, int argc, char *const *argv, void *values, app_action *action,
                      eqp_message *message);

/* True if the command line that filled these values named the row. False for rows beyond given_room. */
bool app_options_given(const app_command_line *line, const void *values, const char *name);

/* Text of --help, made from the table. Owned by the caller: free(). EQP_OK or EQP_ERR_MEMORY. */
int app_options_help(const app_command_line *line, char **text);

/* At least one integer within the limits, separated by commas. values: owned by the caller, free(). EQP_OK,
 * EQP_ERR_ARGUMENT with a message "'x' is not ...", EQP_ERR_MEMORY. */
int app_parse_int_list(const char *text, int64_t low, int64_t high, int *n, int64_t **values, eqp_message *message);

/* At least one nonempty word, separated by commas. words is one block, owned by the caller: free(words). Codes as of
 * app_parse_int_list. */
int app_parse_word_list(const char *text, int *n, char ***words, eqp_message *message);

/* The parts of KIND[:key=value,...]; "key=value,..." alone has the kind "". Take every known key, then call
 * app_keyed_end, which refuses all other keys. The first mistake wins and makes later calls do nothing, so only the end
 * needs a check. */
#define APP_KEYED_MAX 32
typedef struct app_keyed {
    char *copy; /* owned */
    const char *kind;
    int n;
    const char *key[APP_KEYED_MAX], *value[APP_KEYED_MAX];
    bool taken[APP_KEYED_MAX];
    char known[256]; /* keys asked for, to list them in a message */
    int code;        /* of the first mistake */
    eqp_message message;
} app_keyed;

/* EQP_OK, EQP_ERR_ARGUMENT for an empty, repeated or missing key or value, EQP_ERR_MEMORY; message: NULL allowed. On
 * success call app_keyed_end or app_keyed_free afterwards. */
int app_keyed_parse(const char *text, app_keyed *keyed, eqp_message *message);

/* Takes a key. *value is unchanged if it is absent, so set the default first. */
void app_keyed_int(app_keyed *keyed, const char *key, int64_t low, int64_t high, int64_t *value);
void app_keyed_real(app_keyed *keyed, const char *key, double low, bool open_low, double high, double *value);
void app_keyed_text(app_keyed *keyed, const char *key, const char **value); /* borrowed until the end */

/* Frees it. EQP_OK, the code of the first mistake, or EQP_ERR_ARGUMENT for a key that no call has taken, with "key:
 * reason" in the message. */
int app_keyed_end(app_keyed *keyed, eqp_message *message);
void app_keyed_free(app_keyed *keyed);

#endif
