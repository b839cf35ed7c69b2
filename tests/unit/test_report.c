/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_malloc.h"
#include "loads.h"
#include "output/report.h"
#include "unit.h"

#include <equipoise/version.h>

static char folder[256], home[4096];

/* Each test runs in an empty folder, removed afterwards with its contents. */
static int enter_folder(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/equipoise-XXXXXX", base && *base ? base : ".");
    return getcwd(home, sizeof home) && mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[300];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir(home) == 0 ? system(command) : -1;
}

static CMFixtureFunction unit_before_each = enter_folder;
static CMFixtureFunction unit_after_each = leave_folder;

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = -2;

    assert_non_null(dir);
    while (readdir(dir)) {
        n++;
    }
    (void)closedir(dir);
    return n;
}

static void assert_file(const char *path, const char *expected)
{
    static char text[100000];
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(text, expected);
}

static eqp_report *begin_report(const char *path)
{
    eqp_report *report = NULL;

    assert_ok(eqp_report_create("barneshut", path, &report, NULL));
    return report;
}

/* Finishes and frees the report; its file must be as expected, with single quotes. */
static void assert_report(eqp_report *report, const char *path, const char *expected)
{
    assert_ok(eqp_report_finish(report, NULL));
    eqp_report_free(report);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "version")), eqp_version());
    json_object_del(root, "version");
    HEAP char *text = json_dumps(root, JSON_COMPACT);
    for (char *c = text; *c != '\0'; c++) {
        *c = *c == '"' ? '\'' : *c;
    }
    assert_string_equal(text, expected);
    json_decref(root);
}

static int fill_report(eqp_report *report)
{
    const eqp_field step[] = {eqp_field_count("step", 0), eqp_field_text("method", "sfc"),
                              eqp_field_bool("rebalanced", true), eqp_field_real("imbalance_measured", 0.0125),
                              eqp_field_real("energy", NAN)};
    const eqp_field one[] = {eqp_field_text("method", "count, \"plain\""), eqp_field_count("parts", 8)};
    const eqp_field two[] = {eqp_field_count("parts", 64), eqp_field_real("imbalance", 0.1),
                             eqp_field_bool("exchange", false)};
    int code;

    EQP_TRY(eqp_report_set(report, eqp_field_count("particles", INT64_C(9007199254740993))));
    EQP_TRY(eqp_report_set(report, eqp_field_text("command", "barneshut a\"b\n")));
    EQP_TRY(eqp_report_set(report, eqp_field_count("seed", 42)));
    EQP_TRY(eqp_report_set(report, eqp_field_real("theta", 0.5)));
    EQP_TRY(eqp_report_set_interactions(report, "pair", 12));
    EQP_TRY(eqp_report_set_interactions(report, "cell", 7));
    EQP_TRY(eqp_report_set_cost(report, "pair", 1e-9));
    EQP_TRY(eqp_report_set_model(report, 0.1, 0.25));
    EQP_TRY(eqp_report_add_step(report, 5, step));
    EQP_TRY(eqp_report_add_compare(report, 2, one));
    EQP_TRY(eqp_report_add_compare(report, 3, two));
done:
    return code;
}

/* Steps do not wait for what comes later. */
TEST(a_report_says_what_it_was_told)
{
    eqp_report *report = begin_report("a/b/c");

    assert_ok(fill_report(report));
    assert_report(
        report, "a/b/c/report.json",
        "{'schema':1,'app':'barneshut','steps':[{'step':0,'method':'sfc','rebalanced':true,'imbalance_measured':0."
        "012500000000000001,"
        "'energy':null}],"
        "'command':'barneshut a\\'b\\n','seed':42,'ranks':null,'particles':9007199254740993,"
        "'interactions':null,'interactions_by_kind':{'pair':12,'cell':7},'cost_seconds_by_kind':{'pair':1."
        "0000000000000001e-9},"
        "'model':{'rmse':0.10000000000000001,'rank_correlation':0.25},"
        "'compare':[{'method':'count, "
        "\\'plain\\'','parts':8},{'parts':64,'imbalance':0.10000000000000001,'exchange':false}],'theta':0.5}");
    assert_int_equal(chdir("a/b/c"), 0);
    assert_int_equal(count_entries("."), 2);
    assert_file("compare.csv", "method,parts,imbalance,exchange\n"
                               "\"count, \"\"plain\"\"\",8,,\n"
                               ",64,0.10000000000000001,false\n");
}

TEST(arrays_of_counts_and_lists_of_objects_are_fields)
{
    static const int64_t peaks[] = {1, INT64_C(9007199254740993), 0};
    const eqp_field turns[] = {eqp_field_count("phase", 0), eqp_field_real("times", 1), eqp_field_count("phase", 1),
                               eqp_field_real("times", 2)};
    const eqp_field row[] = {eqp_field_count("parts", 8), eqp_field_list("phases", 2, 2, turns),
                             eqp_field_counts("counts", 2, peaks)};
    const eqp_field empty[] = {eqp_field_counts("no_counts", 0, NULL), eqp_field_list("none", 0, 2, NULL)};
    eqp_report *report = begin_report(".");

    assert_ok(eqp_report_set(report, eqp_field_counts("peaks", 3, peaks)));
    assert_ok(eqp_report_set(report, eqp_field_counts("none", 0, NULL)));
    assert_ok(eqp_report_add_step(report, 3, row));
    assert_ok(eqp_report_add_step(report, 2, empty));
    assert_ok(eqp_report_add_compare(report, 2, row));
    assert_report(report, "report.json",
                  "{'schema':1,'app':'barneshut','steps':[{'parts':8,'phases':[{'phase':0,'times':1.0},{'phase':1,'"
                  "times':2.0}],'counts':[1,9007199254740993]},"
                  "{'no_counts':[],'none':[]}],"
                  "'command':null,'seed':null,'ranks':null,'particles':null,"
                  "'interactions':null,'interactions_by_kind':{},'cost_seconds_by_kind':{},"
                  "'model':{'rmse':null,'rank_correlation':null},"
                  "'compare':[{'parts':8,'phases':[{'phase':0,'times':1.0},{'phase':1,'times':2.0}]}],"
                  "'peaks':[1,9007199254740993,0],'none':[]}");
    assert_file("compare.csv", "parts\n8\n"); /* a table has no room for lists */
}

TEST(bytes_that_are_not_utf8_do_not_cost_the_report)
{
    /* A Latin-1 letter, a stray continuation, an overlong slash, a surrogate, a cut character, and a good one. */
    static const char wild[] = "a\xe9z \x80 \xc0\xaf \xed\xa0\x80 \xe2\x82 \xf0\x9f\x99\x82";
#define R "\xEF\xBF\xBD"
    static const char clean[] = "a" R "z " R " " R R " " R R R " " R R " \xf0\x9f\x99\x82";
#undef R
    eqp_report *report = begin_report(".");

    assert_ok(eqp_report_set(report, eqp_field_text("command", wild)));
    assert_ok(eqp_report_finish(report, NULL));
    eqp_report_free(report);
    json_t *root = json_load_file("report.json", 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "command")), clean);
    json_decref(root);
}

TEST(a_place_that_cannot_be_written_is_named)
{
    static const char *const bad[] = {"file", "file/sub", "."};
    eqp_csv *csv = NULL;
    eqp_report *report = NULL;
    eqp_message message = {""};

    assert_int_equal(fclose(fopen("file", "w")), 0);
    assert_int_equal(mkdir("report.json", 0777), 0); /* in place of the file */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(eqp_report_create("x", bad[i], &report, &message), EQP_ERR_IO);
        assert_non_null(strstr(message.text, i < 2 ? bad[i] : "report.json"));
    }
    assert_int_equal(eqp_report_directory("", &message), EQP_ERR_IO);
    assert_int_equal(app_loads_create("file/sub", &csv, &message), EQP_ERR_IO);
    assert_int_equal(count_entries("."), 2); /* no temporary file is left */
    assert_true(csv == NULL && report == NULL);
}

/* The call fails on a disk that is full after `most` bytes. */
static void assert_disk_full(rlim_t most, int (*call)(eqp_csv *csv, eqp_message *message), eqp_csv *csv)
{
    eqp_message message = {""};
    struct rlimit limit, before;

    signal(SIGXFSZ, SIG_IGN); /* the write fails instead */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = most;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const int code = call(csv, &message);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, EQP_ERR_IO);
    assert_non_null(strstr(message.text, "t.csv: cannot be written: File too large"));
}

static int add_many_and_finish(eqp_csv *csv, eqp_message *message)
{
    const eqp_field field = eqp_field_text(NULL, "0123456789012345678901234567890123456789");

    for (int i = 0; i < 1000; i++) {
        assert_ok(eqp_csv_add(csv, 1, &field));
    }
    return eqp_csv_finish(csv, message);
}

TEST(a_csv_appears_only_when_it_is_finished)
{
    static const char whole[] = "a,\"b,c\"\n-9223372036854775808,0.33333333333333331\n\"line\nbreak\",\n";
    const eqp_field row[] = {eqp_field_count("a", INT64_MIN), eqp_field_real("b,c", 1.0 / 3.0)};
    const eqp_field odd[] = {eqp_field_text(NULL, "line\nbreak"), eqp_field_real(NULL, INFINITY)};
    eqp_csv *csv = NULL;

    assert_ok(eqp_csv_create(NULL, "t.csv", "a", &csv, NULL));
    assert_disk_full(10000, add_many_and_finish, csv);
    eqp_csv_free(csv);
    assert_int_equal(count_entries("."), 0);
    assert_ok(eqp_csv_create(NULL, "t.csv", "a,\"b,c\"", &csv, NULL));
    assert_ok(eqp_csv_add(csv, 2, row));
    assert_ok(eqp_csv_add(csv, 2, odd));
    assert_int_not_equal(access("t.csv", F_OK), 0);
    assert_ok(eqp_csv_finish(csv, NULL));
    eqp_csv_free(csv);
    assert_file("t.csv", whole);
    /* A second file that is discarded leaves the first one unchanged. */
    assert_ok(eqp_csv_create(NULL, "t.csv", "a,\"b,c\"", &csv, NULL));
    eqp_csv_free(csv);
    assert_file("t.csv", whole);
    assert_int_equal(count_entries("."), 1);
    eqp_csv_free(NULL);
}

TEST(a_published_csv_has_the_rows_so_far)
{
    static const char two_rows[] = "a\n12345678\n12345678\n";
    const eqp_field row = eqp_field_count("a", 12345678);
    eqp_csv *csv = NULL;

    assert_ok(eqp_csv_create(NULL, "t.csv", "a", &csv, NULL));
    for (int i = 0; i < 2; i++) {
        assert_ok(eqp_csv_add(csv, 1, &row));
        assert_ok(eqp_csv_publish(csv, NULL));
        assert_file("t.csv", i == 0 ? "a\n12345678\n" : two_rows);
        assert_int_equal(count_entries("."), 1);
    }
    /* A disk that is full in the middle of the fourth row: the third, of the same step, goes too. */
    assert_ok(eqp_csv_add(csv, 1, &row));
    assert_ok(eqp_csv_add(csv, 1, &row));
    assert_disk_full(33, eqp_csv_publish, csv);
    assert_file("t.csv", two_rows);
    assert_ok(eqp_csv_add(csv, 1, &row));
    assert_int_equal(eqp_csv_finish(csv, NULL), EQP_ERR_IO);
    eqp_csv_free(csv);
    assert_file("t.csv", two_rows);
    assert_int_equal(count_entries("."), 1);
}

TEST(loads_have_their_columns)
{
    const eqp_rank_row row = {.load = 0.5,
                              .predicted = 0.25,
                              .particles = 100,
                              .targets = 101,
                              .interactions = 102,
                              .ghosts = 103,
                              .bytes_sent = 104,
                              .balance_seconds = 2.0,
                              .speed = 1.5,
                              .helped = 105,
                              .busy_seconds = 2.25,
                              .exchange_seconds = 0.125,
                              .migrated = 106,
                              .bytes_moved = 107,
                              .last_messages_sent = 108,
                              .last_messages_received = 109,
                              .last_bytes_sent = 110,
                              .last_bytes_received = 111};
    eqp_csv *csv = NULL;

    assert_ok(app_loads_create("out", &csv, NULL));
    assert_ok(app_loads_add(csv, 3, 1, "sfc", &row));
    assert_ok(eqp_csv_finish(csv, NULL));
    eqp_csv_free(csv);
    assert_file("out/loads.csv",
                "step,rank,load,method,predicted,particles,targets,interactions,ghosts,bytes_sent,force_seconds,"
                "balance_seconds,speed,helped,busy_seconds,exchange_seconds,migrated,bytes_moved,"
                "last_messages_sent,last_messages_received,last_bytes_sent,last_bytes_received\n"
                "3,1,0.5,sfc,0.25,100,101,102,103,104,0.5,2,1.5,105,2.25,0.125,106,107,108,109,110,111\n");
}

static int write_report(void)
{
    eqp_report *report = NULL;
    int code;

    EQP_TRY(eqp_report_create("barneshut", ".", &report, NULL));
    EQP_TRY(fill_report(report));
    EQP_TRY(eqp_report_finish(report, NULL));
done:
    eqp_report_free(report);
    return code;
}

static int write_loads(void)
{
    const eqp_rank_row row = {.load = 0};
    eqp_csv *csv = NULL;
    int code;

    EQP_TRY(app_loads_create(".", &csv, NULL));
    EQP_TRY(app_loads_add(csv, 0, 0, "sfc", &row));
    EQP_TRY(eqp_csv_publish(csv, NULL));
    EQP_TRY(eqp_csv_finish(csv, NULL));
done:
    eqp_csv_free(csv);
    return code;
}

/* The C library does without some of its buffers, so a run with a failure may succeed. */
TEST(failing_allocations_leave_nothing_half_done)
{
    int (*const write[])(void) = {write_report, write_loads};

    SKIP_IF(!failing_malloc_works);
    for (int w = 0; w < 2; w++) {
        int64_t refused = 0, failures = 1;
        for (int64_t k = 0; failures > 0; k++) {
            failing_malloc_start(k);
            const int code = write[w]();
            failures = failing_malloc_stop();
            refused += code == EQP_ERR_MEMORY;
            assert_true(code == EQP_OK || (code == EQP_ERR_MEMORY && failures > 0));
        }
        assert_true(refused > 2);
    }
    assert_int_equal(count_entries("."), 3); /* report.json, compare.csv, loads.csv and no parts */
}
