/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of barneshut, one argument per line. */
#include "command_line.h"

#include "drive/settings.h"

#include <math.h>

static void complete(void *values)
{
    bh_settings *s = values;
    eqp_message message = {""};

    fuzz_require_parsed(&s->run);
    fuzz_require(s->leaf_size >= 1 && s->leaf_size <= 1024 && s->group_size >= 0 && s->group_size <= 1024);
    fuzz_require(isfinite(s->softening) && s->softening >= 0 && isfinite(s->cutoff) && s->cutoff >= 0);
    fuzz_require(isfinite(s->G) && s->G > 0 && s->theta > 0 && s->theta <= 1 && s->alpha > 0 && s->alpha <= 1);
    if (bh_settings_complete(s, &message) != EQP_OK) {
        fuzz_require_line(&message);
        return;
    }
    fuzz_require_complete(&s->run);
    fuzz_require(s->run.generate == NULL || bh_generator_count(&s->generator) >= 0);
    app_run_settings_free(&s->run);
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
    int64_t n = 5, seed = 1;
    double x = 0.5;
    int code = app_keyed_parse(text, &keyed, &message);

    if (code == EQP_OK) {
        fuzz_require(keyed.n >= 0 && keyed.n <= APP_KEYED_MAX && keyed.kind);
        app_keyed_int(&keyed, "n", 1, 1000, &n);
        app_keyed_real(&keyed, "x", 0, true, 1, &x);
        app_keyed_int(&keyed, "seed", 1, 3, &seed);
        code = app_keyed_end(&keyed, &message);
    }
    fuzz_require(n >= 1 && n <= 1000 && x > 0 && x <= 1 && seed >= 1 && seed <= 3);
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_ARGUMENT);
        fuzz_require_line(&message);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text, *line[FUZZ_LINES];
    const int n = fuzz_lines(data, size, &text, line);

    for (int i = 0; i < n; i++) {
        parse_lists(line[i]);
        parse_keyed(line[i]);
    }
    fuzz_command_line(bh_settings_table(), n, line, complete);
    free(text);
    return 0;
}
