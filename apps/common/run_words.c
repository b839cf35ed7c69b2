/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_words.h"

#include "describe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PINS 65536 /* eqp_units_options.max_pins */
#define MOST_COLUMNS 65536

/* What an option may stand with: every method that needs one of these things, or one method. */
typedef struct word_key {
    const char *name;
    const char *method; /* NULL: all that need any of `needs` */
    bool flag;          /* stands alone */
    unsigned needs;
} word_key;

#define EVEN 0x10000U /* in word_key.needs: app_method_can_even() */

static const word_key keys[] = {
    {"pins", "interaction", false, 0},
    {"full", "interaction", true, 0},
    {"start", "interaction", false, 0},
    {"strategy", NULL, false, EQP_NEEDS_UNITS},
    {"rate", NULL, false, EQP_NEEDS_UNITS},
    {"threshold", NULL, false, EQP_NEEDS_UNITS},
    {"aspect", "tiles", false, 0},
    {"aspect", "jagged", false, 0},
    {"columns", "jagged", false, 0},
    {"split", "sfc", true, 0},
    {"split", "rcb", true, 0},
    {"even", NULL, false, EVEN},
};

#define NKEYS ((int)(sizeof keys / sizeof keys[0]))

const eqp_method *app_method_at(const app_methods *own, int i)
{
    const int nshared = eqp_method_count();

    if (i < nshared) {
        return eqp_method_at(i);
    }
    return own != NULL && i - nshared < own->n ? own->row[i - nshared] : NULL;
}

const eqp_method *app_method_find(const app_methods *own, const char *name)
{
    const eqp_method *row;

    for (int i = 0; (row = app_method_at(own, i)) != NULL; i++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

bool app_method_weighs(const eqp_method *method)
{
    return (method->needs & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS)) != 0;
}

bool app_wants_units(const app_rebalance_options *options)
{
    return options->split || (options->method->needs & EQP_NEEDS_UNITS) != 0;
}

bool app_method_can_even(const eqp_method *method)
{
    /* What a row without `assign` does is its own affair, and feedback learns from loads, not from weights. */
    return method->assign != NULL && (method->needs & EQP_NEEDS_WEIGHTS) != 0 && strcmp(method->name, "feedback") != 0;
}

bool app_wants_trial(const app_rebalance_options *options)
{
    return options->split || options->even_step || (options->method->needs & EQP_NEEDS_SOURCES) != 0;
}

static bool suits(const word_key *key, const eqp_method *method)
{
    if (key->needs == EVEN) {
        return app_method_can_even(method);
    }
    return key->method == NULL ? (method->needs & key->needs) != 0 : strcmp(key->method, method->name) == 0;
}

static const word_key *find_key(const eqp_method *method, const char *name)
{
    for (int i = 0; i < NKEYS; i++) {
        if (suits(&keys[i], method) && strcmp(keys[i].name, name) == 0) {
            return &keys[i];
        }
    }
    return NULL;
}

static int refuse_key(const eqp_method *method, const char *name, eqp_message *message)
{
    char known[200] = "";

    for (int i = 0; i < NKEYS; i++) {
        if (suits(&keys[i], method)) {
            strcat(known, " ");
            strcat(known, keys[i].name);
        }
    }
    eqp_message_set(message, "%s has no option '%.40s'; known:%s", method->name, name, known[0] ? known : " none");
    return EQP_ERR_UNKNOWN;
}

/* What `interaction` may start from: an assignment of the same items that needs nothing else. */
static int read_start(const char *text, const eqp_method **start, eqp_message *message)
{
    const eqp_method *row = eqp_method_find(text);

    if (strcmp(text, "curve") == 0) {
        *start = NULL;
        return EQP_OK;
    }
    if (row == NULL || row->assign == NULL || strcmp(text, "none") == 0 || strcmp(text, "interaction") == 0) {
        eqp_message_set(message, "'%.40s' is no method to start from, such as curve, rcb, tiles", text);
        return EQP_ERR_UNKNOWN;
    }
    *start = row;
    return EQP_OK;
}

/* One option with its value, which is NULL for one that stands alone. */
static int read_value(const char *name, const char *text, app_rebalance_options *options, eqp_message *message)
{
    int choice = 0, code;

    if (strcmp(name, "pins") == 0) {
        return app__read_int(text, 2, MOST_PINS, &options->most_pins, message);
    }
    if (strcmp(name, "columns") == 0) {
        return app__read_int(text, 1, MOST_COLUMNS, &options->columns, message);
    }
    if (strcmp(name, "aspect") == 0) {
        return app__read_real(text, 0, true, INFINITY, &options->aspect, message);
    }
    if (strcmp(name, "rate") == 0) {
        return app__read_real(text, 0, true, 1, &options->sample_rate, message);
    }
    if (strcmp(name, "threshold") == 0) {
        return app__read_real(text, 1.25, false, INFINITY, &options->sample_threshold, message);
    }
    if (strcmp(name, "start") == 0) {
        return read_start(text, &options->start, message);
    }
    if (strcmp(name, "strategy") == 0) {
        code = app__read_choice(text, "random|particle|adaptive|stride", &choice, message);
        options->strategy = code == EQP_OK ? (eqp_sample_strategy)choice : options->strategy;
        return code;
    }
    if (strcmp(name, "even") == 0) {
        code = app__read_choice(text, "load|step", &choice, message);
        options->even_step = code == EQP_OK ? choice == 1 : options->even_step;
        return code;
    }
    options->full = options->full || strcmp(name, "full") == 0;
    options->split = options->split || strcmp(name, "split") == 0;
    return EQP_OK;
}

/* One piece of a word, which is cut in two. *said: a bit for each key. */
static int read_piece(const eqp_method *method, char *piece, unsigned *said, app_rebalance_options *options,
                      eqp_message *message)
{
    char *value = strchr(piece, '=');
    eqp_message inner = {""};
    const word_key *key;
    int code;

    if (value != NULL) {
        *value++ = '\0';
    }
    key = find_key(method, piece);
    if (key == NULL) {
        return refuse_key(method, piece, message);
    }
    if (key->flag != (value == NULL) || (value != NULL && *value == '\0')) {
        eqp_message_set(message, "%s: %s %s", method->name, key->name, key->flag ? "takes no value" : "needs a value");
        return EQP_ERR_ARGUMENT;
    }
    if (*said & 1U << (key - keys)) {
        eqp_message_set(message, "%s: %s stands twice", method->name, key->name);
        return EQP_ERR_ARGUMENT;
    }
    *said |= 1U << (key - keys);
    code = read_value(key->name, value, options, &inner);
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: %s: %s", method->name, key->name, inner.text);
    }
    return code;
}

/* Options that contradict each other. */
static int check_options(const app_method_choice *choice, eqp_message *message)
{
    if (choice->options.full && choice->options.most_pins > 0) {
        eqp_message_set(message, "%s: full has all pins: not together with pins", choice->method->name);
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

int app_word_parse(const app_methods *own, const app_rebalance_options *run, const char *text,
                   app_method_choice *choice, eqp_message *message)
{
    app_method_choice made = {.options = *run};
    char copy[APP_WORD_LETTERS + 1], *colon, *next;
    unsigned said = 0;
    int code = EQP_OK;

    if (strlen(text) >= sizeof copy) {
        eqp_message_set(message, "'%.40s...' is longer than %d letters", text, APP_WORD_LETTERS);
        return EQP_ERR_ARGUMENT;
    }
    strcpy(made.name, text);
    strcpy(copy, text);
    colon = strchr(copy, ':');
    if (colon != NULL) {
        *colon = '\0';
    }
    made.method = app_method_find(own, copy);
    if (made.method == NULL) {
        eqp_message_set(message, "'%s' is no method (try --balance help)", copy);
        return EQP_ERR_UNKNOWN;
    }
    made.options.method = made.method;
    for (char *piece = colon != NULL ? colon + 1 : NULL; piece != NULL && code == EQP_OK; piece = next) {
        next = strchr(piece, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        code = read_piece(made.method, piece, &said, &made.options, message);
    }
    code = code == EQP_OK ? check_options(&made, message) : code;
    if (code == EQP_OK) {
        *choice = made;
    }
    return code;
}

/* A list that grows by one word at a time. */
typedef struct word_list {
    const app_methods *own;
    const app_rebalance_options *run;
    app_method_choice *choice; /* room for all */
    int n;
    eqp_message *message;
} word_list;

static int add_word(word_list *list, const char *text)
{
    app_method_choice *at = &list->choice[list->n];
    int code = app_word_parse(list->own, list->run, text, at, list->message);

    for (int i = 0; i < list->n && code == EQP_OK; i++) {
        if (strcmp(list->choice[i].name, at->name) == 0) {
            eqp_message_set(list->message, "'%s' stands twice", at->name);
            code = EQP_ERR_ARGUMENT;
        }
    }
    list->n += code == EQP_OK;
    return code;
}

static int add_all(word_list *list)
{
    const eqp_method *row;
    int code = EQP_OK;

    for (int i = 0; (row = app_method_at(list->own, i)) != NULL && code == EQP_OK; i++) {
        /* The first of a name is the one that it means. */
        if (strcmp(row->name, "none") != 0 && app_method_find(list->own, row->name) == row) {
            code = add_word(list, row->name);
        }
    }
    return code;
}

/* Where a word ends: at the first comma whose piece is not an option of it. */
static size_t word_length(const char *text)
{
    size_t length = strcspn(text, ",");

    while (text[length] == ',') {
        const char *piece = text + length + 1;
        const size_t more = strcspn(piece, ",");

        if (memchr(piece, '=', more) == NULL || memchr(piece, ':', more) != NULL) {
            break;
        }
        length += 1 + more;
    }
    return length;
}

static int add_words(word_list *list, const char *text)
{
    int code = EQP_OK;

    for (const char *at = text; code == EQP_OK; at++) {
        const size_t length = word_length(at);
        char word[200];

        snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, at);
        if (length == 0) {
            eqp_message_set(list->message, "'%.100s' is not a list with commas: an item is empty", text);
            return EQP_ERR_ARGUMENT;
        }
        code = strcmp(word, "all") == 0 ? add_all(list) : add_word(list, word);
        at += length;
        if (*at == '\0') {
            break;
        }
    }
    return code;
}

int app_words_parse(const app_methods *own, const app_rebalance_options *run, const char *text, int *n,
                    app_method_choice **choices, eqp_message *message)
{
    word_list list = {.own = own, .run = run, .message = message};
    int64_t room = eqp_method_count() + (own != NULL ? own->n : 0) + 2;
    int code;

    for (const char *c = text; *c != '\0'; c++) {
        room += *c == ',';
    }
    code = eqp_array_create(&list.choice, room, sizeof *list.choice);
    code = code == EQP_OK ? add_words(&list, text) : code;
    if (code != EQP_OK) {
        free(list.choice);
        return code;
    }
    *n = list.n;
    *choices = list.choice;
    return EQP_OK;
}
