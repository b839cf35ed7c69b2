/* SPDX-License-Identifier: BSD-3-Clause */
/* The options shared by all mini-apps in a second app with its own rows, words and methods; names of its files. */
#include "run_files.h"
#include "run_settings.h"
#include "unit.h"

typedef struct settings {
    double before_all;
    app_run_settings run;
    int64_t own;
} settings;

static const app_option own_rows[] = {
    {.name = "own",
     .argument = "N",
     .type = APP_OPTION_INT,
     .offset = offsetof(settings, own),
     .fallback = "7",
     .help = "an option of its own"},
};
static const app_option_text texts[] = {
    {.name = "dt", .help = "seconds of one step", .fallback = "0.5"},
    {.name = "steps", .fallback = "3"},
};
static const app_command_line line = {.program = "second",
                                      .summary = "Another app.",
                                      .positional = "SNAPSHOT",
                                      .positional_offset = offsetof(settings, run.snapshot),
                                      .before = &app_run_input,
                                      .option = own_rows,
                                      .noptions = 1,
                                      .after = &app_run_output,
                                      .shared_offset = offsetof(settings, run),
                                      .text = texts,
                                      .ntexts = 2,
                                      .values_size = sizeof(settings)};

static const eqp_method slabs = {.name = "slabs", .summary = "cuts of its own", .flags = EQP_NEEDS_WEIGHTS};
static const eqp_method impostor = {.name = "sfc", .summary = "has the name of a row of the table"};
static const eqp_method *const rows[] = {&impostor, &slabs};
static const eqp_methods methods = {rows, 2};

static int parse(int argc, const char *const *argv, settings *s, eqp_message *message)
{
    app_action action;
    return app_options_parse(&line, argc, (char *const *)argv, s, &action, message);
}

/* Parses the words, checks the inputs and resolves their names. */
static int settle(const char *const *words, settings *s, eqp_message *message)
{
    int n = 0, code;

    while (words[n] != NULL) {
        n++;
    }
    assert_ok(parse(n, words, s, message));
    code = app_run_check_inputs("second", &s->run, message);
    return code != EQP_OK ? code : app_run_choose("second", &methods, &s->run, message);
}

#define SETTLE(s, message, ...) settle((const char *const[]){"second", "file", __VA_ARGS__, NULL}, s, message)

TEST(values_land_in_the_shared_struct_and_beside_it)
{
    static const char *const argv[] = {"second", "--steps", "5", "--own=9", "file", "--balance", "slabs", "--quiet"};
    eqp_message message = {""};
    settings s;

    assert_ok(parse(8, argv, &s, &message));
    assert_int_equal(s.run.steps, 5);
    assert_int_equal(s.own, 9);
    assert_string_equal(s.run.snapshot, "file");
    assert_string_equal(s.run.balance, "slabs");
    assert_string_equal(s.run.rebalance, "auto");
    assert_true(s.run.quiet && !s.run.progress);
    assert_true(s.run.sample_threshold == 2 && s.before_all == 0);
    assert_true(app_options_count(&line) == app_run_input.n + 1 + app_run_output.n);
}

TEST(an_app_has_its_own_words_and_defaults)
{
    static const char *const argv[] = {"second"};
    eqp_message message = {""};
    settings s;
    HEAP char *text = NULL;

    assert_ok(parse(1, argv, &s, &message));
    assert_true(s.run.dt == 0.5 && s.run.steps == 3 && s.own == 7);
    assert_ok(app_options_help(&line, &text));
    assert_non_null(strstr(text, "seconds of one step [0.5]"));
    assert_non_null(strstr(text, "number of steps; 0 computes the forces once [3]"));
    assert_true(strstr(text, "--seed") < strstr(text, "--own") && strstr(text, "--own") < strstr(text, "--balance"));
}

TEST(an_app_may_lack_an_option)
{
    static const app_option_text lacks[] = {{.name = "restart", .absent = true}, {.name = "schedule", .absent = true}};
    static const char *const argv[] = {"second", "--restart", "file"};
    app_command_line less = line;
    app_action action;
    eqp_message message = {""};
    settings s;
    HEAP char *text = NULL;

    less.text = lacks;
    less.ntexts = 2;
    assert_refused(app_options_parse(&less, 3, (char *const *)argv, &s, &action, &message));
    assert_string_equal(message.text, "second: --restart: no such option; --help lists them");
    assert_ok(app_options_parse(&less, 1, (char *const *)argv, &s, &action, &message));
    assert_null(s.run.restart);
    assert_string_equal(s.run.schedule_text, "none"); /* its default holds */
    assert_ok(app_options_help(&less, &text));
    assert_null(strstr(text, "--restart"));
    assert_null(strstr(text, "--schedule"));
    assert_non_null(strstr(text, "--seed"));
}

TEST(a_run_has_one_input)
{
    eqp_message message = {""};
    app_run_settings run = {.snapshot = "a"};

    assert_ok(app_run_check_inputs("second", &run, &message));
    assert_string_equal(app_run_input_path(&run), "a");
    run.restart = "b";
    assert_refused(app_run_check_inputs("second", &run, &message));
    assert_string_equal(message.text, "second: SNAPSHOT, --generate and --restart exclude each other");
    run.snapshot = NULL;
    assert_string_equal(app_run_input_path(&run), "b");
    run.output_every = 2;
    assert_refused(app_run_check_inputs("second", &run, &message));
    assert_string_equal(message.text, "second: --output-every: needs --output");
    run = (app_run_settings){.steps = 1};
    assert_refused(app_run_check_inputs("second", &run, &message));
    assert_null(app_run_input_path(&run));
}

TEST(methods_of_the_app_stand_behind_those_of_the_table)
{
    eqp_message message = {""};
    app_run_settings run = {.balance = "slabs", .rebalance = "4", .imbalance_tol = 0.5, .false_alarms = 0.25};
    char *text = NULL;

    assert_ok(app_run_choose("second", &methods, &run, &message));
    assert_ptr_equal(run.method, &slabs);
    assert_true(run.policy.mode == EQP_POLICY_EVERY && run.policy.every == 4 && run.policy.imbalance_tol == 0.5 &&
                run.policy.false_alarms == 0.25);
    run.balance = "sfc";
    assert_ok(app_run_choose("second", &methods, &run, &message));
    assert_ptr_equal(run.method, eqp_method_find("sfc"));
    assert_ok(app_run_list_methods(&methods, &text));
    assert_non_null(strstr(text, "cuts of its own"));
    assert_non_null(strstr(text, eqp_method_at(0)->summary));
    assert_true((strstr(text, "not built: ") != NULL) == (eqp_method_lacking(0) != NULL));
    free(text);
    run.balance = "slabs";
    assert_int_equal(app_run_choose("second", NULL, &run, &message), EQP_ERR_UNKNOWN);
    assert_string_equal(message.text, "second: --balance: 'slabs' is no method (try --balance help)");
    run.balance = "sfc";
    run.rebalance = "0";
    assert_int_equal(app_run_choose("second", NULL, &run, &message), EQP_ERR_UNKNOWN);
}

TEST(a_what_if_has_methods_parts_and_a_network)
{
    const eqp_network usual = EQP_NETWORK_DEFAULTS;
    eqp_message message = {""};
    settings s;

    assert_ok(SETTLE(&s, &message, "--compare=sfc,interaction:pins=2,slabs", "--parts=64,8,64",
                     "--network=beta=0,node=4", "--exchange", "two-stage+broadcast/16"));
    assert_int_equal(s.run.ncompare, 3);
    assert_string_equal(s.run.compare[1].word, "interaction:pins=2");
    assert_true(s.run.compare[1].options.pins == 2 && s.run.compare[0].options.pins == 0);
    const eqp_balancer_options balancing = app_run_balancing(&s.run);
    assert_true(balancing.imbalance_tol == s.run.imbalance_tol && balancing.seed == 1);
    assert_ptr_equal(s.run.compare[2].method, &slabs);
    assert_int_equal(s.run.nparts_list, 2); /* ascending, each once */
    assert_true(s.run.parts[0] == 8 && s.run.parts[1] == 64);
    assert_true(s.run.network.network.alpha == 2e-6 && s.run.network.network.beta == 0 &&
                s.run.network.network.node == 4);
    assert_false(s.run.network.measure || s.run.exchange_auto);
    assert_true(s.run.exchange.stages == EQP_STAGES_TWO && s.run.exchange.broadcast == 16 && s.run.exchange.node == 1);
    app_run_settings_free(&s.run);
    app_run_settings_free(&s.run);
    assert_true(s.run.ncompare == 0 && s.run.compare == NULL && s.run.parts == NULL);
    for (int measure = 0; measure < 2; measure++) { /* the defaults of a run */
        assert_ok(SETTLE(&s, &message, measure ? "--network=measure:node=2" : NULL));
        assert_true(s.run.ncompare == 0 && s.run.nparts_list == 0 && s.run.exchange_auto);
        assert_true(s.run.network.network.alpha == usual.alpha && s.run.network.network.beta == usual.beta);
        assert_true(s.run.network.measure == measure && s.run.network.network.node == 1 + measure);
        app_run_settings_free(&s.run);
    }
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

TEST(a_network_is_read_from_a_file)
{
    static const char name[] = "test_run_settings.network";
    static const struct {
        const char *text, *line;
    } bad[] = {
        {"alpha=1\nalpha=2\n", "test_run_settings.network: alpha is given twice"},
        {"alpha\n", "test_run_settings.network: 'alpha' is not key=value"},
        {"", "test_run_settings.network: '' does not begin with a name"},
        {"beta=-1\n", "test_run_settings.network: beta: '-1' is not a number >= 0"},
        {"file=a\n", "test_run_settings.network: file: no such key; known: alpha beta reduce gather gather_byte node"},
    };
    app_network_choice choice = {.measure = true};
    eqp_message message;
    HEAP char *text = malloc(APP_NETWORK_BYTES + 2);

    write_text(name, "# remark, with=equals\n  alpha=3e-6 \r\n\n\tgather=1e-5\nnode=4");
    assert_ok(app_network_parse("test_run_settings.network:node=2,beta=0", &choice, &message));
    assert_true(choice.network.alpha == 3e-6 && choice.network.beta == 0 && choice.network.gather == 1e-5);
    assert_true(choice.network.node == 2 && choice.network.reduce == 0 && !choice.measure);
    assert_string_equal(choice.file, name);
    app_network_free(&choice);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_text(name, bad[i].text);
        assert_refused(app_network_parse(name, &choice, &message));
        assert_string_equal(message.text, bad[i].line);
    }
    memset(text, '#', APP_NETWORK_BYTES + 1);
    text[APP_NETWORK_BYTES + 1] = '\0';
    write_text(name, text);
    assert_int_equal(app_network_parse(name, &choice, &message), EQP_ERR_IO);
    assert_int_equal(app_network_parse(".", &choice, &message), EQP_ERR_IO);
    assert_string_equal(message.text, ".: is a directory");
    assert_true(choice.network.alpha == 3e-6); /* as it was */
    assert_ok(app_network_parse("measure:file=a/b.txt", &choice, &message));
    assert_true(choice.measure && strcmp(choice.file, "a/b.txt") == 0 && choice.network.alpha == 2e-6);
    app_network_free(&choice);
    (void)remove(name);
}

TEST(a_bad_what_if_is_refused_in_one_line)
{
    static const struct {
        const char *option[2], *line;
    } bad[] = {
        {{"--compare=sfc"}, "second: --compare: needs --parts"},
        {{"--parts=8"}, "second: --parts: needs --compare"},
        {{"--compare=sfc,no", "--parts=8"}, "second: --compare: 'no' is no method (try --balance help)"},
        {{"--compare=sfc", "--parts=0"}, "second: --parts: '0' is not an integer from 1 to 65536"},
        {{"--compare=sfc", "--parts=8,65537"}, "second: --parts: '65537' is not an integer from 1 to 65536"},
        {{"--compare=sfc", "--parts=8,,9"}, "second: --parts: '8,,9' is not a list with commas: an item is empty"},
        {{"--network=alpha=-1"}, "second: --network: alpha: '-1' is not a number >= 0"},
        {{"--network=beta=nan"}, "second: --network: beta: 'nan' is not a number >= 0"},
        {{"--network=node=0"}, "second: --network: node: '0' is not an integer from 1 to 65536"},
        {{"--network=gamma=1"},
         "second: --network: gamma: no such key; known: alpha beta reduce gather gather_byte node"},
        {{"--network=measure:alpha=1"}, "second: --network: alpha: no such key; known: file node"},
        {{"--network=guess"}, "second: --network: guess: No such file or directory"},
        {{"--exchange=pigeon"},
         "second: --exchange: 'pigeon' is not auto, nor a plan such as two-stage+broadcast/16+node/4"},
        {{"--share=fair"},
         "second: --share: 'fair' is not equal, speeds:S,..., measured or model[:constant|piecewise|akima]"},
        {{"--share=speeds:1,0"}, "second: --share: '0' is no speed > 0"},
        {{"--share=speeds:1,nan"}, "second: --share: 'nan' is no speed > 0"},
        {{"--share=speeds"}, "second: --share: '' is not a list with commas: an item is empty"},
        {{"--share=speeds:1,1e-9"}, "second: --share: '1e-9' is less than a thousandth of the largest speed"},
        {{"--share=measured:2"}, "second: --share: measured takes no value"},
        {{"--share=model:cubic"}, "second: --share: 'cubic' is not constant|piecewise|akima"},
        {{"--schedule=lucky"}, "second: --schedule: 'lucky' is no method; 'help' lists them"},
        {{"--schedule=chunk=4"}, "second: --schedule: 'chunk=4' is no method; 'help' lists them"},
        {{"--schedule=fixed:chunk=0"}, "second: --schedule: chunk: '0' is not an integer from 1 to 2147483647"},
        {{"--schedule=factoring:factor=0.5"}, "second: --schedule: factor: '0.5' is not a number >= 1"},
        {{"--schedule=fixed:size=4"}, "second: --schedule: size: no such key; known: chunk factor"},
        {{"--balance=interaction:pins=1"},
         "second: --balance: interaction: pins: '1' is not an integer from 2 to 65536"},
    };
    static const char *const unlearnt[][2] = {
        {"--share=measured", "second: --share: measured: nothing is measured where no step is made"},
        {"--share=model:akima", "second: --share: model:akima: nothing is measured where no step is made"},
        {"--share=speeds:1,2,3", "second: --share: 3 speeds do not divide 8 parts"},
        {"--schedule=guided", "second: --schedule: guided: nothing is handed out where no step is made"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        eqp_message message = {""};
        settings s;
        const int code = SETTLE(&s, &message, bad[i].option[0], bad[i].option[1]);
        assert_true(code == EQP_ERR_ARGUMENT || code == EQP_ERR_UNKNOWN || code == EQP_ERR_IO);
        assert_string_equal(message.text, bad[i].line);
        assert_true(s.run.compare == NULL && s.run.parts == NULL && s.run.share.speed == NULL);
    }
    for (size_t i = 0; i < sizeof unlearnt / sizeof unlearnt[0]; i++) {
        eqp_message message = {""};
        settings s;
        assert_refused(SETTLE(&s, &message, "--compare=sfc", "--parts=3,8", unlearnt[i][0]));
        assert_string_equal(message.text, unlearnt[i][1]);
    }
}

TEST(shares_and_schedules_are_looked_up)
{
    eqp_message message = {""};
    settings s;
    char *text = NULL;

    assert_ok(SETTLE(&s, &message, "--share=speeds:1,3", "--schedule", "awf-c:factor=4,chunk=9"));
    assert_true(s.run.share.kind == EQP_SHARE_SPEEDS && s.run.share.nspeeds == 2);
    assert_ptr_equal(s.run.schedule, eqp_schedule_method_find("awf-c"));
    assert_true(s.run.schedule_rules.factor == 4.0 && s.run.schedule_rules.chunk == 9);
    app_run_settings_free(&s.run);
    assert_ok(SETTLE(&s, &message, NULL));
    assert_true(s.run.share.kind == EQP_SHARE_EQUAL && s.run.schedule == NULL && s.run.schedule_rules.factor == 2.0);
    assert_ok(app_run_list_schedules(&text));
    for (int i = 0; i < eqp_schedule_method_count(); i++) {
        assert_non_null(strstr(text, eqp_schedule_method_at(i)->summary));
    }
    free(text);
}

/* Settings that must be equal on all ranks, and settings that may differ. */
TEST(runs_that_differ_have_other_numbers)
{
    const app_run_settings run = {.generate = "a", .steps = 3, .balance = "sfc", .share_text = "equal"};
    app_run_settings other[] = {run, run, run, run, run, run, run}, same = run;
    char word[] = "sfc";

    other[0].generate = NULL;
    other[0].snapshot = NULL;
    other[0].restart = "a"; /* the same word, elsewhere */
    other[1].steps = 4;
    other[2].balance = "sf";
    other[3].share_text = "measured";
    other[4].imbalance_tol = 0.5;
    other[5].output = "file";
    other[6].false_alarms = 0.5;
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        assert_true(app_run_settings_hash(&other[i]) != app_run_settings_hash(&run));
        assert_true(app_run_settings_hash(&other[i]) >= 0);
    }
    same.balance = word; /* texts count, not where they are */
    same.report = "folder";
    same.quiet = true;
    assert_true(app_run_settings_hash(&same) == app_run_settings_hash(&run));
}

TEST(files_are_named_after_the_output)
{
    static const char *const ending[] = {".data", NULL};
    const app_naming naming = {.ending = ending, .numbered = ".data"};
    char *name = NULL;

    assert_ok(app_name_with_ending(&naming, "dir.data/out.data", ".ctrl", &name));
    assert_string_equal(name, "dir.data/out.ctrl");
    free(name);
    assert_ok(app_name_with_ending(&naming, ".data", ".ctrl", &name));
    assert_string_equal(name, ".data.ctrl"); /* an ending alone is a name */
    free(name);
    assert_ok(app_name_numbered(&naming, "out.data", 12, ".vtp", &name));
    assert_string_equal(name, "out_000012.vtp");
    free(name);
    assert_ok(app_name_numbered(&naming, "out.hdf5", INT64_MAX, ".data", &name));
    assert_string_equal(name, "out.hdf5_9223372036854775807.data");
    free(name);
}

TEST(a_file_has_few_particles_a_byte)
{
    app_run_settings run = {.max_particles = 0};
    eqp_message message = {""};

    assert_ok(app_run_check_particles(&run, "file", APP_PARTICLES_OF_A_FILE, 10, &message));
    assert_ok(app_run_check_particles(&run, "file", INT64_C(30000000), 7500000, &message));
    assert_string_equal(message.text, "");
    assert_int_equal(app_run_check_particles(&run, "file", INT64_C(30000000), 700000, &message), EQP_ERR_DATA);
    assert_string_equal(message.text, "file: 30000000 particles or nodes; the limit is 2800000 (--max-particles)");
    assert_ok(app_run_check_particles(&run, "generated", INT64_MAX, 0, &message));
    assert_ok(app_run_check_particles(&run, "file", INT64_MAX, INT64_MAX, &message));
    run.max_particles = 30000000;
    assert_ok(app_run_check_particles(&run, "file", INT64_C(30000000), 700000, &message));
    assert_int_equal(app_run_check_particles(&run, "file", INT64_C(30000001), INT64_MAX, &message), EQP_ERR_DATA);
    assert_int_equal(app_run_check_particles(&run, "generated", INT64_C(30000001), 0, &message), EQP_ERR_DATA);
}
