/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/balance.h>

#include "methods/frame/frame.h"

#include "base/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_PINS 65536 /* eqp_units_options.max_pins */

/* Options that methods get through their flags, in the order of the help text: `common`, the method's own, `last`. */
typedef struct common_option {
    unsigned flags; /* the method must have all of them */
    eqp_option option;
} common_option;

static const common_option common[] = {
    {EQP_NEEDS_PINS | EQP_NEEDS_UNITS,
     {"pins", EQP_OPTION_INT, offsetof(eqp_choice_options, pins), 2, false, MOST_PINS, NULL,
      "most pins of a work unit; 2: its owner and the other end of the interaction in its middle"}},
    {EQP_NEEDS_PINS | EQP_NEEDS_UNITS,
     {"full", EQP_OPTION_FLAG, offsetof(eqp_choice_options, full), 0, false, 0, NULL,
      "every interaction is a unit with all its pins: small inputs only"}},
    {EQP_REFINES,
     {"start", EQP_OPTION_METHOD, offsetof(eqp_choice_options, start), 0, false, 0, NULL,
      "the method whose parts are refined; curve: the present ones, or the curve's"}},
    {EQP_NEEDS_UNITS,
     {"strategy", EQP_OPTION_CHOICE, offsetof(eqp_choice_options, strategy), 0, false, 0,
      "random|particle|adaptive|stride", "how the centroids of work units are drawn"}},
    {EQP_NEEDS_UNITS,
     {"rate", EQP_OPTION_REAL, offsetof(eqp_choice_options, rate), 0, true, 1, NULL, "work units per interaction"}},
    {EQP_NEEDS_UNITS,
     {"threshold", EQP_OPTION_REAL, offsetof(eqp_choice_options, threshold), 1.25, false, INFINITY, NULL,
      "times the target weight over which a unit is split again"}},
};
static const common_option last[] = {
    {EQP_CAN_SPLIT,
     {"split", EQP_OPTION_FLAG, offsetof(eqp_choice_options, split), 0, false, 0, NULL,
      "work units are assigned, not whole owners: those at the cuts are shared"}},
    {EQP_CAN_EVEN,
     {"even", EQP_OPTION_CHOICE, offsetof(eqp_choice_options, even), 0, false, 0, "load|step",
      "what is made even: step is load and exchange together"}},
    {EQP_SCATTERS,
     {"homes", EQP_OPTION_CHOICE, offsetof(eqp_choice_options, homes), 0, false, 0, "parts|curve",
      "where data live: with the part that computes them, or in a run of the curve for each part"}},
    {EQP_CAN_SPLIT,
     {"maps", EQP_OPTION_CHOICE, offsetof(eqp_choice_options, maps), 0, false, 0, "cycle|phase",
      "one map for all phases of a cycle, or one for each, with data in runs of the curve"}},
};
#define NCOMMON ((int)(sizeof common / sizeof common[0]))
#define NLAST ((int)(sizeof last / sizeof last[0]))

/* Only balancers run it. */
const eqp_method eqp__method_auto = {.name = "auto",
                                     .summary = "the cheapest of those that are worth a trial, by exact evaluation",
                                     .flags = EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS};

const eqp_method *eqp__methods_find(const eqp_methods *own, const char *name)
{
    const eqp_method *row;

    for (int i = 0; name && (row = eqp_methods_at(own, i)); i++) {
        if (row->name && strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

/* Option *i among the table's options that the method's flags allow; else NULL, and *i is reduced by their number. */
static const eqp_option *allowed_option(const eqp_method *method, int n, const common_option *table, int *i)
{
    for (int k = 0; k < n; k++) {
        if ((method->flags & table[k].flags) == table[k].flags && (*i)-- == 0) {
            return &table[k].option;
        }
    }
    return NULL;
}

const eqp_option *eqp_choice_option(const eqp_method *method, int i)
{
    const eqp_option *found;
    const int nown = method && method->option && method->noptions > 0 ? method->noptions : 0;

    if (!method || i < 0) {
        return NULL;
    }
    if ((found = allowed_option(method, NCOMMON, common, &i))) {
        return found;
    }
    return i < nown ? &method->option[i] : (i -= nown, allowed_option(method, NLAST, last, &i));
}

static bool is_own(const eqp_method *method, const eqp_option *option)
{
    for (int i = 0; i < method->noptions; i++) {
        if (option == &method->option[i]) {
            return true;
        }
    }
    return false;
}

typedef struct reading {
    const eqp_methods *own;
    const eqp_choice_options *usual;
    const eqp_settings *of_call; /* initial settings of a call, which allows own options only; NULL: balancer */
} reading;

void eqp__methods_add_all(eqp_message *message)
{
    const eqp_message before = message ? *message : (eqp_message){""};
    char names[200] = "";
    const eqp_method *row;

    for (int i = 0; (row = eqp_method_at(i)) != NULL; i++) {
        const size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i > 0 ? ", " : "", row->name);
    }
    eqp_message_set(message, "%s; there are %s", before.text, names);
}

/* Reports an unknown method name. Returns EQP_ERR_UNKNOWN. */
static int refuse_method(const reading *how, const char *name, eqp_message *message)
{
    eqp_nearest nearest = {.text = name, .length = strlen(name)};
    const eqp_method *row = eqp__method_lacking_find(name);

    if (how->of_call) {
        eqp_message_set(message, row ? "this build lacks %s: no %s" : "'%.40s' is no method of a call",
                        row ? row->name : name, row ? eqp__method_library(row) : "");
        eqp__methods_add_all(message);
        return EQP_ERR_UNKNOWN;
    }
    EQP__FAIL_IF(row,
                 EQP__SAY(message, EQP_ERR_UNKNOWN, "this build lacks %s: no %s", row->name, eqp__method_library(row)));
    for (int i = 0; (row = eqp_methods_at(how->own, i)); i++) {
        eqp_nearest_look(&nearest, row->name);
    }
    eqp_message_set(message, "'%s' is no method (try --balance help)", name);
    eqp_nearest_suggest(&nearest, message);
    return EQP_ERR_UNKNOWN;
}

/* Parses the start method of a refinement. NULL in *start: the present parts, or the curve. */
static int read_start(const char *text, const eqp_method **start, eqp_message *message)
{
    const eqp_method *row = eqp_method_find(text);

    if (strcmp(text, "curve") == 0) {
        *start = NULL;
        return EQP_OK;
    }
    EQP__FAIL_IF(!row && eqp__method_lacking_find(text), refuse_method(&(reading){.own = NULL}, text, message));
    EQP__FAIL_IF(
        !row || (row->flags & (EQP_KEEPS | EQP_REFINES)),
        EQP__SAY(message, EQP_ERR_UNKNOWN, "'%.40s' is no method to start from, such as curve, rcb, tiles", text));
    *start = row;
    return EQP_OK;
}

/* Clamps a limit to the range of int64_t. */
static int64_t limit_of(double limit)
{
    return limit >= 0x1p63 ? INT64_MAX : limit > -0x1p63 ? (int64_t)limit : INT64_MIN;
}

/* Parses an option's value into its place in a struct of `size` bytes. */
static int read_option(const eqp_option *option, const char *text, void *values, size_t size, eqp_message *message)
{
    union {
        int64_t number;
        double real;
        int choice;
        bool flag;
        const eqp_method *method;
    } value;
    size_t bytes = 0;
    int code = EQP_ERR_ARGUMENT;

    switch (option->type) {
    case EQP_OPTION_INT:
        bytes = sizeof value.number;
        code = eqp_read_int(text, limit_of(option->low), limit_of(option->high), &value.number, message);
        break;
    case EQP_OPTION_REAL:
        bytes = sizeof value.real;
        code = eqp_read_real(text, option->low, option->above, option->high, &value.real, message);
        break;
    case EQP_OPTION_CHOICE:
        bytes = sizeof value.choice;
        code = eqp_read_choice(text, option->choices, &value.choice, message);
        break;
    case EQP_OPTION_FLAG:
        bytes = sizeof value.flag;
        value.flag = true;
        code = EQP_OK;
        break;
    case EQP_OPTION_METHOD:
        bytes = sizeof value.method;
        code = read_start(text, &value.method, message);
        break;
    }
    EQP__FAIL_IF(code == EQP_OK && (option->offset > size || bytes > size - option->offset),
                 EQP_ERR_ARGUMENT); /* invalid row: the offset is outside the struct */
    if (code == EQP_OK) {
        memcpy((char *)values + option->offset, &value, bytes);
    }
    return code;
}

/* read_option() with the names of method and option in front of its message. */
static int read_value(const eqp_method *method, const eqp_option *option, const char *text, void *values, size_t size,
                      eqp_message *message)
{
    const bool flag = option->type == EQP_OPTION_FLAG;
    eqp_message why = {""};
    int code;

    EQP__FAIL_IF(flag != (text == NULL) || (text && !*text),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: %s %s", method->name, option->name,
                          flag ? "takes no value" : "needs a value"));
    code = read_option(option, text, values, size, &why);
    if (code) {
        eqp_message_set(message, "%s: %s: %s", method->name, option->name, why.text);
    }
    return code;
}

/* A method's own option of this name, or NULL. */
static const eqp_option *own_option(const eqp_method *method, const char *name)
{
    for (int i = 0; method->option && i < method->noptions; i++) {
        if (method->option[i].name && strcmp(method->option[i].name, name) == 0) {
            return &method->option[i];
        }
    }
    return NULL;
}

int eqp_method_set(const eqp_method *method, const char *name, const char *value, eqp_settings *settings,
                   eqp_message *message)
{
    EQP_REQUIRE(method && method->name && name && settings);
    const eqp_option *option = own_option(method, name);

    EQP__FAIL_IF(!option,
                 EQP__SAY(message, EQP_ERR_UNKNOWN, "%s has no option '%.40s' of its own", method->name, name));
    return read_value(method, option, value, settings, sizeof *settings, message);
}

int eqp__method_suggest(const eqp_method *method, const char *name, double value, eqp_settings *settings)
{
    EQP_REQUIRE(method && name && settings);
    const eqp_option *option = own_option(method, name);
    double now;

    EQP__FAIL_IF(!option || option->type != EQP_OPTION_REAL, EQP_ERR_UNKNOWN);
    EQP__FAIL_IF(!isfinite(value) || !(option->above ? value > option->low : value >= option->low) ||
                     value > option->high || option->offset > sizeof *settings - sizeof now,
                 EQP_ERR_ARGUMENT);
    memcpy(&now, (char *)settings + option->offset, sizeof now);
    if (now == 0) {
        memcpy((char *)settings + option->offset, &value, sizeof value);
    }
    return EQP_OK;
}

static int refuse_option(const eqp_method *method, const char *name, eqp_message *message)
{
    char known[200] = "";
    const eqp_option *option;

    for (int i = 0; (option = eqp_choice_option(method, i)); i++) {
        const size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, " %s", option->name);
    }
    eqp_message_set(message, "%s has no option '%.40s'; known:%s", method->name, name, known[0] ? known : " none");
    return EQP_ERR_UNKNOWN;
}

/* Parses one piece, NAME or NAME=VALUE; piece is modified. *said: a bit for each option already given. */
static int read_piece(char *piece, bool of_call, uint64_t *said, eqp_choice *choice, eqp_message *message)
{
    const eqp_method *method = choice->method;
    char *value = strchr(piece, '=');
    const eqp_option *option;
    int i = 0;

    if (value) {
        *value++ = '\0';
    }
    while ((option = eqp_choice_option(method, i)) && strcmp(option->name, piece) != 0) {
        i++;
    }
    EQP__FAIL_IF(!option, refuse_option(method, piece, message));
    EQP__FAIL_IF(*said >> (i & 63) & 1,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: %s stands twice", method->name, option->name));
    *said |= UINT64_C(1) << (i & 63);
    EQP__FAIL_IF(of_call && !is_own(method, option),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: %s is an option of balancers (balancer.h), not of this call",
                          method->name, option->name));
    return is_own(method, option)
               ? read_value(method, option, value, &choice->settings, sizeof choice->settings, message)
               : read_value(method, option, value, &choice->options, sizeof choice->options, message);
}

/* Refuses options that contradict each other. */
static int check_options(const eqp_choice *choice, eqp_message *message)
{
    EQP__FAIL_IF(
        choice->options.full && choice->options.pins > 0,
        EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: full has all pins: not together with pins", choice->method->name));
    EQP__FAIL_IF(choice->options.maps && choice->options.split,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: maps=phase is of whole owners: not together with split",
                          choice->method->name));
    return EQP_OK;
}

static int read_word(const reading *how, const char *word, eqp_choice *choice, eqp_message *message)
{
    eqp_choice made = {.options = {.strategy = EQP_SAMPLE_STRIDE, .threshold = 2.0}};
    char copy[EQP_WORD_LETTERS + 1], *colon, *next;
    uint64_t said = 0;

    EQP__FAIL_IF(strlen(word) >= sizeof copy,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "'%.40s...' is longer than %d letters", word, EQP_WORD_LETTERS));
    strcpy(made.word, word);
    strcpy(copy, word);
    if (how->usual) {
        made.options = *how->usual;
    }
    if (how->of_call) {
        made.settings = *how->of_call;
    }
    colon = strchr(copy, ':');
    if (colon) {
        *colon = '\0';
    }
    made.method = eqp__methods_find(how->own, copy);
    EQP__FAIL_IF(!made.method || (how->of_call && !eqp_method_assigns(made.method)), refuse_method(how, copy, message));
    for (char *piece = colon ? colon + 1 : NULL; piece; piece = next) {
        next = strchr(piece, ',');
        if (next) {
            *next++ = '\0';
        }
        EQP__CHECK(read_piece(piece, how->of_call != NULL, &said, &made, message));
    }
    EQP__CHECK(check_options(&made, message));
    made.options.homes = made.options.maps ? 1 : made.options.homes;
    *choice = made;
    return EQP_OK;
}

int eqp_choice_parse(const eqp_methods *own, const eqp_choice_options *usual, const char *word, eqp_choice *choice,
                     eqp_message *message)
{
    const reading how = {.own = own, .usual = usual};

    EQP_REQUIRE(word && choice);
    return read_word(&how, word, choice, message);
}

int eqp_method_read(const char *word, const eqp_method **method, eqp_settings *settings, eqp_message *message)
{
    const reading how = {.of_call = settings};
    eqp_choice choice;

    EQP_REQUIRE(method && settings);
    word = word != NULL && word[0] != '\0' ? word : eqp__method_sfc.name;
    EQP_REQUIRE(read_word(&how, word, &choice, message) == EQP_OK);
    *method = choice.method;
    *settings = choice.settings;
    return EQP_OK;
}

typedef struct word_list {
    const eqp_methods *own;
    const eqp_choice_options *usual;
    eqp_choice *choice; /* large enough for all words */
    int n;
    eqp_message *message;
} word_list;

static int add_word(word_list *list, const char *text)
{
    eqp_choice *at = &list->choice[list->n];
    int code = eqp_choice_parse(list->own, list->usual, text, at, list->message);

    for (int i = 0; i < list->n && !code; i++) {
        if (strcmp(list->choice[i].word, at->word) == 0) {
            eqp_message_set(list->message, "'%s' stands twice", at->word);
            code = EQP_ERR_ARGUMENT;
        }
    }
    list->n += code == EQP_OK;
    return code;
}

static int add_all(word_list *list)
{
    const eqp_method *row;

    for (int i = 0; (row = eqp_methods_at(list->own, i)); i++) {
        /* A name refers to the first row that has it. */
        if (!(row->flags & EQP_KEEPS) && eqp__methods_find(list->own, row->name) == row) {
            EQP__CHECK(add_word(list, row->name));
        }
    }
    return EQP_OK;
}

/* Length of a word: up to the first comma that is not followed by NAME=VALUE. */
static size_t word_length(const char *text)
{
    size_t length = strcspn(text, ",");

    while (text[length] == ',') {
        const char *piece = text + length + 1;
        const size_t more = strcspn(piece, ",");

        if (!memchr(piece, '=', more) || memchr(piece, ':', more)) {
            break;
        }
        length += 1 + more;
    }
    return length;
}

static int add_words(word_list *list, const char *text)
{
    for (const char *at = text;; at++) {
        const size_t length = word_length(at);
        char word[200];

        snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, at);
        EQP__FAIL_IF(length == 0, EQP__SAY(list->message, EQP_ERR_ARGUMENT,
                                           "'%.100s' is not a list with commas: an item is empty", text));
        EQP__CHECK(strcmp(word, "all") == 0 ? add_all(list) : add_word(list, word));
        at += length;
        if (*at == '\0') {
            break;
        }
    }
    return EQP_OK;
}

int eqp_choices_parse(const eqp_methods *own, const eqp_choice_options *usual, const char *words, int *n,
                      eqp_choice **choices, eqp_message *message)
{
    EQP_REQUIRE(words && n && choices);
    word_list list = {.own = own, .usual = usual, .message = message};
    int64_t room = eqp_method_count() + (own && own->row && own->n > 0 ? own->n : 0) + 2;
    int code;

    for (const char *c = words; *c != '\0'; c++) {
        room += *c == ',';
    }
    EQP_TRY(eqp_array_create(&list.choice, room, sizeof *list.choice));
    EQP_TRY(add_words(&list, words));
    *n = list.n;
    *choices = list.choice;
    return EQP_OK;
done:
    free(list.choice);
    return code;
}
