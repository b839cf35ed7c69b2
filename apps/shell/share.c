/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_settings.h"

#include "options.h"

#include <equipoise/more/base.h>
#include <equipoise/more/models.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Words of --share, before a colon. */
#define WORDS "equal|speeds|measured|model"

/* Largest ratio of two declared speeds. A slower rank is better left out. */
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

/* Reads S,S,... */
static int read_speeds(const char *text, eqp_share_options *choice, eqp_message *message)
{
    char **words = NULL;
    double *speed = NULL, most = 0.0;
    int n = 0, code = app_parse_word_list(text, &n, &words, message);

    if (code == EQP_OK) {
        code = eqp_array_create(&speed, n, sizeof *speed);
    }
    for (int i = 0; i < n && code == EQP_OK; i++) {
        code = eqp_read_real(words[i], 0.0, true, INFINITY, &speed[i], NULL);
        if (code != EQP_OK) {
            eqp_message_set(message, "'%.40s' is no speed > 0", words[i]);
        }
        most = code == EQP_OK ? fmax(most, speed[i]) : most;
    }
    for (int i = 0; i < n && code == EQP_OK; i++) {
        speed[i] /= most; /* sums of huge ones overflow */
        if (speed[i] < LEAST_SPEED) {
            eqp_message_set(message, "'%.40s' is less than a thousandth of the largest speed", words[i]);
            code = EQP_ERR_ARGUMENT;
        }
    }
    free(words);
    if (code != EQP_OK) {
        free(speed);
        return code;
    }
    scale_to_mean_one(n, speed);
    choice->nspeeds = n;
    choice->speed = speed;
    return EQP_OK;
}

int app_share_parse(const char *text, eqp_share_options *choice, eqp_message *message)
{
    eqp_share_options made = {.kind = EQP_SHARE_EQUAL};
    eqp_speeds_kind model = EQP_SPEEDS_PIECEWISE;
    const size_t length = strcspn(text, ":");
    const char *rest = text[length] == ':' ? text + length + 1 : NULL;
    char word[16] = "";
    int kind, code = EQP_OK;

    if (length < sizeof word) {
        memcpy(word, text, length);
    }
    if (eqp_read_choice(word, WORDS, &kind, NULL) != EQP_OK) {
        eqp_message_set(message, "'%.100s' is not equal, speeds:S,..., measured or model[:" EQP_SPEEDS_KINDS "]", text);
        return EQP_ERR_ARGUMENT;
    }
    made.kind = (eqp_share_kind)kind;
    if (made.kind == EQP_SHARE_SPEEDS) {
        code = read_speeds(rest != NULL ? rest : "", &made, message);
    } else if (rest != NULL && made.kind != EQP_SHARE_MODEL) {
        eqp_message_set(message, "%s takes no value", word);
        code = EQP_ERR_ARGUMENT;
    } else if (rest != NULL && eqp_speeds_kind_parse(rest, &model) != EQP_OK) {
        eqp_message_set(message, "'%.40s' is not " EQP_SPEEDS_KINDS, rest);
        code = EQP_ERR_ARGUMENT;
    }
    if (code == EQP_OK) {
        made.model = made.kind == EQP_SHARE_MODEL ? eqp_speeds_model(model) : NULL;
        *choice = made;
    }
    return code;
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
