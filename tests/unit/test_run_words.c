/* SPDX-License-Identifier: BSD-3-Clause */
/* Words that name methods with options, alone and in lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_malloc.h"
#include "run_words.h"

static const eqp_method slabs = {.name = "slabs", .summary = "cuts of its own", .flags = EQP_NEEDS_WEIGHTS};
static const eqp_method impostor = {.name = "sfc", .summary = "has the name of a row of the table"};
static const eqp_method *const rows[] = {&impostor, &slabs};
static const eqp_methods own = {rows, 2};
static const app_rebalance_options run = {
    .imbalance_tol = 0.1, .how = {.strategy = EQP_SAMPLE_STRIDE, .rate = 0.5, .threshold = 2}, .seed = 7};

static void a_word_changes_what_it_names_and_nothing_else(void **state)
{
    eqp_message message = {""};
    app_method_choice c;

    (void)state;
    assert_int_equal(app_word_parse(&own, &run, "interaction", &c, &message), EQP_OK);
    assert_ptr_equal(c.method, eqp_method_find("interaction"));
    assert_true(c.options.method == c.method && c.options.how.pins == 0 && !c.options.how.full &&
                c.options.how.start == NULL);
    assert_true(c.options.imbalance_tol == 0.1 && c.options.how.rate == 0.5 && c.options.seed == 7);
    assert_int_equal(app_word_parse(&own, &run, "interaction:pins=2", &c, &message), EQP_OK);
    assert_true(c.options.how.pins == 2 && c.options.how.rate == 0.5);
    assert_string_equal(c.name, "interaction:pins=2");
    assert_int_equal(app_word_parse(&own, &run, "interaction:full,start=rcb", &c, &message), EQP_OK);
    assert_true(c.options.how.full && c.options.how.pins == 0);
    assert_ptr_equal(c.options.how.start, eqp_method_find("rcb"));
    assert_int_equal(app_word_parse(&own, &run, "interaction:start=curve", &c, &message), EQP_OK);
    assert_null(c.options.how.start);
    assert_int_equal(app_word_parse(&own, &run, "interaction:strategy=adaptive,rate=0.016,threshold=4", &c, &message),
                     EQP_OK);
    assert_true(c.options.how.strategy == EQP_SAMPLE_ADAPTIVE && c.options.how.rate == 0.016);
    assert_true(c.options.how.threshold == 4);
}

static void rows_of_the_table_come_first(void **state)
{
    app_method_choice c;

    (void)state;
    assert_int_equal(app_word_parse(&own, &run, "sfc", &c, NULL), EQP_OK);
    assert_ptr_equal(c.method, eqp_method_find("sfc"));
    assert_int_equal(app_word_parse(&own, &run, "slabs", &c, NULL), EQP_OK);
    assert_ptr_equal(c.method, &slabs);
    assert_int_equal(app_word_parse(NULL, &run, "slabs", &c, NULL), EQP_ERR_UNKNOWN);
    assert_ptr_equal(eqp_methods_at(&own, eqp_method_count() + 1), &slabs);
    assert_null(eqp_methods_at(&own, eqp_method_count() + 2));
    assert_null(eqp_methods_at(NULL, eqp_method_count()));
}

/* Whoever has the rows. */
static void owners_can_be_split_and_steps_even(void **state)
{
    app_method_choice c;

    (void)state;
    assert_int_equal(app_word_parse(NULL, &run, "sfc", &c, NULL), EQP_OK);
    assert_false(app_wants_units(&c.options) || app_wants_trial(&c.options));
    assert_int_equal(app_word_parse(NULL, &run, "sfc:even=load", &c, NULL), EQP_OK);
    assert_false(app_wants_units(&c.options) || app_wants_trial(&c.options));
    assert_int_equal(app_word_parse(NULL, &run, "sfc:split", &c, NULL), EQP_OK);
    assert_true(app_wants_units(&c.options) && app_wants_trial(&c.options) && !c.options.how.even);
    assert_int_equal(app_word_parse(NULL, &run, "rcb:split,even=step", &c, NULL), EQP_OK);
    assert_true(app_wants_units(&c.options) && app_wants_trial(&c.options) && c.options.how.even);
    assert_int_equal(app_word_parse(NULL, &run, "interaction:pins=2,even=step", &c, NULL), EQP_OK);
    assert_true(c.options.how.even && c.options.how.pins == 2);
    assert_string_equal(c.name, "interaction:pins=2,even=step");
}

/* Words of settings: what a row's offset says. */
static double real_at(const app_method_choice *c, size_t offset)
{
    double value;

    memcpy(&value, (const char *)&c->options.settings + offset, sizeof value);
    return value;
}

static void methods_have_options_of_their_own(void **state)
{
    const eqp_option *columns = &eqp_method_find("jagged")->option[1];
    eqp_message message = {""};
    app_method_choice c;

    (void)state;
    assert_string_equal(columns->name, "columns");
    assert_int_equal(app_word_parse(NULL, &run, "tiles:aspect=1.5", &c, NULL), EQP_OK);
    assert_true(real_at(&c, c.method->option->offset) == 1.5);
    assert_int_equal(app_word_parse(NULL, &run, "jagged:columns=4,aspect=2", &c, NULL), EQP_OK);
    assert_true(real_at(&c, c.method->option->offset) == 2);
    assert_int_equal(c.options.settings.word[columns->offset / sizeof(int64_t)], 4);
    assert_int_equal(app_word_parse(NULL, &run, "tiles:columns=4", &c, NULL), EQP_ERR_UNKNOWN);
    assert_int_equal(app_word_parse(NULL, &run, "tiles:aspect=0", &c, &message), EQP_ERR_ARGUMENT);
    assert_string_equal(message.text, "tiles: aspect: '0' is not a number > 0");
    assert_int_equal(app_word_parse(NULL, &run, "jagged:columns=0", &c, NULL), EQP_ERR_ARGUMENT);
}

/* What a program knows better than a method, and people better than the program. */
static void what_is_suggested_gives_way(void **state)
{
    const eqp_method *tiles = eqp_method_find("tiles");
    app_method_choice c;
    eqp_settings *settings = &c.options.settings;

    (void)state;
    assert_int_equal(app_word_parse(NULL, &run, "tiles", &c, NULL), EQP_OK);
    assert_int_equal(eqp_method_suggest(tiles, "aspect", 3.5, settings), EQP_OK);
    assert_true(real_at(&c, tiles->option->offset) == 3.5);
    assert_int_equal(eqp_method_suggest(tiles, "aspect", 7, settings), EQP_OK);
    assert_true(real_at(&c, tiles->option->offset) == 3.5);
    assert_int_equal(eqp_method_suggest(tiles, "aspect", 0, settings), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_method_suggest(tiles, "columns", 1, settings), EQP_ERR_UNKNOWN);
    assert_int_equal(eqp_method_suggest(eqp_method_find("jagged"), "columns", 1, settings), EQP_ERR_UNKNOWN);
    assert_int_equal(eqp_method_suggest(eqp_method_find("sfc"), "aspect", 1, settings), EQP_ERR_UNKNOWN);
    assert_int_equal(eqp_method_set(tiles, "aspect", "2", settings, NULL), EQP_OK);
    assert_true(real_at(&c, tiles->option->offset) == 2);
    assert_int_equal(eqp_method_set(tiles, "split", NULL, settings, NULL), EQP_ERR_UNKNOWN); /* none of its own */
}

static void what_is_no_word_is_refused_and_changes_nothing(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *line;
    } bad[] = {
        {"", EQP_ERR_UNKNOWN, "'' is no method (try --balance help)"},
        {"SFC", EQP_ERR_UNKNOWN, "'SFC' is no method (try --balance help)"},
        {"all", EQP_ERR_UNKNOWN, "'all' is no method (try --balance help)"},
        {"sfc:", EQP_ERR_UNKNOWN, "sfc has no option ''; known: split even"},
        {"sfc:pins=2", EQP_ERR_UNKNOWN, "sfc has no option 'pins'; known: split even"},
        {"sfc,count", EQP_ERR_UNKNOWN, "'sfc,count' is no method (try --balance help)"},
        {"count:even=step", EQP_ERR_UNKNOWN, "count has no option 'even'; known: none"},
        {"feedback:even=step", EQP_ERR_UNKNOWN, "feedback has no option 'even'; known: none"},
        {"count:split", EQP_ERR_UNKNOWN, "count has no option 'split'; known: none"},
        {"sfc:split=yes", EQP_ERR_ARGUMENT, "sfc: split takes no value"},
        {"sfc:even", EQP_ERR_ARGUMENT, "sfc: even needs a value"},
        {"sfc:even=both", EQP_ERR_ARGUMENT, "sfc: even: 'both' is none of: load step"},
        {"interaction:pin=2", EQP_ERR_UNKNOWN,
         "interaction has no option 'pin'; known: pins full start strategy rate threshold fresh even"},
        {"interaction:pins", EQP_ERR_ARGUMENT, "interaction: pins needs a value"},
        {"interaction:pins=", EQP_ERR_ARGUMENT, "interaction: pins needs a value"},
        {"interaction:full=yes", EQP_ERR_ARGUMENT, "interaction: full takes no value"},
        {"interaction:pins=1", EQP_ERR_ARGUMENT, "interaction: pins: '1' is not an integer from 2 to 65536"},
        {"interaction:pins=2,pins=2", EQP_ERR_ARGUMENT, "interaction: pins stands twice"},
        {"interaction:pins=2,full", EQP_ERR_ARGUMENT, "interaction: full has all pins: not together with pins"},
        {"interaction:pins=2,", EQP_ERR_UNKNOWN,
         "interaction has no option ''; known: pins full start strategy rate threshold fresh even"},
        {"interaction:rate=0", EQP_ERR_ARGUMENT, "interaction: rate: '0' is not a number > 0 and <= 1"},
        {"interaction:threshold=1", EQP_ERR_ARGUMENT, "interaction: threshold: '1' is not a number >= 1.25"},
        {"interaction:strategy=best", EQP_ERR_ARGUMENT,
         "interaction: strategy: 'best' is none of: random particle adaptive stride"},
        {"interaction:start=interaction", EQP_ERR_UNKNOWN,
         "interaction: start: 'interaction' is no method to start from, such as curve, rcb, tiles"},
        {"interaction:start=slabs", EQP_ERR_UNKNOWN,
         "interaction: start: 'slabs' is no method to start from, such as curve, rcb, tiles"},
        {"a123456789b123456789c123456789d123456789e123456789f123456789abcde", EQP_ERR_ARGUMENT,
         "'a123456789b123456789c123456789d123456789...' is longer than 63 letters"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        app_method_choice c, before;
        eqp_message message = {""};
        memset(&c, 0x5a, sizeof c);
        memcpy(&before, &c, sizeof c);
        assert_int_equal(app_word_parse(&own, &run, bad[i].text, &c, &message), bad[i].code);
        assert_string_equal(message.text, bad[i].line);
        assert_memory_equal(&c, &before, sizeof c);
    }
}

static void an_option_goes_on_with_the_word_before(void **state)
{
    static const char *const names[] = {"interaction:pins=2,start=rcb", "sfc", "interaction:full", "rcb"};
    app_method_choice *c = NULL;
    eqp_message message = {""};
    int n = 0;

    (void)state;
    assert_int_equal(
        app_words_parse(&own, &run, "interaction:pins=2,start=rcb,sfc,interaction:full,rcb", &n, &c, &message), EQP_OK);
    assert_int_equal(n, 4);
    for (int i = 0; i < n; i++) {
        assert_string_equal(c[i].name, names[i]);
    }
    assert_true(c[0].options.how.pins == 2 && c[0].options.how.start == eqp_method_find("rcb"));
    assert_true(c[2].options.how.full && c[2].options.how.pins == 0);
    free(c);
}

static void all_means_every_row_but_none(void **state)
{
    app_method_choice *c = NULL;
    eqp_message message = {""};
    int n = 0, found = 0;

    (void)state;
    assert_int_equal(app_words_parse(&own, &run, "interaction:pins=2,all", &n, &c, &message), EQP_OK);
    /* Every row of the table but `none`, slabs (the impostor is never meant), and the word before. */
    assert_int_equal(n, eqp_method_count() - 1 + 1 + 1);
    for (int i = 0; i < n; i++) {
        assert_string_not_equal(c[i].name, "none");
        assert_ptr_not_equal(c[i].method, &impostor);
        found += c[i].method == &slabs;
    }
    assert_int_equal(found, 1);
    free(c);
}

static void bad_lists_are_refused(void **state)
{
    static const struct {
        const char *text, *line;
    } bad[] = {
        {"", "'' is not a list with commas: an item is empty"},
        {"sfc,", "'sfc,' is not a list with commas: an item is empty"},
        {",sfc", "',sfc' is not a list with commas: an item is empty"},
        {"sfc,rcb,sfc", "'sfc' stands twice"},
        {"sfc,all", "'sfc' stands twice"},
        {"all,all", "'count' stands twice"},
        {"pins=2,sfc", "'pins=2' is no method (try --balance help)"},
        {"sfc,pins=2", "'sfc,pins=2' is no method (try --balance help)"},
        {"interaction,pins=2", "'interaction,pins=2' is no method (try --balance help)"},
        {"sfc,full", "'full' is no method (try --balance help)"},
    };
    app_method_choice *c = NULL;
    char long_word[300];
    int n = 5;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        eqp_message message = {""};
        assert_int_not_equal(app_words_parse(&own, &run, bad[i].text, &n, &c, &message), EQP_OK);
        assert_string_equal(message.text, bad[i].line);
        assert_true(n == 5 && c == NULL);
    }
    memset(long_word, 'x', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    assert_int_equal(app_words_parse(&own, &run, long_word, &n, &c, NULL), EQP_ERR_ARGUMENT);
}

static void no_memory_no_list(void **state)
{
    app_method_choice *c = NULL;
    eqp_message message = {""};
    int n = 0;

    (void)state;
    if (!failing_malloc_works) {
        skip();
    }
    failing_malloc_start(0);
    int code = app_words_parse(&own, &run, "sfc,rcb", &n, &c, &message);
    assert_int_not_equal(failing_malloc_stop(), 0);
    assert_int_equal(code, EQP_ERR_MEMORY);
    assert_null(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_changes_what_it_names_and_nothing_else),
        cmocka_unit_test(rows_of_the_table_come_first),
        cmocka_unit_test(owners_can_be_split_and_steps_even),
        cmocka_unit_test(methods_have_options_of_their_own),
        cmocka_unit_test(what_is_suggested_gives_way),
        cmocka_unit_test(what_is_no_word_is_refused_and_changes_nothing),
        cmocka_unit_test(an_option_goes_on_with_the_word_before),
        cmocka_unit_test(all_means_every_row_but_none),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(no_memory_no_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
