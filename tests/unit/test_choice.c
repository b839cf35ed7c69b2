/* SPDX-License-Identifier: BSD-3-Clause */

#include "failing_malloc.h"
#include "map/options.h"
#include "methods/frame/frame.h"
#include "unit.h"

static const eqp_method slabs = {.name = "slabs", .summary = "cuts of its own", .flags = EQP_NEEDS_WEIGHTS};
static const eqp_method impostor = {.name = "sfc", .summary = "has the name of a row of the table"};
static const eqp_method *const rows[] = {&impostor, &slabs};
static const eqp_methods own = {rows, 2};
static const eqp_choice_options usual = {.strategy = EQP_SAMPLE_STRIDE, .rate = 0.5, .threshold = 2};
static const eqp_map_options run = {.imbalance_tol = 0.1, .seed = 7};

static eqp_choice choice_of(const char *text)
{
    eqp_choice c;

    assert_ok(eqp_choice_parse(&own, &usual, text, &c, NULL));
    return c;
}

/* Letters of the needs of a map by a choice: u units, p pins, t a trial; capital letters exclude a need. */
static bool has_needs(const eqp_choice *c, const char *needs)
{
    const eqp_map_options made = eqp__map_options_with(&run, c);
    const bool is[] = {eqp__map_options_wants_units(&made), eqp__map_options_wants_pins(&made),
                       eqp__map_options_wants_trial(&made)};
    bool has = true;

    for (; *needs != '\0'; needs++) {
        const char *yes = strchr("upt", *needs), *no = strchr("UPT", *needs);
        has = has && (yes != NULL ? is[yes - "upt"] : !is[no - "UPT"]);
    }
    return has;
}

/* Owners can be split and steps even; pins may be needed by methods that use them for whole owners or units, or by the
 * method they start from. */
TEST(a_word_changes_what_it_names_and_nothing_else)
{
    static const struct {
        const char *word, *needs;
        int pins;
        bool full, even;
        int maps, homes;
        const char *start;
    } cases[] = {
        {"interaction", "up", 0, false, false, 0, 0, NULL},
        {"interaction:pins=2", "u", 2, false, false, 0, 0, NULL},
        {"interaction:full,start=rcb", "u", 0, true, false, 0, 0, "rcb"},
        {"interaction:start=curve", "u", 0, false, false, 0, 0, NULL},
        {"interaction:pins=2,even=step", "u", 2, false, true, 0, 0, NULL},
        {"sfc", "UT", 0, false, false, 0, 0, NULL},
        {"sfc:even=load", "UT", 0, false, false, 0, 0, NULL},
        {"sfc:split", "ut", 0, false, false, 0, 0, NULL},
        {"rcb:split,even=step", "ut", 0, false, true, 0, 0, NULL},
        {"sfc:even=load,maps=phase", "T", 0, false, false, 1, 1, NULL}, /* data stay in place */
        {"sfc:maps=cycle", "UT", 0, false, false, 0, 0, NULL},
        {"hypergraph:even=step", "Upt", 0, false, true, 0, 0, NULL},
        {"diffusion:start=hypergraph", "Up", 0, false, false, 0, 0, "hypergraph"},
        {"diffusion", "P", 0, false, false, 0, 0, NULL},
    };

    for (int i = 0; i < COUNT_OF(cases); i++) {
        const eqp_choice c = choice_of(cases[i].word);
        assert_string_equal(c.word, cases[i].word);
        assert_int_equal(strncmp(c.word, c.method->name, strlen(c.method->name)), 0);
        assert_true(c.options.pins == cases[i].pins && c.options.full == cases[i].full);
        assert_true(c.options.even == cases[i].even && c.options.rate == 0.5 && c.options.threshold == 2);
        assert_true(c.options.maps == cases[i].maps && c.options.homes == cases[i].homes);
        assert_ptr_equal(c.options.start, cases[i].start != NULL ? eqp_method_find(cases[i].start) : NULL);
        assert_true(has_needs(&c, cases[i].needs));
    }
    const eqp_choice c = choice_of("interaction:strategy=adaptive,rate=0.016,threshold=4");
    assert_true(c.options.strategy == EQP_SAMPLE_ADAPTIVE && c.options.rate == 0.016 && c.options.threshold == 4);
    const eqp_map_options made = eqp__map_options_with(&run, &c);
    assert_true(made.imbalance_tol == 0.1 && made.how.rate == 0.016 && made.seed == 7 && made.method == c.method);
}

TEST(rows_of_the_table_come_first)
{
    eqp_choice c = choice_of("sfc");

    assert_ptr_equal(c.method, eqp_method_find("sfc"));
    c = choice_of("slabs");
    assert_ptr_equal(c.method, &slabs);
    assert_int_equal(eqp_choice_parse(NULL, &usual, "slabs", &c, NULL), EQP_ERR_UNKNOWN);
    assert_ptr_equal(eqp_methods_at(&own, eqp_method_count() + 1), &slabs);
    assert_string_equal(eqp_methods_at(&own, eqp_method_count() + 2)->name, "auto");
    assert_null(eqp_methods_at(&own, eqp_method_count() + 3));
    assert_ptr_equal(eqp_methods_at(NULL, eqp_method_count()), eqp__methods_find(NULL, "auto"));
    assert_null(eqp_methods_at(NULL, eqp_method_count() + 1));
}

/* The message says that the method is not built, so its name is always known. */
TEST(methods_that_were_not_built_are_refused_as_such)
{
    static const char *const optional[] = {"rcb", "rib", "interaction", "hypergraph", "metis"};
    const int noptional = COUNT_OF(optional);
    const eqp_method *lacking;
    int built = 0, missing = 0;

    for (int i = 0; i < noptional; i++) {
        eqp_message message = {""};
        eqp_choice c;
        const int code = eqp_choice_parse(NULL, &usual, optional[i], &c, &message);
        if (code != EQP_OK) {
            assert_int_equal(code, EQP_ERR_UNKNOWN);
            assert_non_null(strstr(message.text, "this build lacks "));
        }
        built += code == EQP_OK;
    }
    while ((lacking = eqp_method_lacking(missing)) != NULL) {
        assert_true(!eqp_method_assigns(lacking) && lacking->summary != NULL);
        missing++;
    }
    assert_int_equal(built + missing, noptional);
}

/* Value of a setting at its offset. */
static double real_at(const eqp_choice *c, size_t offset)
{
    double value;

    memcpy(&value, (const char *)&c->settings + offset, sizeof value);
    return value;
}

TEST(methods_have_options_of_their_own)
{
    const eqp_option *columns = &eqp_method_find("jagged")->option[1];
    eqp_message message = {""};
    eqp_choice c;

    assert_string_equal(columns->name, "columns");
    c = choice_of("tiles:aspect=1.5");
    assert_true(real_at(&c, c.method->option->offset) == 1.5);
    c = choice_of("jagged:columns=4,aspect=2");
    assert_true(real_at(&c, c.method->option->offset) == 2);
    assert_int_equal(c.settings.word[columns->offset / sizeof(int64_t)], 4);
    assert_int_equal(eqp_choice_parse(NULL, &usual, "tiles:columns=4", &c, NULL), EQP_ERR_UNKNOWN);
    assert_refused(eqp_choice_parse(NULL, &usual, "tiles:aspect=0", &c, &message));
    assert_string_equal(message.text, "tiles: aspect: '0' is not a number > 0");
    assert_refused(eqp_choice_parse(NULL, &usual, "jagged:columns=0", &c, NULL));
}

/* A program's suggestion overrides the method's default, and the user's word overrides both. */
TEST(suggestions_give_way)
{
    const eqp_method *tiles = eqp_method_find("tiles");
    eqp_choice c;
    eqp_settings *settings = &c.settings;

    c = choice_of("tiles");
    assert_ok(eqp__method_suggest(tiles, "aspect", 3.5, settings));
    assert_true(real_at(&c, tiles->option->offset) == 3.5);
    assert_ok(eqp__method_suggest(tiles, "aspect", 7, settings));
    assert_true(real_at(&c, tiles->option->offset) == 3.5);
    assert_refused(eqp__method_suggest(tiles, "aspect", 0, settings));
    assert_int_equal(eqp__method_suggest(tiles, "columns", 1, settings), EQP_ERR_UNKNOWN);
    assert_int_equal(eqp__method_suggest(eqp_method_find("jagged"), "columns", 1, settings), EQP_ERR_UNKNOWN);
    assert_int_equal(eqp__method_suggest(eqp_method_find("sfc"), "aspect", 1, settings), EQP_ERR_UNKNOWN);
    assert_ok(eqp_method_set(tiles, "aspect", "2", settings, NULL));
    assert_true(real_at(&c, tiles->option->offset) == 2);
    assert_int_equal(eqp_method_set(tiles, "split", NULL, settings, NULL),
                     EQP_ERR_UNKNOWN); /* tiles has no such option */
}

TEST(invalid_words_are_refused_and_change_nothing)
{
    static const struct {
        const char *text;
        int code;
        const char *line;
    } bad[] = {
        {"", EQP_ERR_UNKNOWN, "'' is no method (try --balance help)"},
        {"SFC", EQP_ERR_UNKNOWN, "'SFC' is no method (try --balance help); did you mean 'sfc'?"},
        {"all", EQP_ERR_UNKNOWN, "'all' is no method (try --balance help)"},
        {"sfc:", EQP_ERR_UNKNOWN, "sfc has no option ''; known: split even maps"},
        {"sfc:pins=2", EQP_ERR_UNKNOWN, "sfc has no option 'pins'; known: split even maps"},
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
        {"hypergraph:pins=2", EQP_ERR_UNKNOWN, "hypergraph has no option 'pins'; known: even homes"},
        {"sfc:maps=phase,split", EQP_ERR_ARGUMENT, "sfc: maps=phase is of whole owners: not together with split"},
        {"levelled:maps=phase", EQP_ERR_UNKNOWN, "levelled has no option 'maps'; known: homes"},
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

    for (int i = 0; i < COUNT_OF(bad); i++) {
        eqp_choice c, before;
        eqp_message message = {""};
        memset(&c, 0x5a, sizeof c);
        memcpy(&before, &c, sizeof c);
        assert_int_equal(eqp_choice_parse(&own, &usual, bad[i].text, &c, &message), bad[i].code);
        assert_string_equal(message.text, bad[i].line);
        assert_memory_equal(&c, &before, sizeof c);
    }
}

TEST(an_option_goes_on_with_the_word_before)
{
    static const char *const names[] = {"interaction:pins=2,start=rcb", "sfc", "interaction:full", "rcb"};
    HEAP eqp_choice *c = NULL;
    int n = 0;

    assert_ok(eqp_choices_parse(&own, &usual, "interaction:pins=2,start=rcb,sfc,interaction:full,rcb", &n, &c, NULL));
    assert_int_equal(n, 4);
    for (int i = 0; i < n; i++) {
        assert_string_equal(c[i].word, names[i]);
    }
}

TEST(all_is_every_row_except_none)
{
    HEAP eqp_choice *c = NULL;
    eqp_message message = {""};
    int n = 0, found = 0;

    assert_ok(eqp_choices_parse(&own, &usual, "interaction:pins=2,all", &n, &c, &message));
    /* Every row of the table except `none`, plus slabs (not the impostor), `auto`, and the previous word. */
    assert_int_equal(n, eqp_method_count() - 1 + 1 + 1 + 1);
    for (int i = 0; i < n; i++) {
        assert_string_not_equal(c[i].word, "none");
        assert_ptr_not_equal(c[i].method, &impostor);
        found += c[i].method == &slabs;
    }
    assert_int_equal(found, 1);
}

TEST(bad_lists_are_refused)
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
    eqp_choice *c = NULL;
    char long_word[300];
    int n = 5;

    for (int i = 0; i < COUNT_OF(bad); i++) {
        eqp_message message = {""};
        assert_int_not_equal(eqp_choices_parse(&own, &usual, bad[i].text, &n, &c, &message), EQP_OK);
        assert_string_equal(message.text, bad[i].line);
        assert_true(n == 5 && c == NULL);
    }
    memset(long_word, 'x', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    assert_refused(eqp_choices_parse(&own, &usual, long_word, &n, &c, NULL));
}

TEST(lists_survive_failing_allocations)
{
    eqp_choice *c = NULL;
    eqp_message message = {""};
    int n = 0;

    SKIP_IF(!failing_malloc_works);
    failing_malloc_start(0);
    int code = eqp_choices_parse(&own, &usual, "sfc,rcb", &n, &c, &message);
    assert_int_not_equal(failing_malloc_stop(), 0);
    assert_int_equal(code, EQP_ERR_MEMORY);
    assert_null(c);
}
