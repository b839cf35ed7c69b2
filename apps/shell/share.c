/* SPDX-License-Identifier: BSD-3-Clause */
/* --share and --memory-cap: one value per rank, or a shorter list, which is repeated. */
#include "options.h"
#include "run_settings.h"

#include <equipoise/more/base.h>
#include <equipoise/more/models.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Words of --share, before a colon. */
#define WORDS "equal|speeds|measured|model"

/* Reciprocal of the largest ratio of two declared speeds; a slower rank is better left out. */
#define LEAST_SPEED 1e-3

static void scale_to_mean_one(int n, double *speed)
{
    double sum = 0.0;

    for (int i = 0; i < n; i++) {
        sum += speed[i];
    }
    for (int i = 0; i < n; i++) {
        speed[i] *= n / sum;
    }
}

static int read_speeds(const char *text, eqp_share_options *choice, eqp_message *message)
{
    APP_FREED char **words = NULL;
    APP_FREED double *speed = NULL;
    double most = 0.0;
    int n = 0;

    EQP_CHECK(app_parse_word_list(text, &n, &words, message));
    EQP_CHECK(eqp_array_create(&speed, n, sizeof *speed));
    for (int i = 0; i < n; i++) {
        APP_REFUSE_IF(eqp_read_real(words[i], 0.0, true, INFINITY, &speed[i], NULL) != EQP_OK, message,
                      EQP_ERR_ARGUMENT, "'%.40s' is no speed > 0", words[i]);
        most = fmax(most, speed[i]);
    }
    for (int i = 0; i < n; i++) {
        speed[i] /= most; /* sums of huge speeds would overflow */
        APP_REFUSE_IF(speed[i] < LEAST_SPEED, message, EQP_ERR_ARGUMENT,
                      "'%.40s' is less than a thousandth of the largest speed", words[i]);
    }
    scale_to_mean_one(n, speed);
    choice->nspeeds = n;
    choice->speed = speed;
    speed = NULL;
    return EQP_OK;
}

int app_share_parse(const char *text, eqp_share_options *choice, eqp_message *message)
{
    eqp_share_options made = {.kind = EQP_SHARE_EQUAL};
    eqp_speeds_kind model = EQP_SPEEDS_PIECEWISE;
    const size_t length = strcspn(text, ":");
    const char *rest = text[length] == ':' ? text + length + 1 : NULL;
    char word[16] = "";
    int kind;

    if (length < sizeof word) {
        memcpy(word, text, length);
    }
    APP_REFUSE_IF(eqp_read_choice(word, WORDS, &kind, NULL) != EQP_OK, message, EQP_ERR_ARGUMENT,
                  "'%.100s' is not equal, speeds:S,..., measured or model[:" EQP_SPEEDS_KINDS "]", text);
    made.kind = (eqp_share_kind)kind;
    if (made.kind == EQP_SHARE_SPEEDS) {
        EQP_CHECK(read_speeds(rest != NULL ? rest : "", &made, message));
    } else {
        APP_REFUSE_IF(rest != NULL && made.kind != EQP_SHARE_MODEL, message, EQP_ERR_ARGUMENT, "%s takes no value",
                      word);
        APP_REFUSE_IF(rest != NULL && eqp_speeds_kind_parse(rest, &model) != EQP_OK, message, EQP_ERR_ARGUMENT,
                      "'%.40s' is not " EQP_SPEEDS_KINDS, rest);
    }
    made.model = made.kind == EQP_SHARE_MODEL ? eqp_speeds_model(model) : NULL;
    *choice = made;
    return EQP_OK;
}

void app_share_free(eqp_share_options *choice)
{
    free(choice->speed);
    *choice = (eqp_share_options){.kind = EQP_SHARE_EQUAL};
}

int app_share_check(const eqp_share_options *choice, int64_t nparts, eqp_message *message)
{
    if (choice->kind != EQP_SHARE_SPEEDS || nparts % choice->nspeeds == 0) {
        return EQP_OK;
    }
    eqp_message_set(message, "%d speeds do not divide %lld parts", choice->nspeeds, (long long)nparts);
    return EQP_ERR_ARGUMENT;
}

/* Suffixes of a number of bytes; each is 1024 times the previous one. */
static const char letters[] = "KMGT";

/* A positive number that fills the first `length` characters of the text. */
static int read_number(const char *text, size_t length, double *number)
{
    char digits[64];

    EQP_CHECK(length >= sizeof digits ? EQP_ERR_ARGUMENT : EQP_OK);
    memcpy(digits, text, length);
    digits[length] = '\0';
    return eqp_read_real(digits, 0.0, true, 0x1p60, number, NULL);
}

static int read_bytes(const char *word, double *bytes, eqp_message *message)
{
    const size_t length = strlen(word);
    const char *letter = length > 0 ? strchr(letters, word[length - 1]) : NULL;
    const int code = read_number(word, length - (letter != NULL), bytes);

    APP_REFUSE_IF(code != EQP_OK, message, EQP_ERR_ARGUMENT, "'%.40s' is no number of bytes > 0, with K, M, G or T",
                  word);
    *bytes = letter != NULL ? ldexp(*bytes, 10 * (int)(letter - letters + 1)) : *bytes;
    return EQP_OK;
}

static int read_mean(const char *text, size_t length, eqp_capacities *capacities, eqp_message *message)
{
    double times = 0.0;

    APP_REFUSE_IF(read_number(text, length, &times) != EQP_OK || times < 1.0, message, EQP_ERR_ARGUMENT,
                  "'%.40s': some rank needs at least the mean: not below 1mean", text);
    *capacities = (eqp_capacities){.of_mean = times};
    return EQP_OK;
}

int app_memory_cap_parse(const char *text, eqp_capacities *capacities, eqp_message *message)
{
    static const char mean[] = "mean";
    const size_t length = strlen(text), tail = sizeof mean - 1;
    APP_FREED char **words = NULL;
    APP_FREED double *bytes = NULL;
    int n = 0;

    if (strcmp(text, "none") == 0) {
        *capacities = (eqp_capacities){.n = 0};
        return EQP_OK;
    }
    if (length > tail && strcmp(text + length - tail, mean) == 0) {
        return read_mean(text, length - tail, capacities, message);
    }
    EQP_CHECK(app_parse_word_list(text, &n, &words, message));
    EQP_CHECK(eqp_array_create(&bytes, n, sizeof *bytes));
    for (int i = 0; i < n; i++) {
        EQP_CHECK(read_bytes(words[i], &bytes[i], message));
    }
    *capacities = (eqp_capacities){.n = n, .bytes = bytes};
    bytes = NULL;
    return EQP_OK;
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
