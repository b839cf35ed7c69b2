/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <equipoise/report.h>

#include "plot.h"

static char folder[256];
static const char *const leftovers[] = {"loads.csv",     "loads.png",     "loads.svg",
                                        "imbalance.png", "imbalance.svg", "plots.gp"};
#define NLEFTOVERS (sizeof leftovers / sizeof leftovers[0])

static const char *path_of(const char *name)
{
    static char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* A folder whose name needs quotes, with the loads of two ranks over three steps: imbalances 0, 50 and 100 %. */
static int make_loads(void **state)
{
    static const double load[3][2] = {{1.0, 1.0}, {3.0, 1.0}, {0.0, 4.0}};
    const char *base = getenv("TMPDIR");
    eqp_csv *csv = NULL;
    int code;

    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/it's plots XXXXXX", base && *base ? base : ".");
    if (!mkdtemp(folder)) {
        return -1;
    }
    code = eqp_csv_create_loads(folder, &csv, NULL);
    for (int step = 0; step < 3; step++) {
        for (int rank = 0; rank < 2; rank++) {
            const eqp_load_row row = {.step = step, .rank = rank, .load = load[step][rank], .method = "a,b"};

            code = code ? code : eqp_csv_add_load(csv, &row);
        }
    }
    code = code ? code : eqp_csv_finish(csv, NULL);
    eqp_csv_free(csv);
    return code;
}

static int remove_loads(void **state)
{
    (void)state;
    for (size_t i = 0; i < NLEFTOVERS; i++) {
        (void)remove(path_of(leftovers[i]));
    }
    return rmdir(folder);
}

static size_t read_start(const char *name, size_t size, char *text)
{
    FILE *file = fopen(path_of(name), "r");
    size_t n;

    assert_non_null(file);
    n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    return n;
}

static void plots_are_drawn_twice_each(void **state)
{
    char loads[512], text[20000];
    const app_plot_series series[] = {{"it's_count", loads}, {"sfc", loads}};
    eqp_message message = {""};
    int code;

    (void)state;
    (void)snprintf(loads, sizeof loads, "%s", path_of("loads.csv"));
    code = app_plot_loads(folder, 2, series, &message);
    if (code == EQP_ERR_UNKNOWN) {
        skip();
    }
    assert_string_equal(message.text, "");
    assert_int_equal(code, EQP_OK);
    for (size_t i = 0; i < NLEFTOVERS; i++) {
        size_t n = read_start(leftovers[i], sizeof text, text);

        assert_true(n > 100);
        if (strstr(leftovers[i], ".png")) {
            assert_memory_equal(text, "\x89PNG", 4);
        } else if (strstr(leftovers[i], ".svg")) {
            assert_non_null(strstr(text, "<svg"));
            assert_non_null(strstr(text, "s_count<"));
        }
    }
    /* The axis reaches the largest imbalance, 100 %, and no further than the next tick. */
    (void)read_start("imbalance.svg", sizeof text, text);
    assert_non_null(strstr(text, "> 100<"));
    assert_null(strstr(text, "> 140<"));
    assert_int_equal(app_plot_loads(folder, 0, series, &message), EQP_ERR_ARGUMENT);
}

static void without_gnuplot_the_script_remains(void **state)
{
    const app_plot_series series[] = {{"a", "loads.csv"}};
    const char *path = getenv("PATH");
    char old[4096], text[2000];
    eqp_message message = {""};
    int code;

    (void)state;
    (void)snprintf(old, sizeof old, "%s", path ? path : "");
    assert_int_equal(setenv("PATH", folder, 1), 0);
    code = app_plot_loads(folder, 1, series, &message);
    assert_int_equal(setenv("PATH", old, 1), 0);
    assert_int_equal(code, EQP_ERR_UNKNOWN);
    assert_non_null(strstr(message.text, "gnuplot is not installed"));
    assert_true(read_start("plots.gp", sizeof text, text) > 100);
}

static void a_script_that_cannot_be_written_or_drawn_is_named(void **state)
{
    const app_plot_series missing[] = {{"a", "no such file"}};
    char nowhere[600];
    eqp_message message = {""};
    int code;

    (void)state;
    (void)snprintf(nowhere, sizeof nowhere, "%s/none", folder);
    assert_int_equal(app_plot_loads(nowhere, 1, missing, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "none/plots.gp"));
    code = app_plot_loads(folder, 1, missing, &message);
    assert_true(code == EQP_ERR_IO || code == EQP_ERR_UNKNOWN);
    assert_non_null(strstr(message.text, "plots.gp"));
}

#define WITH_LOADS(test) cmocka_unit_test_setup_teardown(test, make_loads, remove_loads)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LOADS(plots_are_drawn_twice_each),
        WITH_LOADS(without_gnuplot_the_script_remains),
        WITH_LOADS(a_script_that_cannot_be_written_or_drawn_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
