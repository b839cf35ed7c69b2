/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of barneshut: one argument per line. */
#include "fuzz.h"

#include "drive/settings.h"

#include <math.h>

enum { MOST_ARGUMENTS = 64 };

static void check_settings(const bh_settings *s)
{
    fuzz_require(s->run.steps >= 0 && s->run.seed >= 0 && s->run.output_every >= 0);
    fuzz_require(s->leaf_size >= 1 && s->leaf_size <= 1024 && s->group_size >= 1 && s->group_size <= 1024);
    fuzz_require(isfinite(s->run.dt) && s->run.dt >= 0 && isfinite(s->softening) && s->softening >= 0);
    fuzz_require(isfinite(s->cutoff) && s->cutoff >= 0);
    fuzz_require(isfinite(s->G) && s->G > 0 && s->theta > 0 && s->theta <= 1 && s->alpha > 0 && s->alpha <= 1);
    fuzz_require(s->run.imbalance_tol >= 0 && s->run.imbalance_tol <= 100 && s->run.sample_rate >= 0 &&
                 s->run.sample_rate <= 1);
    fuzz_require(isfinite(s->run.sample_threshold) && s->run.sample_threshold >= 1.25);
}

static void check_what_if(const app_run_settings *run)
{
    fuzz_require((run->ncompare > 0) == (run->nparts_list > 0));
    for (int i = 0; i < run->nparts_list; i++) {
        fuzz_require(run->parts[i] >= 1 && run->parts[i] <= APP_MOST_PARTS);
        fuzz_require(i == 0 || run->parts[i - 1] < run->parts[i]);
    }
    for (int i = 0; i < run->ncompare; i++) {
        fuzz_require(run->compare[i].method != NULL && run->compare[i].options.method == run->compare[i].method);
    }
    fuzz_require(isfinite(run->network.alpha) && run->network.alpha >= 0 && isfinite(run->network.beta) &&
                 run->network.beta >= 0 && run->network.node >= 1);
}

static void complete(bh_settings *s)
{
    eqp_message message = {""};

    check_settings(s);
    if (bh_settings_complete(s, &message) != EQP_OK) {
        fuzz_require_line(&message);
        return;
    }
    fuzz_require((s->run.snapshot != NULL) + (s->run.generate != NULL) + (s->run.restart != NULL) == 1);
    fuzz_require(s->run.method != NULL);
    fuzz_require(s->run.generate == NULL || bh_generator_count(&s->generator) >= 0);
    check_what_if(&s->run);
    app_run_settings_free(&s->run);
}

static void parse(int argc, char **argv)
{
    bh_settings settings, before;
    app_action action = APP_HELP;
    eqp_message message = {""};
    int code;

    memset(&settings, 0x5a, sizeof settings);
    memcpy(&before, &settings, sizeof settings);
    code = app_options_parse(bh_settings_table(), argc, argv, &settings, NULL, &action, &message);
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_ARGUMENT && memcmp(&before, &settings, sizeof settings) == 0);
        fuzz_require(strncmp(message.text, "barneshut: ", 11) == 0);
        fuzz_require_line(&message);
    } else if (action == APP_RUN) {
        complete(&settings);
    }
}

static void parse_lists(const char *text)
{
    eqp_message message = {""};
    int64_t *number = NULL;
    char **word = NULL;
    int n = 0, code = app_parse_int_list(text, 1, 1000, &n, &number, &message);

    fuzz_require(code == EQP_OK || code == EQP_ERR_ARGUMENT);
    for (int i = 0; code == EQP_OK && i < n; i++) {
        fuzz_require(number[i] >= 1 && number[i] <= 1000);
    }
    if (code != EQP_OK) {
        fuzz_require_line(&message);
    }
    free(number);
    n = 0;
    code = app_parse_word_list(text, &n, &word, NULL);
    fuzz_require(code == EQP_OK ? n > 0 : code == EQP_ERR_ARGUMENT);
    for (int i = 0; i < n; i++) {
        fuzz_require(word[i][0] != '\0' && strchr(word[i], ',') == NULL);
    }
    free(word);
}

static void parse_keyed(const char *text)
{
    app_keyed keyed;
    eqp_message message = {""};
    int64_t n = 5;
    double x = 0.5;
    int kind = 1, code = app_keyed_parse(text, &keyed, &message);

    if (code == EQP_OK) {
        fuzz_require(keyed.n >= 0 && keyed.n <= APP_KEYED_MAX && keyed.kind);
        app_keyed_int(&keyed, "n", 1, 1000, &n);
        app_keyed_real(&keyed, "x", 0, true, 1, &x);
        app_keyed_choice(&keyed, "seed", "1|2|3", &kind);
        code = app_keyed_end(&keyed, &message);
    }
    fuzz_require(n >= 1 && n <= 1000 && x > 0 && x <= 1 && kind >= 0 && kind < 3);
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_ARGUMENT);
        fuzz_require_line(&message);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[] = "barneshut", *argv[MOST_ARGUMENTS + 2] = {name}, *text = malloc(size + 1), *at = text;
    int argc = 1;

    fuzz_require(text);
    memcpy(text, data, size);
    text[size] = '\0';
    while (argc <= MOST_ARGUMENTS && at < text + size) {
        argv[argc++] = at;
        at += strcspn(at, "\n");
        *at++ = '\0';
    }
    for (int i = 1; i < argc; i++) {
        parse_lists(argv[i]);
        parse_keyed(argv[i]);
    }
    parse(argc, argv);
    free(text);
    return 0;
}
