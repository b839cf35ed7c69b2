/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* Splits one "key=value". */
static int add_pair(app_keyed *keyed, char *pair, eqp_message *message)
{
    char *value = strchr(pair, '=');

    APP_REFUSE_IF(!value || value == pair, message, EQP_ERR_ARGUMENT, "'%.100s' is not key=value", pair);
    *value++ = '\0';
    APP_REFUSE_IF(!*value, message, EQP_ERR_ARGUMENT, "%.100s has no value", pair);
    for (int i = 0; i < keyed->n; i++) {
        APP_REFUSE_IF(strcmp(keyed->key[i], pair) == 0, message, EQP_ERR_ARGUMENT, "%.100s is given twice", pair);
    }
    APP_REFUSE_IF(keyed->n == APP_KEYED_MAX, message, EQP_ERR_ARGUMENT, "more than %d keys", APP_KEYED_MAX);
    keyed->key[keyed->n] = pair;
    keyed->value[keyed->n++] = value;
    return EQP_OK;
}

static int split(app_keyed *keyed, eqp_message *message)
{
    char *rest = keyed->copy;
    size_t kind = strcspn(rest, ":=,");
    int code = EQP_OK;

    keyed->kind = "";
    if (rest[kind] == ':' || !rest[kind]) {
        APP_REFUSE_IF(kind == 0, message, EQP_ERR_ARGUMENT, "'%.100s' does not begin with a name", keyed->copy);
        keyed->kind = rest;
        rest = rest[kind] ? rest + kind + 1 : NULL;
        keyed->copy[kind] = '\0';
    }
    while (rest && !code) {
        char *comma = strchr(rest, ',');

        if (comma) {
            *comma = '\0';
        }
        code = add_pair(keyed, rest, message);
        rest = comma ? comma + 1 : NULL;
    }
    return code;
}

int app_keyed_parse(const char *text, app_keyed *keyed, eqp_message *message)
{
    int code;

    memset(keyed, 0, sizeof *keyed);
    keyed->copy = strdup(text);
    code = keyed->copy ? split(keyed, message) : EQP_ERR_MEMORY;
    if (code) {
        app_keyed_free(keyed);
    }
    return code;
}

/* Takes the value of a key; NULL if the key is absent or after an earlier mistake. */
static const char *take(app_keyed *keyed, const char *key)
{
    size_t length = strlen(keyed->known);

    if (length + strlen(key) + 2 <= sizeof keyed->known) {
        keyed->known[length] = ' ';
        memcpy(keyed->known + length + 1, key, strlen(key) + 1);
    }
    for (int i = 0; i < keyed->n && !keyed->code; i++) {
        if (strcmp(keyed->key[i], key) == 0) {
            keyed->taken[i] = true;
            return keyed->value[i];
        }
    }
    return NULL;
}

static void note(app_keyed *keyed, const char *key, int code, const eqp_message *message)
{
    if (code) {
        keyed->code = code;
        eqp_message_set(&keyed->message, "%s: %s", key, message->text);
    }
}

void app_keyed_int(app_keyed *keyed, const char *key, int64_t low, int64_t high, int64_t *value)
{
    const char *text = take(keyed, key);
    eqp_message message;

    if (text) {
        note(keyed, key, eqp_read_int(text, low, high, value, &message), &message);
    }
}

void app_keyed_real(app_keyed *keyed, const char *key, double low, bool open_low, double high, double *value)
{
    const char *text = take(keyed, key);
    eqp_message message;

    if (text) {
        note(keyed, key, eqp_read_real(text, low, open_low, high, value, &message), &message);
    }
}

void app_keyed_text(app_keyed *keyed, const char *key, const char **value)
{
    const char *text = take(keyed, key);

    *value = text ? text : *value;
}

int app_keyed_end(app_keyed *keyed, eqp_message *message)
{
    int code = keyed->code;

    if (code) {
        eqp_message_set(message, "%s", keyed->message.text);
    }
    for (int i = 0; i < keyed->n && !code; i++) {
        if (!keyed->taken[i]) {
            code = EQP_ERR_ARGUMENT;
            eqp_message_set(message, "%.100s: no such key; known:%s", keyed->key[i],
                            keyed->known[0] ? keyed->known : " none");
        }
    }
    app_keyed_free(keyed);
    return code;
}

void app_keyed_free(app_keyed *keyed)
{
    free(keyed->copy);
    memset(keyed, 0, sizeof *keyed);
}

/* Number of comma-separated words; 0 if one of them is empty. */
static int count_words(const char *text, eqp_message *message)
{
    int n = 1;

    for (const char *word = text;; n++) {
        size_t length = strcspn(word, ",");

        if (length == 0) {
            eqp_message_set(message, "'%.100s' is not a list with commas: an item is empty", text);
            return 0;
        }
        if (!word[length]) {
            return n;
        }
        word += length + 1;
    }
}

int app_parse_word_list(const char *text, int *n, char ***words, eqp_message *message)
{
    int count = count_words(text, message);
    size_t pointers = (size_t)count * sizeof(char *), length = strlen(text) + 1;
    char **list, *letters;

    EQP_CHECK(count == 0 ? EQP_ERR_ARGUMENT : EQP_OK);
    list = malloc(pointers + length);
    EQP_CHECK(!list ? EQP_ERR_MEMORY : EQP_OK);
    letters = (char *)(list + count);
    memcpy(letters, text, length);
    for (int i = 0; i < count; i++) {
        list[i] = letters;
        letters += strcspn(letters, ",");
        *letters++ = '\0';
    }
    *n = count;
    *words = list;
    return EQP_OK;
}

int app_parse_int_list(const char *text, int64_t low, int64_t high, int *n, int64_t **values, eqp_message *message)
{
    int64_t *list = NULL;
    char **words = NULL;
    int count = 0;
    int code = app_parse_word_list(text, &count, &words, message);

    code = code ? code : eqp_array_create(&list, count, sizeof *list);
    for (int i = 0; i < count && !code; i++) {
        code = eqp_read_int(words[i], low, high, &list[i], message);
    }
    free(words);
    if (code) {
        free(list);
        return code;
    }
    *n = count;
    *values = list;
    return EQP_OK;
}
