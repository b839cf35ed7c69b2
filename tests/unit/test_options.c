/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>

#include "failing_malloc.h"
#include "options.h"
#include "signals.h"
#include "unit.h"

#include <equipoise/more/base.h>

typedef struct settings {
    const char *snapshot;
    bool quiet;
    int64_t steps, seed, any;
    double dt, softening, share, free;
    const char *output;
    int strategy;
    const char *balance;
    bool given[11];
} settings;

#define ROW(field, kind, ...)                                                                                          \
    {                                                                                                                  \
        .name = #field, .type = APP_OPTION_##kind, .offset = offsetof(settings, field), __VA_ARGS__                    \
    }

static const app_option options[] = {
    ROW(quiet, FLAG, .help = "say nothing"),
    ROW(steps, INT, .argument = "N", .fallback = "10", .help = "number of steps", .int_low = 1, .int_high = 1000,
        .choices = "auto"),
    ROW(seed, INT, .argument = "S", .help = "seed", .int_low = 0, .int_high = INT64_MAX),
    ROW(any, INT, .argument = "N", .help = "any number"),
    ROW(dt, REAL, .argument = "T", .fallback = "0.01", .help = "time step\nin units of the snapshot", .open_low = true),
    ROW(softening, REAL, .argument = "L", .help = "softening", .real_high = INFINITY),
    ROW(share, REAL, .argument = "X", .help = "a share", .real_high = 1.0),
    ROW(free, REAL, .argument = "X", .help = "any real"),
    ROW(output, TEXT, .argument = "FILE", .help = "where to write"),
    ROW(strategy, CHOICE, .fallback = "stride", .help = "how to sample", .choices = "random|particle|stride"),
    ROW(balance, KEYED, .argument = "METHOD[:key=value,...]", .fallback = "sfc", .help = "balancing method"),
};
#define NOPTIONS ((int)(sizeof options / sizeof options[0]))

static const app_command_line line = {.program = "barneshut",
                                      .summary = "Gravity.",
                                      .positional = "SNAPSHOT",
                                      .positional_offset = offsetof(settings, snapshot),
                                      .option = options,
                                      .noptions = NOPTIONS,
                                      .values_size = sizeof(settings),
                                      .given_offset = offsetof(settings, given),
                                      .given_room = NOPTIONS,
                                      .epilogue = "The end."};

/* Reads words that end with NULL; the values point to them. */
static int parse(const char *const *words, settings *s, app_action *action, eqp_message *message)
{
    const char *argv[12] = {"program"};
    int argc = 1;

    for (; *words; words++) {
        argv[argc++] = *words;
    }
    return app_options_parse(&line, argc, (char *const *)argv, s, action, message);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static settings assert_read(const char *const *words)
{
    settings s;
    app_action action = APP_HELP;
    eqp_message message = {""};

    if (parse(words, &s, &action, &message)) {
        fail_msg("%s", message.text);
    }
    assert_int_equal(action, APP_RUN);
    return s;
}

TEST(values_come_from_words_or_from_the_table)
{
    settings s = assert_read(WORDS("--"));

    assert_true(s.snapshot == NULL && !s.quiet && s.output == NULL && s.strategy == 2);
    assert_true(s.steps == 10 && s.seed == 0 && s.any == 0 && s.dt == 0.01 && s.softening == 0.0);
    assert_string_equal(s.balance, "sfc");
    s = assert_read(WORDS("--steps", "20", "--dt=1e-3", "in.hdf5", "--output=a=b", "--quiet"));
    assert_true(s.steps == 20 && s.dt == 1e-3 && s.quiet);
    assert_string_equal(s.snapshot, "in.hdf5");
    assert_string_equal(s.output, "a=b");
    s = assert_read(WORDS("--strategy", "particle", "--balance", "interaction:rate=0.1,units=3", "--steps", "auto"));
    assert_true(s.strategy == 1 && s.steps == 0);
    assert_string_equal(s.balance, "interaction:rate=0.1,units=3");
    s = assert_read(WORDS("--seed=9223372036854775807", "--any", "-9223372036854775808", "--free", "-1.5e300"));
    assert_true(s.seed == INT64_MAX && s.any == INT64_MIN && s.free == -1.5e300);
    s = assert_read(WORDS("--softening", "0", "--share", "1", "--share", "0.5", "-"));
    assert_true(s.softening == 0.0 && s.share == 0.5);
    assert_string_equal(s.snapshot, "-");
    s = assert_read(WORDS("--quiet", "--", "--steps"));
    assert_string_equal(s.snapshot, "--steps");
}

TEST(given_options_are_known_and_help_wins_over_what_follows)
{
    settings s;
    app_action action;

    assert_ok(parse(WORDS("--steps", "10", "--dt=1"), &s, &action, NULL));
    for (int k = 0; k < NOPTIONS; k++) {
        assert_int_equal(app_options_given(&line, &s, options[k].name),
                         strcmp(options[k].name, "steps") == 0 || strcmp(options[k].name, "dt") == 0);
    }
    assert_ok(parse(WORDS("--steps", "3", "--help", "--nonsense"), &s, &action, NULL));
    assert_int_equal(action, APP_HELP);
    assert_ok(parse(WORDS("--version", "--help"), &s, &action, NULL));
    assert_int_equal(action, APP_VERSION);
    assert_refused(parse(WORDS("--nonsense", "--help"), &s, &action, NULL));
}

TEST(mistakes_are_one_line_that_says_what_and_where)
{
    static const struct {
        const char *words[4], *line;
    } cases[] = {
        {{"--dt", "-1x"}, "--dt: '-1x' is not a number > 0"},
        {{"--dt=0"}, "--dt: '0' is not a number > 0"},
        {{"--dt=inf"}, "--dt: 'inf' is not a number > 0"},
        {{"--softening", "-1e-9"}, "--softening: '-1e-9' is not a number >= 0"},
        {{"--share", "1.01"}, "--share: '1.01' is not a number >= 0 and <= 1"},
        {{"--free", "nan"}, "--free: 'nan' is not a number"},
        {{"--steps", "0"}, "--steps: '0' is not an integer from 1 to 1000"},
        {{"--steps", "1001"}, "--steps: '1001' is not an integer from 1 to 1000"},
        {{"--seed", "-1"}, "--seed: '-1' is not an integer >= 0"},
        {{"--steps=Auto"}, "--steps: 'Auto' is not an integer from 1 to 1000"},
        {{"--any", "1.0"}, "--any: '1.0' is not an integer"},
        {{"--any="}, "--any: '' is not an integer"},
        {{"--output="}, "--output: the value is empty"},
        {{"--strategy", "rand"}, "--strategy: 'rand' is none of: random particle stride"},
        {{"--balance", "sfc:x"}, "--balance: 'x' is not key=value"},
        {{"--stpes", "3"}, "--stpes: no such option; did you mean --steps?"},
        {{"--step=3"}, "--step: no such option; did you mean --steps?"},
        {{"--=3"}, "--: no such option; --help lists them"},
        {{"-q"}, "-q: no such option; --help lists them"},
        {{"--quiet=yes"}, "--quiet: takes no value"},
        {{"--steps"}, "--steps: needs a value"},
        {{"--output", "--quiet"}, "--output: needs a value"},
        {{"a", "b"}, "'b': only one SNAPSHOT can be given"},
        {{"--", "a", "--b"}, "'--b': only one SNAPSHOT can be given"},
        {{""}, "'': an argument that is no option"},
        {{"--dt", "1\n2"}, "--dt: '1?2' is not a number > 0"},
    };

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        settings s, old;
        app_action action = (app_action)77;
        eqp_message message = {""};

        memset(&s, 0x5A, sizeof s);
        old = s;
        assert_refused(parse(cases[c].words, &s, &action, &message));
        assert_true(strncmp(message.text, "barneshut: ", 11) == 0);
        assert_string_equal(message.text + 11, cases[c].line);
        assert_memory_equal(&s, &old, sizeof s);
        assert_int_equal((int)action, 77);
    }
}

TEST(an_endless_argument_still_gives_one_line)
{
    char word[280], expected[200];
    settings s;
    app_action action;
    eqp_message message;

    memset(word, '7', sizeof word);
    memcpy(word, "--dt=x", 6);
    word[sizeof word - 1] = '\0';
    assert_refused(parse(WORDS(word), &s, &action, &message));
    memset(expected, 0, sizeof expected);
    strcpy(expected, "barneshut: --dt: 'x");
    memset(expected + strlen(expected), '7', 99);
    strcat(expected, "' is not a number > 0");
    assert_string_equal(message.text, expected);
}

TEST(a_program_without_a_positional_takes_none)
{
    static const char *const argv[] = {"p", "x"};
    app_command_line bare = line;
    settings s;
    app_action action;
    eqp_message message;

    bare.positional = NULL;
    assert_refused(app_options_parse(&bare, 2, (char *const *)argv, &s, &action, &message));
    assert_string_equal(message.text, "barneshut: 'x': an argument that is no option");
    assert_ok(app_options_parse(&bare, 1, (char *const *)argv, &s, &action, &message));
    assert_ok(app_options_parse(&bare, 0, (char *const *)argv, &s, &action, &message));
}

TEST(a_program_with_room_takes_several_positionals)
{
    typedef struct values {
        const char *file[3];
    } values;
    const app_command_line several = {
        .program = "p", .summary = "Files.", .positional = "FILE", .positional_room = 3, .values_size = sizeof(values)};
    char program[] = "p", a[] = "a", b[] = "b", c[] = "-";
    char *argv[] = {program, a, b, c, a};
    values v = {{NULL}};
    app_action action;
    eqp_message message = {""};
    HEAP char *text = NULL;

    assert_ok(app_options_parse(&several, 3, argv, &v, &action, &message));
    assert_true(v.file[0] == a && v.file[1] == b && v.file[2] == NULL);
    assert_ok(app_options_parse(&several, 4, argv, &v, &action, &message));
    assert_ptr_equal(v.file[2], c);
    assert_refused(app_options_parse(&several, 5, argv, &v, &action, &message));
    assert_string_equal(message.text, "p: 'a': only so many FILE can be given");
    assert_ok(app_options_help(&several, &text));
    assert_non_null(strstr(text, "Usage: p [FILE]... [options]"));
}

TEST(help_lists_every_option_with_its_default)
{
    char *text = NULL, flag[64];

    assert_ok(app_options_help(&line, &text));
    assert_true(strncmp(text, "Usage: barneshut [SNAPSHOT] [options]\nGravity.\n", 47) == 0);
    for (int k = 0; k < NOPTIONS; k++) {
        strcpy(flag, "  --");
        strcat(flag, options[k].name);
        assert_non_null(strstr(text, flag));
    }
    assert_non_null(strstr(text, "\n  --steps N                   number of steps [10]\n"));
    assert_non_null(strstr(text, "\n  --dt T                      time step\n"
                                 "                              in units of the snapshot [0.01]\n"));
    assert_non_null(strstr(text, "\n  --strategy random|particle|stride\n"
                                 "                              how to sample [stride]\n"));
    assert_non_null(strstr(text, "--help"));
    assert_non_null(strstr(text, "--version"));
    assert_non_null(strstr(text, "\nThe end.\n"));
    free(text);
}

TEST(numbers_are_read_whole_or_not_at_all)
{
    static const char *const bad_ints[] = {
        "", "-", "+1", " 1", "1 ", "1e3", "0x1", "9223372036854775808", "-9223372036854775809", "1,2", "--1"};
    static const char *const bad_reals[] = {"",      "-",   ".",    "e",   "1e",      " 1",     "1 ",
                                            "0x1p3", "inf", "-inf", "nan", "1e309",   "-1e309", "1e-400",
                                            "1.2.3", "1,5", "1d3",  "--1", "infinity"};
    int64_t i = 77;
    double r = 77.0;

    for (size_t k = 0; k < sizeof bad_ints / sizeof bad_ints[0]; k++) {
        assert_refused(eqp_read_int(bad_ints[k], INT64_MIN, INT64_MAX, &i, NULL));
    }
    for (size_t k = 0; k < sizeof bad_reals / sizeof bad_reals[0]; k++) {
        assert_refused(eqp_read_real(bad_reals[k], -INFINITY, false, INFINITY, &r, NULL));
    }
    assert_true(i == 77 && r == 77.0);
    assert_ok(eqp_read_int("-0012", INT64_MIN, INT64_MAX, &i, NULL));
    assert_true(i == -12);
    assert_ok(eqp_read_real("1e-310", -INFINITY, false, INFINITY, &r, NULL));
    assert_true(r > 0.0 && r < 2e-310);
    assert_ok(eqp_read_real("+.5E+1", -INFINITY, false, INFINITY, &r, NULL));
    assert_true(r == 5.0);
    assert_ok(eqp_read_real("-0", -INFINITY, false, INFINITY, &r, NULL));
    assert_true(r == 0.0);
}

TEST(lists_are_read_whole_or_not_at_all)
{
    static const char *const bad[] = {"", ",", "1,", ",1", "1,,2", "1,x", "1,0"};
    HEAP int64_t *values = NULL;
    char **words = NULL;
    int n = -1;
    eqp_message message = {""};

    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_refused(app_parse_int_list(bad[k], 1, INT64_MAX, &n, &values, &message));
        assert_true(message.text[0] == '\'');
    }
    assert_null(values);
    assert_int_equal(n, -1);
    assert_ok(app_parse_int_list("8,64,512", 1, 512, &n, &values, NULL));
    assert_int_equal(n, 3);
    assert_true(values[0] == 8 && values[1] == 64 && values[2] == 512);
    assert_ok(app_parse_word_list("sfc,count,x=1", &n, &words, NULL));
    assert_int_equal(n, 3);
    assert_string_equal(words[0], "sfc");
    assert_string_equal(words[1], "count");
    assert_string_equal(words[2], "x=1");
    free(words);
}

TEST(keyed_values_come_apart)
{
    app_keyed keyed;
    int64_t n = 7, absent = 9;
    double beta = 0.0;
    eqp_message message = {""};

    assert_ok(app_keyed_parse("disks:n=100,beta=1e-9", &keyed, &message));
    assert_string_equal(keyed.kind, "disks");
    app_keyed_int(&keyed, "n", 1, INT64_MAX, &n);
    app_keyed_int(&keyed, "absent", 1, INT64_MAX, &absent);
    app_keyed_real(&keyed, "beta", 0.0, true, INFINITY, &beta);
    assert_ok(app_keyed_end(&keyed, &message));
    assert_true(n == 100 && absent == 9 && beta == 1e-9);
    assert_ok(app_keyed_parse("plummer", &keyed, &message));
    assert_string_equal(keyed.kind, "plummer");
    assert_int_equal(keyed.n, 0);
    assert_ok(app_keyed_end(&keyed, &message));
    assert_ok(app_keyed_parse("alpha=1,beta=2", &keyed, &message));
    assert_string_equal(keyed.kind, "");
    assert_int_equal(keyed.n, 2);
    app_keyed_free(&keyed);
    app_keyed_free(&keyed);
}

TEST(mistakes_in_keyed_values_are_named)
{
    char many[600] = "k:a=1";
    const struct {
        const char *text, *line;
    } cases[] = {{many, "more than 32 keys"},
                 {"", "'' does not begin with a name"},
                 {":n=1", "':n=1' does not begin with a name"},
                 {"k:", "'' is not key=value"},
                 {"k:n=1,", "'' is not key=value"},
                 {"a,b=1", "'a' is not key=value"},
                 {"=1", "'=1' is not key=value"},
                 {"k:=1", "'=1' is not key=value"},
                 {"k:n=", "n has no value"},
                 {"k:n=1,n=2", "n is given twice"},
                 {"k:n=11", "n: '11' is not an integer from 1 to 10"},
                 {"k:x=2", "x: '2' is not a number <= 1"},
                 {"k:x=3,n=0", "n: '0' is not an integer from 1 to 10"},
                 {"k:n=2,typo=1", "typo: no such key; known: n x"}};

    for (int i = 0; i < APP_KEYED_MAX; i++) {
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), ",b%d=1", i);
    }
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        app_keyed keyed;
        eqp_message message = {""};
        int code = app_keyed_parse(cases[c].text, &keyed, &message);

        if (!code) {
            int64_t n = 5;
            double x = 0.5;

            app_keyed_int(&keyed, "n", 1, 10, &n);
            app_keyed_real(&keyed, "x", -INFINITY, false, 1.0, &x);
            assert_true(keyed.code == EQP_OK || (n == 5 && x == 0.5));
            code = app_keyed_end(&keyed, &message);
        }
        assert_refused(code);
        assert_string_equal(message.text, cases[c].line);
    }
}

static int read_everything(void *old)
{
    HEAP char *text = NULL;
    HEAP char **words = NULL;
    HEAP int64_t *values = NULL;
    settings s = *(const settings *)old;
    app_action action;
    eqp_message message;
    int64_t n = 0;
    app_keyed keyed;
    int count = -7, code = parse(WORDS("--balance", "rcb:a=1"), &s, &action, &message);

    assert_true(code == EQP_OK || (strstr(message.text, "out of memory") && memcmp(&s, old, sizeof s) == 0));
    EQP_TRY(code);
    code = app_options_help(&line, &text);
    assert_true((text != NULL) == (code == EQP_OK));
    EQP_TRY(code);
    code = app_parse_word_list("count,sfc,interaction", &count, &words, NULL);
    assert_true((count == 3) == (code == EQP_OK) && (words != NULL) == (code == EQP_OK));
    EQP_TRY(code);
    code = app_parse_int_list("1,2,4,8", 1, 100, &count, &values, NULL);
    assert_true((count == 4) == (code == EQP_OK) && (values != NULL) == (code == EQP_OK));
    EQP_TRY(code);
    EQP_TRY(app_keyed_parse("plummer:n=10,seed=3", &keyed, NULL));
    app_keyed_int(&keyed, "n", 1, 100, &n);
    app_keyed_int(&keyed, "seed", 1, 100, &n);
    code = app_keyed_end(&keyed, NULL);
done:
    return code;
}

TEST(failing_allocations_are_reported_and_change_nothing)
{
    settings old;

    memset(&old, 0x5A, sizeof old);
    assert_true(failing_malloc_sweep(read_everything, &old, EQP_ERR_MEMORY) >= 8);
}

static volatile sig_atomic_t outer_calls;

static void outer_handler(int signal_number)
{
    (void)signal_number;
    outer_calls++;
}

TEST(signals_set_a_flag_until_they_are_given_back)
{
    (void)signal(SIGTERM, outer_handler);
    assert_ok(app_signals_install());
    assert_int_equal(app_signals_install(), EQP_ERR_STATE);
    assert_int_equal(app_signals_pending(), 0);
    (void)raise(SIGTERM);
    assert_int_equal(app_signals_pending(), SIGTERM);
    (void)raise(SIGINT);
    assert_int_equal(app_signals_pending(), SIGTERM);
    assert_int_equal(outer_calls, 0);
    app_signals_restore();
    app_signals_restore();
    (void)raise(SIGTERM);
    assert_int_equal(outer_calls, 1);
    assert_ok(app_signals_install());
    assert_int_equal(app_signals_pending(), 0);
    (void)raise(SIGINT);
    assert_int_equal(app_signals_pending(), SIGINT);
    app_signals_restore();
}

/* A word is suggested for one that is mistaken in few letters, and none for one that is another word. */
TEST(the_word_that_was_meant_is_found)
{
    static const char *const known[] = {"count", "sfc", "rcb", "interaction", "tiles"};
    static const struct {
        const char *text, *meant;
    } cases[] = {{"", NULL},     {"rbc", "rcb"}, {"sfcc", "sfc"},    {"hypergraph", NULL},
                 {"x", NULL},    {"none", NULL}, {"tile", "tiles"},  {"interacton", "interaction"},
                 {"SFC", "sfc"}, {"rib", "rcb"}, {"cuont", "count"}, {"iteractoin", "interaction"}};

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        eqp_nearest nearest = {.text = cases[c].text, .length = strlen(cases[c].text)};
        eqp_message message = {"no"};
        char wanted[64] = "no";

        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            eqp_nearest_look(&nearest, known[k]);
        }
        if (cases[c].meant != NULL) {
            snprintf(wanted, sizeof wanted, "no; did you mean '%s'?", cases[c].meant);
        }
        eqp_nearest_suggest(&nearest, &message);
        assert_string_equal(message.text, wanted);
    }
    eqp_nearest_look(NULL, "word");
}
