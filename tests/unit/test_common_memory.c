/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists, keys and help texts without memory: whichever allocation fails, the call says so and changes nothing. */
#include "failing_malloc.h"
#include "unit.h"

#include "options.h"

/* Calls with ever more allocations that succeed, until all do. `call` frees what it made and returns its code. */
static void fail_one_by_one(int (*call)(void), int without_failure)
{
    for (int64_t k = 0;; k++) {
        failing_malloc_start(k);
        int code = call();
        if (!failing_malloc_stop()) {
            assert_int_equal(code, without_failure);
            assert_true(k > 0);
            return;
        }
        assert_int_equal(code, EQP_ERR_MEMORY);
    }
}

static int parse_words(void)
{
    char **words = NULL;
    int n = -7, code = app_parse_word_list("count,sfc,interaction", &n, &words, NULL);
    int changed = n != -7 || words;

    free(words);
    return changed == (code == EQP_OK) ? code : EQP_ERR_INTERNAL;
}

static int parse_numbers(void)
{
    int64_t *values = NULL;
    int n = -7, code = app_parse_int_list("1,2,4,8", 1, 100, &n, &values, NULL);
    int changed = n != -7 || values;

    free(values);
    return changed == (code == EQP_OK) ? code : EQP_ERR_INTERNAL;
}

static int parse_keyed(void)
{
    int64_t n = 0;
    app_keyed keyed;
    int code = app_keyed_parse("plummer:n=10,seed=3", &keyed, NULL);

    if (code == EQP_OK) {
        app_keyed_int(&keyed, "n", 1, 100, &n);
        app_keyed_int(&keyed, "seed", 1, 100, &n);
        code = app_keyed_end(&keyed, NULL);
    }
    return code;
}

TEST(lists_and_keys_survive_failing_allocations)
{
    SKIP_IF(!failing_malloc_works);
    fail_one_by_one(parse_words, EQP_OK);
    fail_one_by_one(parse_numbers, EQP_OK);
    fail_one_by_one(parse_keyed, EQP_OK);
}

static int write_help(void)
{
    const app_option option[] = {{.name = "steps", .type = APP_OPTION_INT, .help = "how many"}};
    const app_command_line line = {.program = "test", .summary = "Tests.", .option = option, .noptions = 1};
    char *text = NULL;
    int code = app_options_help(&line, &text), changed = text != NULL;

    free(text);
    return changed == (code == EQP_OK) ? code : EQP_ERR_INTERNAL;
}

TEST(help_survives_failing_allocations)
{
    SKIP_IF(!failing_malloc_works);
    fail_one_by_one(write_help, EQP_OK);
}
