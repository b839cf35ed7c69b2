/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "options.h"

int app_parse_int(const char *text, int64_t *value)
{
    size_t sign = text[0] == '-';
    char *end;
    long long number;

    /* strtoll would also take blanks and a plus sign. */
    if (text[sign] < '0' || text[sign] > '9') {
        return EQP_ERR_ARGUMENT;
    }
    errno = 0;
    number = strtoll(text, &end, 10);
    if (*end || errno) {
        return EQP_ERR_ARGUMENT;
    }
    *value = number;
    return EQP_OK;
}

int app_parse_real(const char *text, double *value)
{
    char *end;
    double number;

    /* strtod would also take blanks, hexadecimal numbers, infinities and NaN. */
    if (!*text || text[strspn(text, "0123456789+-.eE")]) {
        return EQP_ERR_ARGUMENT;
    }
    errno = 0;
    number = strtod(text, &end);
    if (end == text || *end || !isfinite(number) || (errno && number == 0.0)) {
        return EQP_ERR_ARGUMENT;
    }
    *value = number;
    return EQP_OK;
}

int app_parse_choice(const char *text, const char *choices, int *value)
{
    size_t length = strlen(text);

    for (int i = 0;; i++) {
        size_t word = strcspn(choices, "|");

        if (word == length && strncmp(text, choices, word) == 0) {
            *value = i;
            return EQP_OK;
        }
        if (!choices[word]) {
            return EQP_ERR_UNKNOWN;
        }
        choices += word + 1;
    }
}

int app__read_int(const char *text, int64_t low, int64_t high, int64_t *value, eqp_message *message)
{
    int64_t number;

    if (app_parse_int(text, &number) == EQP_OK && number >= low && number <= high) {
        *value = number;
        return EQP_OK;
    }
    if (low > INT64_MIN && high < INT64_MAX) {
        eqp_message_set(message, "'%.100s' is not an integer from %lld to %lld", text, (long long)low, (long long)high);
    } else if (low > INT64_MIN) {
        eqp_message_set(message, "'%.100s' is not an integer >= %lld", text, (long long)low);
    } else if (high < INT64_MAX) {
        eqp_message_set(message, "'%.100s' is not an integer <= %lld", text, (long long)high);
    } else {
        eqp_message_set(message, "'%.100s' is not an integer", text);
    }
    return EQP_ERR_ARGUMENT;
}

int app__read_real(const char *text, double low, bool open_low, double high, double *value, eqp_message *message)
{
    const char *above = open_low ? ">" : ">=";
    double number;

    if (app_parse_real(text, &number) == EQP_OK && (open_low ? number > low : number >= low) && number <= high) {
        *value = number;
        return EQP_OK;
    }
    if (isfinite(low) && isfinite(high)) {
        eqp_message_set(message, "'%.100s' is not a number %s %g and <= %g", text, above, low, high);
    } else if (isfinite(low)) {
        eqp_message_set(message, "'%.100s' is not a number %s %g", text, above, low);
    } else if (isfinite(high)) {
        eqp_message_set(message, "'%.100s' is not a number <= %g", text, high);
    } else {
        eqp_message_set(message, "'%.100s' is not a number", text);
    }
    return EQP_ERR_ARGUMENT;
}

int app__read_choice(const char *text, const char *choices, int *value, eqp_message *message)
{
    char words[300];

    if (app_parse_choice(text, choices, value) == EQP_OK) {
        return EQP_OK;
    }
    (void)snprintf(words, sizeof words, "%s", choices);
    for (char *c = words; (c = strchr(c, '|'));) {
        *c = ' ';
    }
    eqp_message_set(message, "'%.100s' is none of: %s", text, words);
    return EQP_ERR_ARGUMENT;
}

/* Words of a text with commas; 0 where one of them is empty. */
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

    if (count == 0) {
        return EQP_ERR_ARGUMENT;
    }
    list = malloc(pointers + length);
    if (!list) {
        return EQP_ERR_MEMORY;
    }
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
        code = app__read_int(words[i], low, high, &list[i], message);
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
