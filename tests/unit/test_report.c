/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "loads.h"

#include "output/report.h"

#include "failing_malloc.h"

#include <equipoise/version.h>

/* Each test has an empty folder of its own, removed with all that is in it. */
static char folder[256];

static void path_in(const char *name, size_t size, char *path)
{
    assert_true((size_t)snprintf(path, size, "%s/%s", folder, name) < size);
}

static int make_folder(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/equipoise-XXXXXX", base && *base ? base : ".");
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char inner[1024];

    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            (void)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
            remove_tree(inner);
        }
    }
    if (dir) {
        (void)closedir(dir);
    }
    (void)remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    remove_tree(folder);
    return 0;
}

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

/* The whole file; free it. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(100000);
    size_t n;

    assert_non_null(file);
    assert_non_null(text);
    n = fread(text, 1, 99999, file);
    text[n] = '\0';
    (void)fclose(file);
    return text;
}

static void assert_file(const char *path, const char *expected)
{
    HEAP char *text = read_text(path);

    assert_string_equal(text, expected);
}

static int fill_report(eqp_report *report)
{
    const eqp_field step[] = {eqp_field_count("step", 0), eqp_field_text("method", "sfc"),
                              eqp_field_bool("rebalanced", true), eqp_field_real("imbalance_measured", 0.0125),
                              eqp_field_real("energy", NAN)};
    const eqp_field one[] = {eqp_field_text("method", "count, \"plain\""), eqp_field_count("parts", 8)};
    const eqp_field two[] = {eqp_field_count("parts", 64), eqp_field_real("imbalance", 0.1),
                             eqp_field_bool("exchange", false)};
    int code = eqp_report_set(report, eqp_field_count("particles", INT64_C(9007199254740993)));

    code = code ? code : eqp_report_set(report, eqp_field_text("command", "barneshut a\"b\n"));
    code = code ? code : eqp_report_set(report, eqp_field_count("seed", 42));
    code = code ? code : eqp_report_set(report, eqp_field_real("theta", 0.5));
    code = code ? code : eqp_report_set_interactions(report, "pair", 12);
    code = code ? code : eqp_report_set_interactions(report, "cell", 7);
    code = code ? code : eqp_report_set_cost(report, "pair", 1e-9);
    code = code ? code : eqp_report_set_model(report, 0.1, 0.25);
    code = code ? code : eqp_report_add_step(report, 5, step);
    code = code ? code : eqp_report_add_compare(report, 2, one);
    code = code ? code : eqp_report_add_compare(report, 3, two);
    return code;
}

static void a_report_says_what_it_was_told(void **state)
{
    static const char *const order[] = {
        "schema",  "app",     "version", "steps", /* which do not wait for what comes later */
        "command", "seed",    "ranks",   "particles", "interactions", "interactions_by_kind", "cost_seconds_by_kind",
        "model",   "compare", "theta"};
    eqp_report *report = NULL;
    eqp_message message = {""};
    char path[512];
    const char *key;
    json_t *root, *row, *value;
    size_t i = 0;

    (void)state;
    path_in("a/b/c", sizeof path, path);
    assert_int_equal(eqp_report_create("barneshut", path, &report, &message), EQP_OK);
    assert_int_equal(fill_report(report), EQP_OK);
    assert_int_equal(eqp_report_finish(report, &message), EQP_OK);
    assert_int_equal(eqp_report_finish(report, &message), EQP_ERR_STATE);
    assert_int_equal(eqp_report_add_step(report, 0, NULL), EQP_ERR_STATE);
    assert_int_equal(eqp_report_add_compare(report, 0, NULL), EQP_ERR_STATE);
    eqp_report_free(report);
    assert_int_equal(count_entries(path), 2);
    path_in("a/b/c/report.json", sizeof path, path);
    root = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    json_object_foreach(root, key, value)
    {
        assert_true(i < sizeof order / sizeof order[0]);
        assert_string_equal(key, order[i++]);
    }
    assert_int_equal(i, sizeof order / sizeof order[0]);
    assert_int_equal(json_integer_value(json_object_get(root, "schema")), 1);
    assert_string_equal(json_string_value(json_object_get(root, "app")), "barneshut");
    assert_string_equal(json_string_value(json_object_get(root, "version")), eqp_version());
    assert_string_equal(json_string_value(json_object_get(root, "command")), "barneshut a\"b\n");
    assert_true(json_integer_value(json_object_get(root, "particles")) == INT64_C(9007199254740993));
    assert_true(json_is_null(json_object_get(root, "ranks")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "interactions_by_kind"), "cell")), 7);
    assert_true(json_real_value(json_object_get(json_object_get(root, "cost_seconds_by_kind"), "pair")) == 1e-9);
    assert_true(json_real_value(json_object_get(json_object_get(root, "model"), "rmse")) == 0.1);
    assert_true(json_real_value(json_object_get(json_object_get(root, "model"), "rank_correlation")) == 0.25);
    row = json_array_get(json_object_get(root, "steps"), 0);
    assert_true(json_is_true(json_object_get(row, "rebalanced")));
    assert_true(json_real_value(json_object_get(row, "imbalance_measured")) == 0.0125);
    assert_true(json_is_null(json_object_get(row, "energy")));
    assert_int_equal(json_array_size(json_object_get(root, "compare")), 2);
    json_decref(root);
}

static void compared_rows_make_a_csv_of_all_their_columns(void **state)
{
    eqp_report *report = NULL;
    char path[512];

    (void)state;
    assert_int_equal(eqp_report_create("barneshut", folder, &report, NULL), EQP_OK);
    assert_int_equal(fill_report(report), EQP_OK);
    assert_int_equal(eqp_report_finish(report, NULL), EQP_OK);
    eqp_report_free(report);
    path_in("compare.csv", sizeof path, path);
    assert_file(path, "method,parts,imbalance,exchange\n"
                      "\"count, \"\"plain\"\"\",8,,\n"
                      ",64,0.10000000000000001,false\n");
}

static void a_report_without_rows_has_no_csv_and_every_key(void **state)
{
    eqp_report *report = NULL;
    char path[512];
    json_t *root;

    (void)state;
    assert_int_equal(eqp_report_create("x", folder, &report, NULL), EQP_OK);
    assert_int_equal(eqp_report_finish(report, NULL), EQP_OK);
    eqp_report_free(report);
    assert_int_equal(count_entries(folder), 1);
    path_in("report.json", sizeof path, path);
    root = json_load_file(path, 0, NULL);
    assert_int_equal(json_object_size(root), 13);
    assert_true(json_is_array(json_object_get(root, "steps")));
    assert_true(json_is_null(json_object_get(json_object_get(root, "model"), "rmse")));
    json_decref(root);
}

static void an_array_of_counts_is_a_key(void **state)
{
    static const int64_t peaks[] = {1, INT64_C(9007199254740993), 0};
    eqp_report *report = NULL;
    char path[512];
    json_t *root, *list;

    (void)state;
    assert_int_equal(eqp_report_create("x", folder, &report, NULL), EQP_OK);
    assert_int_equal(eqp_report_set_counts(report, "peaks", 3, peaks), EQP_OK);
    assert_int_equal(eqp_report_set_counts(report, "none", 0, NULL), EQP_OK);
    const eqp_field counts = eqp_field_counts("counts", 2, peaks), no_counts = eqp_field_counts("no_counts", 0, NULL);
    assert_int_equal(eqp_report_add_step(report, 1, &counts), EQP_OK);
    assert_int_equal(eqp_report_add_step(report, 1, &no_counts), EQP_OK);
    assert_int_equal(eqp_report_set_counts(report, "steps", 3, peaks), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_set_counts(report, "", 3, peaks), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_set_counts(report, NULL, 3, peaks), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_set_counts(report, "peaks", -1, peaks), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_finish(report, NULL), EQP_OK);
    eqp_report_free(report);
    path_in("report.json", sizeof path, path);
    root = json_load_file(path, 0, NULL);
    list = json_object_get(root, "peaks");
    assert_int_equal(json_array_size(list), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(json_integer_value(json_array_get(list, i)), peaks[i]);
    }
    assert_true(json_is_array(json_object_get(root, "none")));
    assert_int_equal(json_array_size(json_object_get(root, "none")), 0);
    list = json_object_get(root, "steps");
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(list, 0), "counts")), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(list, 1), "no_counts")), 0);
    json_decref(root);
}

static void a_list_of_objects_is_a_field(void **state)
{
    const eqp_field turns[] = {eqp_field_count("phase", 0), eqp_field_real("times", 1), eqp_field_count("phase", 1),
                               eqp_field_real("times", 2)};
    const eqp_field row[] = {eqp_field_count("parts", 8), eqp_field_list("phases", 2, 2, turns)};
    const eqp_field none = eqp_field_list("phases", 0, 2, NULL), twice = eqp_field_list("phases", 1, 4, turns);
    eqp_report *report = NULL;
    char path[512], line[64];
    json_t *root, *list;

    (void)state;
    assert_int_equal(eqp_report_create("x", folder, &report, NULL), EQP_OK);
    assert_int_equal(eqp_report_add_step(report, 2, row), EQP_OK);
    assert_int_equal(eqp_report_add_step(report, 1, &none), EQP_OK);
    assert_int_not_equal(eqp_report_add_step(report, 1, &twice), EQP_OK);
    assert_int_equal(eqp_report_add_compare(report, 2, row), EQP_OK);
    assert_int_equal(eqp_report_finish(report, NULL), EQP_OK);
    eqp_report_free(report);
    path_in("report.json", sizeof path, path);
    root = json_load_file(path, 0, NULL);
    list = json_object_get(json_array_get(json_object_get(root, "steps"), 0), "phases");
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "phase")), 1);
    assert_true(json_real_value(json_object_get(json_array_get(list, 1), "times")) == 2);
    list = json_object_get(json_array_get(json_object_get(root, "steps"), 1), "phases");
    assert_true(json_is_array(list) && json_array_size(list) == 0);
    json_decref(root);
    path_in("compare.csv", sizeof path, path); /* a table has no room for it */
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "parts\n");
    (void)fclose(file);
}

static void wrong_fields_are_refused_and_change_nothing(void **state)
{
    const eqp_field twice[] = {eqp_field_count("step", 1), eqp_field_count("step", 2)};
    const eqp_field unnamed[] = {eqp_field_count(NULL, 1)};
    eqp_report *report = NULL;
    char path[512];
    json_t *root;

    (void)state;
    assert_int_equal(eqp_report_create("x", folder, &report, NULL), EQP_OK);
    assert_int_equal(eqp_report_set(report, eqp_field_count("schema", 2)), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_set(report, eqp_field_text("steps", "none")), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_set(report, eqp_field_text("seed", "42")), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_set(report, eqp_field_count("", 1)), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_set(report, eqp_field_count(NULL, 1)), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_set(report, eqp_field_count("\xff", 1)), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_add_step(report, 2, twice), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_add_compare(report, 1, unnamed), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_report_finish(report, NULL), EQP_OK);
    eqp_report_free(report);
    path_in("report.json", sizeof path, path);
    root = json_load_file(path, 0, NULL);
    assert_int_equal(json_object_size(root), 13);
    assert_int_equal(json_array_size(json_object_get(root, "steps")), 0);
    assert_true(json_is_null(json_object_get(root, "seed")));
    json_decref(root);
}

static void bytes_that_are_not_utf8_do_not_cost_the_report(void **state)
{
    /* A Latin-1 letter, a stray continuation, an overlong slash, a surrogate, a cut character, and a good one. */
    static const char wild[] = "a\xe9z \x80 \xc0\xaf \xed\xa0\x80 \xe2\x82 \xf0\x9f\x99\x82";
#define R "\xEF\xBF\xBD"
    static const char clean[] = "a" R "z " R " " R R " " R R R " " R R " \xf0\x9f\x99\x82";
#undef R
    eqp_report *report = NULL;
    char path[512];
    json_t *root;

    (void)state;
    assert_int_equal(eqp_report_create("x", folder, &report, NULL), EQP_OK);
    assert_int_equal(eqp_report_set(report, eqp_field_text("command", wild)), EQP_OK);
    assert_int_equal(eqp_report_finish(report, NULL), EQP_OK);
    eqp_report_free(report);
    path_in("report.json", sizeof path, path);
    root = json_load_file(path, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "command")), clean);
    json_decref(root);
}

static void a_place_that_cannot_be_written_is_named(void **state)
{
    eqp_report *report = NULL;
    eqp_csv *csv = NULL;
    eqp_message message = {""};
    char path[512], inside[512];
    FILE *file;

    (void)state;
    path_in("file", sizeof path, path);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fclose(file);
    path_in("file/sub", sizeof inside, inside);
    assert_int_equal(eqp_report_create("x", path, &report, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, path));
    assert_int_equal(eqp_report_create("x", inside, &report, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, inside));
    assert_int_equal(eqp_report_directory("", &message), EQP_ERR_IO);
    assert_int_equal(app_loads_create(inside, &csv, &message), EQP_ERR_IO);
    assert_null(csv);
    /* A folder in place of the file: no temporary file is left. */
    path_in("report.json", sizeof path, path);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(eqp_report_create("x", folder, &report, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, path));
    assert_int_equal(count_entries(folder), 2);
    assert_null(report);
}

static void a_full_disk_is_noticed(void **state)
{
    static const char *const column[] = {"a"};
    const eqp_field field = eqp_field_text(NULL, "0123456789012345678901234567890123456789");
    eqp_message message = {""};
    eqp_csv *csv = NULL;
    struct rlimit limit, before;
    char path[512];

    (void)state;
    signal(SIGXFSZ, SIG_IGN); /* the write fails instead */
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 10000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    path_in("a.csv", sizeof path, path);
    assert_int_equal(eqp_csv_create(path, 1, column, &csv, &message), EQP_OK);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(eqp_csv_add(csv, 1, &field), EQP_OK);
    }
    assert_int_equal(eqp_csv_finish(csv, &message), EQP_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(message.text, path));
    assert_non_null(strstr(message.text, "cannot be written: File too large"));
    eqp_csv_free(csv);
    assert_int_equal(count_entries(folder), 0);
}

static void a_csv_appears_only_when_it_is_finished(void **state)
{
    static const char *const column[] = {"a", "b,c"};
    const eqp_field row[] = {eqp_field_count("a", INT64_MIN), eqp_field_real("b,c", 1.0 / 3.0)};
    const eqp_field odd[] = {eqp_field_text(NULL, "line\nbreak"), eqp_field_real(NULL, INFINITY)};
    const eqp_field wrong[] = {eqp_field_count("b,c", 1), eqp_field_count("a", 2)};
    eqp_csv *csv = NULL;
    char path[512];

    (void)state;
    path_in("t.csv", sizeof path, path);
    assert_int_equal(eqp_csv_create(path, 0, column, &csv, NULL), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_csv_create(path, 2, column, &csv, NULL), EQP_OK);
    assert_int_equal(eqp_csv_add(csv, 2, row), EQP_OK);
    assert_int_equal(eqp_csv_add(csv, 2, odd), EQP_OK);
    assert_int_equal(eqp_csv_add(csv, 1, row), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_csv_add(csv, 2, wrong), EQP_ERR_ARGUMENT);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(eqp_csv_finish(csv, NULL), EQP_OK);
    assert_int_equal(eqp_csv_add(csv, 2, row), EQP_ERR_STATE);
    assert_int_equal(eqp_csv_finish(csv, NULL), EQP_ERR_STATE);
    eqp_csv_free(csv);
    assert_file(path, "a,\"b,c\"\n-9223372036854775808,0.33333333333333331\n\"line\nbreak\",\n");
    /* A second file that is given up leaves the first one alone. */
    assert_int_equal(eqp_csv_create(path, 2, column, &csv, NULL), EQP_OK);
    eqp_csv_free(csv);
    assert_file(path, "a,\"b,c\"\n-9223372036854775808,0.33333333333333331\n\"line\nbreak\",\n");
    assert_int_equal(count_entries(folder), 1);
    eqp_csv_free(NULL);
}

static void a_published_csv_has_the_rows_so_far(void **state)
{
    static const char *const column[] = {"a"};
    const eqp_field row = eqp_field_count("a", 12345678);
    struct rlimit limit, before;
    eqp_message message = {""};
    eqp_csv *csv = NULL;
    char path[512];

    (void)state;
    path_in("t.csv", sizeof path, path);
    assert_int_equal(eqp_csv_create(path, 1, column, &csv, NULL), EQP_OK);
    assert_int_equal(eqp_csv_add(csv, 1, &row), EQP_OK);
    assert_int_equal(eqp_csv_publish(csv, &message), EQP_OK);
    assert_file(path, "a\n12345678\n");
    assert_int_equal(count_entries(folder), 1);
    assert_int_equal(eqp_csv_add(csv, 1, &row), EQP_OK);
    assert_int_equal(eqp_csv_publish(csv, &message), EQP_OK);
    assert_file(path, "a\n12345678\n12345678\n");
    /* A disk that is full in the middle of the fourth row: the third, of the same step, goes too. */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 33;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(eqp_csv_add(csv, 1, &row), EQP_OK);
    assert_int_equal(eqp_csv_add(csv, 1, &row), EQP_OK);
    assert_int_equal(eqp_csv_publish(csv, &message), EQP_ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(message.text, "t.csv: cannot be written: File too large"));
    assert_file(path, "a\n12345678\n12345678\n");
    assert_int_equal(eqp_csv_add(csv, 1, &row), EQP_OK);
    assert_int_equal(eqp_csv_finish(csv, &message), EQP_ERR_IO);
    assert_int_equal(eqp_csv_publish(csv, &message), EQP_ERR_STATE);
    eqp_csv_free(csv);
    assert_file(path, "a\n12345678\n12345678\n");
    assert_int_equal(count_entries(folder), 1);
}

/* Bytes that the program has allocated. */
static size_t held(void)
{
#if defined(__GLIBC__) && __GLIBC__ == 2 && __GLIBC_MINOR__ >= 33
    const struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

static void rows_do_not_stay_in_memory(void **state)
{
    static const char *const header[] = {"step", "method"};
    const eqp_field step[] = {eqp_field_count("step", 7), eqp_field_text("method", "interaction")};
    const eqp_rank_row row = {.load = 0};
    eqp_report *report = NULL;
    eqp_csv *csv = NULL;
    eqp_table *table = NULL;
    size_t begin = 0;

    (void)state;
    assert_int_equal(eqp_report_create("x", folder, &report, NULL), EQP_OK);
    assert_int_equal(app_loads_create(folder, &csv, NULL), EQP_OK);
    assert_int_equal(eqp_table_create(2, header, &table), EQP_OK);
    for (int i = 0; i < 2000; i++) {
        HEAP char *text = NULL;

        assert_int_equal(eqp_report_add_step(report, 2, step), EQP_OK);
        assert_int_equal(app_loads_add(csv, 7, 0, "interaction", &row), EQP_OK);
        assert_int_equal(eqp_csv_publish(csv, NULL), EQP_OK);
        assert_int_equal(eqp_table_cell(table, "%d", i), EQP_OK);
        assert_int_equal(eqp_table_cell(table, "interaction"), EQP_OK);
        assert_int_equal(eqp_table_take(table, &text), EQP_OK);
        begin = i == 10 ? held() : begin;
    }
    assert_true(held() <= begin + 1000);
    eqp_table_free(table);
    eqp_csv_free(csv);
    eqp_report_free(report);
}

static void loads_have_their_columns(void **state)
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
    char path[512];

    (void)state;
    path_in("out", sizeof path, path);
    assert_int_equal(app_loads_create(path, &csv, NULL), EQP_OK);
    assert_int_equal(app_loads_add(csv, 3, 1, "sfc", &row), EQP_OK);
    assert_int_equal(eqp_csv_finish(csv, NULL), EQP_OK);
    eqp_csv_free(csv);
    path_in("out/loads.csv", sizeof path, path);
    assert_file(path, "step,rank,load,method,predicted,particles,targets,interactions,ghosts,bytes_sent,force_seconds,"
                      "balance_seconds,speed,helped,busy_seconds,exchange_seconds,migrated,bytes_moved,"
                      "last_messages_sent,last_messages_received,last_bytes_sent,last_bytes_received\n"
                      "3,1,0.5,sfc,0.25,100,101,102,103,104,0.5,2,1.5,105,2.25,0.125,106,107,108,109,110,111\n");
}

/* Runs the call with its first k allocations for k = 0, 1, ... until none fails. The C library does without some of
 * its buffers, so a run with a failure may succeed; otherwise it has to say what was missing. */
static void until_nothing_fails(int (*call)(void))
{
    int failures = 0;

    if (!failing_malloc_works) {
        skip();
    }
    for (int64_t k = 0; k < 5000; k++) {
        failing_malloc_start(k);
        int code = call();
        if (failing_malloc_stop() == 0) {
            assert_int_equal(code, EQP_OK);
            assert_true(failures > 2);
            return;
        }
        failures += code == EQP_ERR_MEMORY;
        assert_true(code == EQP_ERR_MEMORY || code == EQP_OK);
    }
    fail_msg("it never succeeds");
}

static int whole_report(void)
{
    eqp_report *report = NULL;
    int code = eqp_report_create("barneshut", folder, &report, NULL);

    code = code ? code : fill_report(report);
    code = code ? code : eqp_report_finish(report, NULL);
    eqp_report_free(report);
    return code;
}

static int whole_loads(void)
{
    const eqp_rank_row row = {.load = 0};
    eqp_csv *csv = NULL;
    int code = app_loads_create(folder, &csv, NULL);

    code = code ? code : app_loads_add(csv, 0, 0, "sfc", &row);
    code = code ? code : eqp_csv_publish(csv, NULL);
    code = code ? code : eqp_csv_finish(csv, NULL);
    eqp_csv_free(csv);
    return code;
}

static void failing_allocations_leave_nothing_half_done(void **state)
{
    (void)state;
    until_nothing_fails(whole_report);
    until_nothing_fails(whole_loads);
    /* report.json, compare.csv, loads.csv and no parts. */
    assert_int_equal(count_entries(folder), 3);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_report_says_what_it_was_told),
        IN_FOLDER(compared_rows_make_a_csv_of_all_their_columns),
        IN_FOLDER(a_report_without_rows_has_no_csv_and_every_key),
        IN_FOLDER(an_array_of_counts_is_a_key),
        IN_FOLDER(a_list_of_objects_is_a_field),
        IN_FOLDER(wrong_fields_are_refused_and_change_nothing),
        IN_FOLDER(bytes_that_are_not_utf8_do_not_cost_the_report),
        IN_FOLDER(a_place_that_cannot_be_written_is_named),
        IN_FOLDER(a_full_disk_is_noticed),
        IN_FOLDER(a_csv_appears_only_when_it_is_finished),
        IN_FOLDER(a_published_csv_has_the_rows_so_far),
        IN_FOLDER(rows_do_not_stay_in_memory),
        IN_FOLDER(loads_have_their_columns),
        IN_FOLDER(failing_allocations_leave_nothing_half_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
