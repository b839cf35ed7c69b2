/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of the command line: a method with its options, lists of those, exchange plans. One per line. */
#include "command_line.h"

#include "drive/settings.h"

#include <math.h>

static void require_choice(const app_method_choice *c)
{
    const app_rebalance_options *o = &c->options;

    fuzz_require(c->method != NULL && o->method == c->method);
    fuzz_require(c->name[0] != '\0' && strlen(c->name) <= EQP_WORD_LETTERS);
    fuzz_require(o->how.rate >= 0 && o->how.rate <= 1);
    fuzz_require(isfinite(o->how.threshold) && o->how.threshold >= 1.25);
    fuzz_require(o->how.pins >= 0 && (!o->how.full || o->how.pins == 0));
}

static void require_refused(int code, const eqp_message *message)
{
    fuzz_require(code == EQP_ERR_ARGUMENT || code == EQP_ERR_UNKNOWN);
    fuzz_require_line(message);
}

static void parse_method(const char *text)
{
    const app_rebalance_options run = {.how.threshold = 2};
    const app_method_choice before = {.name = "before"};
    app_method_choice choice = before, *choices = NULL;
    eqp_message message = {""};
    int n = -1, code = app_word_parse(&dd_methods, &run, text, &choice, &message);

    if (code == EQP_OK) {
        require_choice(&choice);
        fuzz_require(strcmp(choice.name, text) == 0);
    } else {
        require_refused(code, &message);
        fuzz_require(memcmp(&choice, &before, sizeof choice) == 0);
    }
    code = app_words_parse(&dd_methods, &run, text, &n, &choices, &message);
    if (code != EQP_OK) {
        require_refused(code, &message);
        fuzz_require(n == -1 && choices == NULL);
        return;
    }
    fuzz_require(n >= 1);
    for (int i = 0; i < n; i++) {
        require_choice(&choices[i]);
        for (int j = 0; j < i; j++) {
            fuzz_require(strcmp(choices[j].name, choices[i].name) != 0);
        }
    }
    free(choices);
}

/* A plan that is understood has a name that means the same plan. */
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
