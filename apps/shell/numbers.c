/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "options.h"

#include <equipoise/more/base.h>

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
