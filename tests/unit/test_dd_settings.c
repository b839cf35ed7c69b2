/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of dislocation: what it says wins over parameters that are there already, what it does not say
 * changes nothing, and what makes no sense is refused with the option's name. */
#include "settings.h"

#include <equipoise/more/paradis.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS 8

/* Words after the program's name, up to NULL. */
static int read_line(const char *const *words, dd_settings *settings, eqp_message *message)
{
    char *argv[WORDS + 2] = {(char *)(uintptr_t) "dislocation"};
    app_action action;
    int argc = 1, code;

    while (words[argc - 1] != NULL) {
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
        argc++;
    }
    code = app_options_parse(dd_settings_table(), argc, argv, settings, NULL, &action, message);
    return code == EQP_OK ? dd_settings_complete(settings, message) : code;
}

static void what_is_not_said_changes_nothing(void **state)
{
    const char *const words[WORDS] = {"net.data", "--ctrl", "net.ctrl"};
    eqp_paradis_control before, after;
    dd_settings settings;
    eqp_message message = {""};

    (void)state;
    assert_int_equal(read_line(words, &settings, &message), EQP_OK);
    dd_settings_default_control(&before);
    before.poisson = 0.1;
    before.strain_rate = 4;
    before.cells[1] = 7;
    before.stress[2] = 3;
    after = before;
    dd_settings_override(&settings, &after);
    assert_memory_equal(&before, &after, sizeof before);
    assert_false(dd_settings_given(&settings, "steps"));
    assert_true(dd_settings_given(&settings, "ctrl"));
    assert_int_equal(settings.tile[0] * settings.tile[1] * settings.tile[2], 1);
}

static void what_is_said_wins(void **state)
{
    const char *const words[WORDS] = {"net.data", "--stress=1e6,-2,3,4,5,6", "--cells=4",       "--mobility=BCC_0",
                                      "--nu=0",   "--integrator=euler",      "--strain-rate=0", NULL};
    const char *const more[WORDS] = {"net.data", "--max-seg=500", "--min-seg=50", "--r-tol=2",
                                     "--rann=3", "--dt=1e-3",     "--steps=0",    NULL};
    eqp_paradis_control control;
    dd_settings settings;
    eqp_message message = {""};

    (void)state;
    assert_int_equal(read_line(words, &settings, &message), EQP_OK);
    dd_settings_default_control(&control);
    control.load_type = 0;
    control.strain_rate = 9;
    dd_settings_override(&settings, &control);
    assert_true(control.stress[0] == 1e6 && control.stress[1] == -2 && control.stress[5] == 6);
    assert_true(control.cells[0] == 4 && control.cells[1] == 4 && control.cells[2] == 4);
    assert_string_equal(control.mobility, "BCC_0");
    assert_string_equal(control.integrator, "euler");
    assert_true(control.poisson == 0 && control.strain_rate == 0 && control.load_type == 1);

    assert_int_equal(read_line(more, &settings, &message), EQP_OK);
    dd_settings_default_control(&control);
    dd_settings_override(&settings, &control);
    assert_true(control.max_seg == 500 && control.min_seg == 50);
    assert_true(control.tolerance == 2 && control.annihilation == 3);
    assert_true(control.next_dt == 1e-3 && control.max_dt == 1e-3);
    assert_int_equal(control.steps, 0);
}

static void every_option_has_a_place(void **state)
{
    (void)state;
    assert_true(app_options_count(dd_settings_table()) <= DD_SETTINGS_ROWS);
    for (int i = 0; i < app_options_count(dd_settings_table()); i++) {
        dd_settings settings = {0};
        settings.given[i] = true;
        assert_true(dd_settings_given(&settings, app_options_row(dd_settings_table(), i).name));
    }
}

static void defaults_are_copper(void **state)
{
    eqp_paradis_control control;

    (void)state;
    dd_settings_default_control(&control);
    assert_string_equal(control.mobility, "FCC_0");
    assert_true(control.shear_modulus == 54.6e9 && control.core_radius == 5 && isnan(control.max_seg));
    control.max_seg = 100;
    for (int d = 0; d < 3; d++) {
        control.cells[d] = 3;
    }
    assert_int_equal(eqp_paradis_control_complete(&control, (const double[]){1000, 1000, 1000}, NULL), EQP_OK);
}

static void methods_of_paradis(void **state)
{
    const char *const words[WORDS] = {"net.data", "--balance=sectioning"};
    const char *const other[WORDS] = {"net.data", "--balance", "bisection"};
    dd_settings settings;
    eqp_message message = {""};

    (void)state;
    assert_int_equal(read_line(words, &settings, &message), EQP_OK);
    assert_ptr_equal(settings.run.method, &dd_sectioning);
    assert_int_equal(read_line(other, &settings, &message), EQP_OK);
    assert_ptr_equal(settings.run.method, &dd_bisection);
}

static void nonsense_is_refused(void **state)
{
    static const struct {
        const char *words[WORDS], *named;
    } bad[] = {
        {{"--steps=1"}, "SNAPSHOT"},
        {{"net.data", "--generate=chains"}, "--generate"},
        {{"net.data", "--cells=2"}, "--cells"},
        {{"net.data", "--cells=4,4"}, "--cells"},
        {{"net.data", "--cells=4,4,4,4"}, "--cells"},
        {{"net.data", "--cells=4,4,x"}, "--cells"},
        {{"net.data", "--tile=2"}, "--tile"},
        {{"net.data", "--tile=2,2,0"}, "--tile"},
        {{"net.data", "--tile=2,2,2,2"}, "--tile"},
        {{"net.data", "--stress=1,2,3,4,5"}, "--stress"},
        {{"net.data", "--stress=1,2,3,4,5,6,7"}, "--stress"},
        {{"net.data", "--stress=1,2,3,4,5,"}, "--stress"},
        {{"net.data", "--stress=1,2,nan,4,5,6"}, "--stress"},
        {{"net.data", "--stress="
                      "1111111111111111111111111111111111111111111111111111111111111111111111,2,3,4,5,6"},
         "--stress"},
        {{"net.data", "--nu=0.5"}, "--nu"},
        {{"net.data", "--nu=-1"}, "--nu"},
        {{"net.data", "--max-seg=0"}, "--max-seg"},
        {{"net.data", "--mu=inf"}, "--mu"},
        {{"net.data", "--mobility=HCP"}, "--mobility"},
        {{"net.data", "--isa=sse"}, "--isa"},
        {{"net.data", "--balance=magic"}, "--balance"},
        {{"--generate=heap"}, "--generate"},
        {{"--generate=chains:n=0"}, "--generate"},
        {{"--restart=run", "--ctrl=run.ctrl"}, "--ctrl"},
        {{"--restart=run", "--tile=2,2,2"}, "--tile"},
        {{"net.data", "--output-every=2"}, "--output"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        dd_settings settings;
        eqp_message message = {""};
        int code = read_line(bad[i].words, &settings, &message);
        if (code == EQP_OK || strstr(message.text, bad[i].named) == NULL ||
            strncmp(message.text, "dislocation: ", strlen("dislocation: ")) != 0) {
            fail_msg("%s %s: code %d, '%s'", bad[i].words[0], bad[i].words[1] != NULL ? bad[i].words[1] : "", code,
                     message.text);
        }
    }
}

static void generators_are_listed(void **state)
{
    char *text = NULL;

    (void)state;
    assert_int_equal(app_run_list_recipes(&dd_generators, &text), EQP_OK);
    assert_non_null(strstr(text, "frank-read"));
    assert_non_null(strstr(text, "chains"));
    free(text);
}

static void the_seed_is_the_generators(void **state)
{
    const char *const words[WORDS] = {"--generate=loops", "--seed=77"};
    const char *const own[WORDS] = {"--generate=loops:seed=5", "--seed=77"};
    dd_settings settings;
    eqp_message message = {""};

    (void)state;
    assert_int_equal(read_line(words, &settings, &message), EQP_OK);
    assert_int_equal(settings.generator.seed, 77);
    assert_int_equal(read_line(own, &settings, &message), EQP_OK);
    assert_int_equal(settings.generator.seed, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_said_changes_nothing),
        cmocka_unit_test(what_is_said_wins),
        cmocka_unit_test(every_option_has_a_place),
        cmocka_unit_test(defaults_are_copper),
        cmocka_unit_test(methods_of_paradis),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(generators_are_listed),
        cmocka_unit_test(the_seed_is_the_generators),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
