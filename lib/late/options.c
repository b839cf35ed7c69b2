/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of lazy maps as users write them, and the choice of `auto`. */
#include "late/lazy.h"

#include <equipoise/more/base.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORD 64

static int read_pair(const char *name, const char *value, eqp_lazy_options *options, eqp_message *message)
{
    int word = 0;

    if (strcmp(name, "wait") == 0) {
        return eqp_read_int(value, 0, INT64_MAX, &options->wait, message);
    }
    if (strcmp(name, "delay") == 0) {
        return eqp_read_int(value, 1, INT64_MAX, &options->delay, message);
    }
    if (strcmp(name, "patience") == 0) {
        return eqp_read_real(value, 0.0, true, 1e9, &options->patience, message);
    }
    if (strcmp(name, "spread") == 0) {
        const int code = eqp_read_choice(value, "last|node", &word, message);
        options->spread = word == 1;
        return code;
    }
    if (strcmp(name, "repair") == 0) {
        if (strcmp(value, "auto") == 0 || strcmp(value, "never") == 0) {
            options->repair = value[0] == 'a' ? -1 : 0;
            return EQP_OK;
        }
        if (eqp_read_int(value, 1, INT64_MAX, &options->repair, NULL) == EQP_OK) {
            return EQP_OK;
        }
        eqp_message_set(message, "repair '%s' is none of: auto, never, a number of steps", value);
        return EQP_ERR_ARGUMENT;
    }
    eqp_message_set(message, "'%s' is none of: wait, delay, repair, patience, spread", name);
    return EQP_ERR_ARGUMENT;
}

/* Copies at most WORD - 1 bytes up to a character of `ends`; returns the rest of the text. */
static const char *cut(const char *text, const char *ends, char word[WORD])
{
    const size_t n = strcspn(text, ends);

    snprintf(word, WORD, "%.*s", n < INT_MAX ? (int)n : INT_MAX, text);
    return text + n;
}

static int read_mode(const char *word, eqp_lazy_options *options, eqp_message *message)
{
    static const char *const modes[] = {"none", "auto", "thread"};
    int64_t balancers = 0;

    for (int m = 0; m < 3; m++) {
        if (strcmp(word, modes[m]) == 0) {
            options->mode = (eqp_lazy_mode)m;
            return EQP_OK;
        }
    }
    options->mode = EQP_LAZY_BY_RANKS;
    if (eqp_read_int(word, 0, INT_MAX, &balancers, NULL) != EQP_OK) {
        eqp_message_set(message, "'%s' is none of: none, auto, thread, a number of ranks", word);
        return EQP_ERR_ARGUMENT;
    }
    options->balancers = (int)balancers;
    return EQP_OK;
}

static int check(const eqp_lazy_options *o, eqp_message *message)
{
    const char *wrong = NULL;

    if (o->wait >= 0 && o->delay >= 0) {
        wrong = "wait and delay exclude each other";
    } else if (o->mode == EQP_LAZY_BY_RANKS && o->balancers == 0 && o->delay < 0) {
        wrong = "without balancing ranks maps are held back: it needs delay=K";
    }
    if (wrong != NULL) {
        eqp_message_set(message, "%s", wrong);
    }
    return wrong != NULL ? EQP_ERR_ARGUMENT : EQP_OK;
}

int eqp_lazy_options_parse(const char *text, eqp_lazy_options *options, eqp_message *message)
{
    eqp_lazy_options read = eqp_lazy_options_defaults();
    char name[WORD], value[WORD];
    int code;

    if (text == NULL || options == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    text = cut(text, ":", name);
    EQP_TRY(read_mode(name, &read, message));
    if (*text == ':' && read.mode == EQP_LAZY_NONE) {
        eqp_message_set(message, "none takes no options");
        return EQP_ERR_ARGUMENT;
    }
    while (*text != '\0') {
        text = cut(text + 1, "=,", name);
        value[0] = '\0';
        text = *text == '=' ? cut(text + 1, ",", value) : text;
        EQP_TRY(read_pair(name, value, &read, message));
    }
    EQP_TRY(check(&read, message));
    *options = read;
done:
    return code;
}

int eqp_lazy_decide(const eqp_lazy_model *model, int nranks, bool thread, eqp_lazy_options *options, eqp_message *why)
{
    eqp_lazy_choice choice;
    eqp_lazy_model asked;
    int code;

    if (model == NULL || options == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    asked = *model;
    asked.spare = thread && model->spare;
    asked.mended = options->repair != 0;
    EQP_TRY(eqp__lazy_choose(&asked, nranks, &choice));
    const double inline_seconds = choice.seconds[EQP_LAZY_INLINE], beside = choice.seconds[EQP_LAZY_BESIDE],
                 in_thread = choice.seconds[EQP_LAZY_THREAD];
    options->mode = EQP_LAZY_NONE;
    options->balancers = 0;
    options->choose = true;
    if (in_thread < inline_seconds && in_thread <= beside) {
        options->mode = EQP_LAZY_BY_THREAD;
    } else if (beside < inline_seconds) {
        options->mode = EQP_LAZY_BY_RANKS;
        options->balancers = choice.balancers[EQP_LAZY_BESIDE];
    }
    eqp_message_set(why, "%lld steps: %.3g s with maps in line, %.3g s by %d ranks of their own, %.3g s by a thread",
                    (long long)choice.steps, inline_seconds, beside, choice.balancers[EQP_LAZY_BESIDE], in_thread);
done:
    return code;
}
