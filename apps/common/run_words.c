/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_words.h"

#include <stdlib.h>
#include <string.h>

bool app_method_weighs(const eqp_method *method)
{
    return (method->flags & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS)) != 0;
}

bool app_wants_units(const app_rebalance_options *options)
{
    return options->how.split || (options->method->flags & EQP_NEEDS_UNITS) != 0;
}

bool app_wants_trial(const app_rebalance_options *options)
{
    return options->how.split || options->how.even || (options->method->flags & EQP_NEEDS_SOURCES) != 0;
}

static app_method_choice with_run(const app_rebalance_options *run, const eqp_choice *word)
{
    app_method_choice made = {.method = word->method, .options = *run};

    memcpy(made.name, word->word, sizeof made.name);
    made.options.method = word->method;
    made.options.how = word->options;
    made.options.settings = word->settings;
    return made;
}

int app_word_parse(const eqp_methods *own, const app_rebalance_options *run, const char *text,
                   app_method_choice *choice, eqp_message *message)
{
    eqp_choice word;
    const int code = eqp_choice_parse(own, &run->how, text, &word, message);

    if (code == EQP_OK) {
        *choice = with_run(run, &word);
    }
    return code;
}

int app_words_parse(const eqp_methods *own, const app_rebalance_options *run, const char *text, int *n,
                    app_method_choice **choices, eqp_message *message)
{
    app_method_choice *made = NULL;
    eqp_choice *word = NULL;
    int count = 0, code;

    EQP_TRY(eqp_choices_parse(own, &run->how, text, &count, &word, message));
    EQP_TRY(eqp_array_create(&made, count, sizeof *made));
    for (int i = 0; i < count; i++) {
        made[i] = with_run(run, &word[i]);
    }
    *n = count;
    *choices = made;
done:
    free(word);
    return code;
}
