/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of the command line, one per line: methods with options, lists of methods, exchange plans. */
#include "command_line.h"

#include "drive/settings.h"

#include <equipoise/more/whatif.h>

#include <math.h>

static void require_choice(const eqp_choice *c)
{
    const eqp_choice_options *o = &c->options;

    fuzz_require(c->method != NULL);
    fuzz_require(c->word[0] != '\0' && strlen(c->word) <= EQP_WORD_LETTERS);
    fuzz_require(o->rate >= 0 && o->rate <= 1);
    fuzz_require(isfinite(o->threshold) && o->threshold >= 1.25);
    fuzz_require(o->pins >= 0 && (!o->full || o->pins == 0));
}

static void require_refused(int code, const eqp_message *message)
{
    fuzz_require(code == EQP_ERR_ARGUMENT || code == EQP_ERR_UNKNOWN);
    fuzz_require_line(message);
}

static void parse_method(const char *text)
{
    const eqp_choice_options usual = {.threshold = 2};
    const eqp_choice before = {.word = "before"};
    eqp_choice choice = before, *choices = NULL;
    eqp_message message = {""};
    int n = -1, code = eqp_choice_parse(&dd_methods, &usual, text, &choice, &message);

    if (code == EQP_OK) {
        require_choice(&choice);
        fuzz_require(strcmp(choice.word, text) == 0);
    } else {
        require_refused(code, &message);
        fuzz_require(memcmp(&choice, &before, sizeof choice) == 0);
    }
    code = eqp_choices_parse(&dd_methods, &usual, text, &n, &choices, &message);
    if (code != EQP_OK) {
        require_refused(code, &message);
        fuzz_require(n == -1 && choices == NULL);
        return;
    }
    fuzz_require(n >= 1);
    for (int i = 0; i < n; i++) {
        require_choice(&choices[i]);
        for (int j = 0; j < i; j++) {
            fuzz_require(strcmp(choices[j].word, choices[i].word) != 0);
        }
    }
    free(choices);
}

/* An accepted plan has a name that parses to the same plan. */
static void parse_plan(const char *text)
{
    const eqp_exchange_plan before = {EQP_STAGES_LOG, 5, 6};
    eqp_exchange_plan plan = before, again = EQP_EXCHANGE_PLAN_DEFAULTS;
    char name[EQP_EXCHANGE_NAME_SIZE];
    const int code = eqp_exchange_plan_parse(text, &plan);

    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_UNKNOWN && memcmp(&plan, &before, sizeof plan) == 0);
        return;
    }
    fuzz_require(plan.stages >= EQP_STAGES_DIRECT && plan.stages <= EQP_STAGES_LOG);
    fuzz_require(plan.broadcast >= 0 && plan.node >= 1);
    eqp_exchange_plan_name(&plan, name);
    fuzz_require(strlen(name) < sizeof name && eqp_exchange_plan_parse(name, &again) == EQP_OK);
    fuzz_require(memcmp(&again, &plan, sizeof plan) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text, *line[FUZZ_LINES];
    const int n = fuzz_lines(data, size, &text, line);

    for (int i = 0; i < n; i++) {
        parse_method(line[i]);
        parse_plan(line[i]);
    }
    free(text);
    return 0;
}
