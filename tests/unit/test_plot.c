/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "output/report.h"

#include "loads.h"
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

/* A folder whose name needs quotes, with the loads of two ranks over three steps: imbalances 0, 50 and 100 %, and 25 %
 * predicted in the last step only. */
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
            const eqp_load_row row = {.step = step,
                                      .rank = rank,
                                      .load = load[step][rank],
                                      .method = "a,\"b\"",
                                      .predicted = step < 2    ? NAN
                                                   : rank == 0 ? 5.0
                                                               : 3.0,
                                      .particles = 600 + rank};

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

static void a_file_tells_ranks_steps_and_ranges(void **state)
{
    app_loads loads;
    eqp_message message = {""};

    (void)state;
    assert_int_equal(app_loads_read(path_of("loads.csv"), NULL, &loads, &message), EQP_OK);
    assert_int_equal(loads.ranks, 2);
    assert_int_equal(loads.first, 0);
    assert_int_equal(loads.last, 2);
    assert_int_equal(loads.particles, 1201);
    assert_true(fabs(loads.mean - 5.0) < 1e-12);
    assert_true(fabs(loads.largest - 6.0) < 1e-12);
    assert_true(loads.predicted);
    assert_true(fabs(loads.imbalance_low) < 1e-12);
    assert_true(fabs(loads.imbalance_high - 1.0) < 1e-12);
}

/* The run that writes it goes on, or was killed. */
static void a_last_step_without_all_ranks_is_left_out(void **state)
{
    static const char *const end[] = {"3,0,1.5,a,,1,1,1,1,1,1,1,1,1,1,1,1\n", "3,1,1"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        app_loads loads;
        FILE *file = fopen(path_of("loads.csv"), "a");

        assert_non_null(file);
        assert_true(fputs(end[i], file) >= 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(app_loads_read(path_of("loads.csv"), NULL, &loads, NULL), EQP_OK);
        assert_int_equal(loads.last, 2);
        assert_true(fabs(loads.mean - 5.0) < 1e-12);
    }
}

static void a_damaged_file_leaves_the_result_alone(void **state)
{
    app_loads loads = {.ranks = -7};
    eqp_message message = {""};
    FILE *file = fopen(path_of("loads.csv"), "a");

    (void)state;
    assert_non_null(file);
    assert_true(fputs("3,0,1.5,a,,1,1,1,1,1,1,1,1,1,1,1,1\n4,0,1.5,a,,1,1,1,1,1,1,1,1,1,1,1,1\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(app_loads_read(path_of("loads.csv"), NULL, &loads, &message), EQP_ERR_DATA);
    assert_non_null(strstr(message.text, "line 9: the step before has too few ranks"));
    assert_int_equal(app_loads_read(folder, NULL, &loads, &message), EQP_ERR_IO);
    assert_int_equal(loads.ranks, -7);
}

static void plots_are_drawn_twice_each(void **state)
{
    static char text[100000];
    char loads[512];
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
    (void)read_start("loads.svg", sizeof text, text);
    assert_non_null(strstr(text, "Load per rank: 1,201 particles, 2 ranks, steps 0 to 2"));
    /* The axis reaches the largest imbalance, 100 %, and no further than the next tick; 0 is at its lower end. */
    (void)read_start("imbalance.svg", sizeof text, text);
    assert_non_null(strstr(text, ">200<"));
    assert_null(strstr(text, ">500<"));
    assert_non_null(strstr(text, " 0.1<"));
    assert_null(strstr(text, ">0.05<"));
    assert_non_null(strstr(text, ">predicted<"));
    assert_int_equal(app_plot_loads(folder, 0, series, &message), EQP_ERR_ARGUMENT);
}

static void without_gnuplot_the_script_remains(void **state)
{
    char loads[512];
    const app_plot_series series[] = {{"a", loads}};
    const char *path = getenv("PATH");
    char old[4096], text[2000];
    eqp_message message = {""};
    int code;

    (void)state;
    (void)snprintf(loads, sizeof loads, "%s", path_of("loads.csv"));
    (void)snprintf(old, sizeof old, "%s", path ? path : "");
    assert_int_equal(setenv("PATH", folder, 1), 0);
    code = app_plot_loads(folder, 1, series, &message);
    assert_int_equal(setenv("PATH", old, 1), 0);
    assert_int_equal(code, EQP_ERR_UNKNOWN);
    assert_non_null(strstr(message.text, "gnuplot is not installed"));
    assert_true(read_start("plots.gp", sizeof text, text) > 100);
}

static void mistakes_are_named_and_nothing_is_written(void **state)
{
    char loads[512], nowhere[600];
    const app_plot_series missing[] = {{"a", loads}, {"b", "no such file"}};
    eqp_message message = {""};

    (void)state;
    (void)snprintf(loads, sizeof loads, "%s", path_of("loads.csv"));
    assert_int_equal(app_plot_loads(folder, 2, missing, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "no such file: No such file"));
    assert_int_not_equal(access(path_of("plots.gp"), F_OK), 0);
    /* A file cannot be a folder. */
    (void)snprintf(nowhere, sizeof nowhere, "%s/none", loads);
    assert_int_equal(app_plot_loads(nowhere, 1, missing, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "loads.csv"));
}

/* Nobody writes into the pipe: waiting would be forever, so the test would run into its time limit. */
static void a_pipe_is_refused_without_waiting(void **state)
{
    app_loads loads = {.ranks = -7};
    eqp_message message = {""};

    (void)state;
    assert_int_equal(unlink(path_of("loads.csv")), 0);
    assert_int_equal(mkfifo(path_of("loads.csv"), 0600), 0);
    assert_int_equal(app_loads_read(path_of("loads.csv"), NULL, &loads, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "not a regular file"));
    assert_int_equal(loads.ranks, -7);
}

static void loads_that_add_up_to_infinity_are_refused(void **state)
{
    app_loads loads = {.ranks = -7};
    eqp_message message = {""};
    FILE *file = fopen(path_of("loads.csv"), "w");

    (void)state;
    assert_non_null(file);
    assert_true(fputs("step,rank,load,predicted\n0,0,1e308,\n0,1,1e308,\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(app_loads_read(path_of("loads.csv"), NULL, &loads, &message), EQP_ERR_DATA);
    assert_non_null(strstr(message.text, "line 3: the loads add up"));
    assert_int_equal(loads.ranks, -7);
}

static void a_long_name_loses_its_middle(void **state)
{
    static char text[20000];
    char loads[512];
    const app_plot_series series[] = {
        {"a very long name of a run with the same beginning, number one", loads},
        {"ééééééééééééééééééééééééééééé a name in letters of two bytes", loads},
    };
    eqp_message message = {""};
    int code;

    (void)state;
    (void)snprintf(loads, sizeof loads, "%s", path_of("loads.csv"));
    code = app_plot_loads(folder, 2, series, &message);
    assert_true(code == EQP_OK || code == EQP_ERR_UNKNOWN);
    (void)read_start("plots.gp", sizeof text, text);
    assert_non_null(strstr(text, "label[1] = \"a very long name of ...eginning, number one\""));
    assert_non_null(strstr(text, "label[2] = \"éééééééééé...letters of two bytes\""));
}

#define WITH_LOADS(test) cmocka_unit_test_setup_teardown(test, make_loads, remove_loads)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_LOADS(a_file_tells_ranks_steps_and_ranges),    WITH_LOADS(a_last_step_without_all_ranks_is_left_out),
        WITH_LOADS(a_damaged_file_leaves_the_result_alone), WITH_LOADS(plots_are_drawn_twice_each),
        WITH_LOADS(without_gnuplot_the_script_remains),     WITH_LOADS(mistakes_are_named_and_nothing_is_written),
        WITH_LOADS(a_pipe_is_refused_without_waiting),      WITH_LOADS(loads_that_add_up_to_infinity_are_refused),
        WITH_LOADS(a_long_name_loses_its_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
