/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_settings.h"

#include "options.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Letters behind a number of bytes, each for 1024 times the one before. */
static const char letters[] = "KMGT";

/* A number > 0 that ends where `end` begins. */
static int read_number(const char *text, size_t length, double *number)
{
    char digits[64];

    if (length >= sizeof digits) {
        return EQP_ERR_ARGUMENT;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    return eqp_read_real(digits, 0.0, true, 0x1p60, number, NULL);
}

static int read_bytes(const char *word, double *bytes, eqp_message *message)
{
    const size_t length = strlen(word);
    const char *letter = length > 0 ? strchr(letters, word[length - 1]) : NULL;
    const int code = read_number(word, length - (letter != NULL), bytes);

    if (code != EQP_OK) {
        eqp_message_set(message, "'%.40s' is no number of bytes > 0, with K, M, G or T", word);
        return EQP_ERR_ARGUMENT;
    }
    *bytes = letter != NULL ? ldexp(*bytes, 10 * (int)(letter - letters + 1)) : *bytes;
    return EQP_OK;
}

/* Xmean. */
static int read_mean(const char *text, size_t length, eqp_capacities *capacities, eqp_message *message)
{
    double times = 0.0;

    if (read_number(text, length, &times) != EQP_OK || times < 1.0) {
        eqp_message_set(message, "'%.40s': some rank needs at least the mean: not below 1mean", text);
        return EQP_ERR_ARGUMENT;
    }
    *capacities = (eqp_capacities){.of_mean = times};
    return EQP_OK;
}

int app_memory_cap_parse(const char *text, eqp_capacities *capacities, eqp_message *message)
{
    static const char mean[] = "mean";
    const size_t length = strlen(text), tail = sizeof mean - 1;
    char **words = NULL;
    double *bytes = NULL;
    int n = 0, code = EQP_OK;

    if (strcmp(text, "none") == 0) {
        *capacities = (eqp_capacities){.n = 0};
        return EQP_OK;
    }
    if (length > tail && strcmp(text + length - tail, mean) == 0) {
        return read_mean(text, length - tail, capacities, message);
    }
    EQP_TRY(app_parse_word_list(text, &n, &words, message));
    EQP_TRY(eqp_array_create(&bytes, n, sizeof *bytes));
    for (int i = 0; i < n; i++) {
        EQP_TRY(read_bytes(words[i], &bytes[i], message));
    }
    *capacities = (eqp_capacities){.n = n, .bytes = bytes};
    bytes = NULL;
done:
    free(bytes);
    free(words);
    return code;
}

void app_memory_cap_free(eqp_capacities *capacities)
{
    free((void *)(uintptr_t)capacities->bytes);
    *capacities = (eqp_capacities){.n = 0};
}

int app_memory_cap_check(const eqp_capacities *capacities, int64_t nranks, eqp_message *message)
{
    if (capacities->n == 0 || nranks % capacities->n == 0) {
        return EQP_OK;
    }
    eqp_message_set(message, "%d capacities do not divide %lld parts", capacities->n, (long long)nranks);
    return EQP_ERR_ARGUMENT;
}
