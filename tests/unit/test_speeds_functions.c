/* SPDX-License-Identifier: BSD-3-Clause */
/* Declared speed functions: parsing, refusals, failing allocations here and in divisions. */
#include "failing_malloc.h"
#include "models/speeds.h"
#include "speeds_world.h"

#include <locale.h>

FREES(eqp_speeds_functions, eqp_speeds_functions_free)

TEST(points_are_read_and_joined_by_lines)
{
    FREED(eqp_speeds_functions) *f = declare("# two ranks\n\n0 100 50\r\n0\t200   25 # slower\n  1 0 1e1\n1 10 2.5e+1");

    assert_int_equal(eqp_speeds_functions_ranks(f), 2);
    assert_true(declared_seconds(f, 0, 0) == 0.0);
    assert_near(declared_seconds(f, 0, 50), 1.0, 1e-15);
    assert_near(declared_seconds(f, 0, 100), 2.0, 1e-15);
    assert_near(declared_seconds(f, 0, 150), 4.0, 1e-15);
    assert_near(declared_seconds(f, 0, 200), 8.0, 1e-15);
    assert_near(declared_seconds(f, 0, 1000), 40.0, 1e-15);
    assert_near(declared_seconds(f, 1, 4), 0.25, 1e-15);
}

TEST(questions_beyond_the_functions_are_refused)
{
    FREED(eqp_speeds_functions) *f = declare("0 1 1\n");
    double seconds = -7.0;

    assert_refused(eqp_speeds_functions_seconds(f, 1, 1, &seconds));
    assert_refused(eqp_speeds_functions_seconds(f, -1, 1, &seconds));
    assert_refused(eqp_speeds_functions_seconds(f, 0, -1, &seconds));
    assert_refused(eqp_speeds_functions_seconds(f, 0, NAN, &seconds));
    assert_refused(eqp_speeds_functions_seconds(f, 0, INFINITY, &seconds));
    assert_true(seconds == -7.0);
}

TEST(hostile_texts_are_refused_with_a_line)
{
    static const struct {
        const char *text;
        int code;
        const char *word;
    } wrong[] = {
        {"", EQP_ERR_FORMAT, "no speed function"},
        {"# nothing\n\n", EQP_ERR_FORMAT, "no speed function"},
        {"0 1\n", EQP_ERR_FORMAT, "x:1:"},
        {"0 1 2 3\n", EQP_ERR_FORMAT, "x:1:"},
        {"0 1 1\n0 2\n", EQP_ERR_FORMAT, "x:2:"},
        {"0 1 nan\n", EQP_ERR_FORMAT, "nan"},
        {"0 inf 1\n", EQP_ERR_FORMAT, "inf"},
        {"0 0x10 1\n", EQP_ERR_FORMAT, "0x10"},
        {"0 1 1,5\n", EQP_ERR_FORMAT, "1,5"},
        {"0 1 1e\n", EQP_ERR_FORMAT, "1e"},
        {"0 1 -\n", EQP_ERR_FORMAT, "-"},
        {"0 1 0\n", EQP_ERR_DATA, "> 0"},
        {"0 1 -5\n", EQP_ERR_DATA, "> 0"},
        {"0 1 1e31\n", EQP_ERR_DATA, "1e30"},
        {"0 1 1e999\n", EQP_ERR_DATA, "1e30"},
        {"0 1 1e-400\n", EQP_ERR_DATA, "> 0"},
        {"0 -1 1\n", EQP_ERR_DATA, "2^53"},
        {"0 1e300 1\n", EQP_ERR_DATA, "2^53"},
        {"1 1 1\n", EQP_ERR_DATA, "gap"},
        {"0 1 1\n2 1 1\n", EQP_ERR_DATA, "gap"},
        {"0 1 1\n1 1 1\n0 2 1\n", EQP_ERR_DATA, "together"},
        {"-1 1 1\n", EQP_ERR_DATA, "rank"},
        {"0.5 1 1\n", EQP_ERR_DATA, "rank"},
        {"1e300 1 1\n", EQP_ERR_DATA, "rank"},
        {"65536 1 1\n", EQP_ERR_DATA, "rank"},
        {"0 1 1\n0 1 1\n", EQP_ERR_DATA, "increase"},
        {"0 2 1\n0 1 1\n", EQP_ERR_DATA, "increase"},
        {"0 1 0000000000000000000000000000000000000000000000000000000000000000001\n", EQP_ERR_FORMAT, "x:1:"},
        {"\x7f\x45LF \x01 \x02\n", EQP_ERR_FORMAT, "not a number"},
    };
    eqp_speeds_functions *functions = NULL;

    for (int i = 0; i < COUNT_OF(wrong); i++) {
        eqp_message message = {""};
        const int64_t length = (int64_t)strlen(wrong[i].text);

        assert_int_equal(eqp_speeds_functions_parse(wrong[i].text, length, "x", &functions, &message), wrong[i].code);
        assert_null(functions);
        if (!strstr(message.text, wrong[i].word) || strncmp(message.text, "x:", 2) != 0) {
            fail_msg("'%s' does not say '%s'", message.text, wrong[i].word);
        }
        assert_int_equal(eqp_speeds_functions_parse(wrong[i].text, length, "x", &functions, NULL), wrong[i].code);
    }
    assert_int_equal(eqp_speeds_functions_parse("0 1 1\n0 2 \0001\n", 13, "x", &functions, NULL), EQP_ERR_FORMAT);
    assert_refused(eqp_speeds_functions_parse("0 1 1\n", -1, "x", &functions, NULL));
    assert_null(functions);
}

TEST(a_text_may_end_anywhere)
{
    static const char whole[] = "0 10 1.5\n0 20 2\n1 10 3 # end\n";
    eqp_speeds_functions *f;

    for (int64_t length = 0; length < (int64_t)sizeof whole; length++) {
        eqp_message message = {""};
        HEAP char *copy = malloc((size_t)length + 1);

        /* On the heap, so that sanitizers detect reads past the end. */
        f = NULL;
        memcpy(copy, whole, (size_t)length);
        const int code = eqp_speeds_functions_parse(copy, length, "x", &f, &message);
        assert_true((code == EQP_OK) == (f != NULL));
        assert_true(code == EQP_OK || message.text[0]);
        eqp_speeds_functions_free(f);
    }
}

TEST(numbers_do_not_depend_on_the_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};

    /* Any available locale with a decimal comma; else the C locale. */
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !setlocale(LC_ALL, names[i]); i++) {
    }
    FREED(eqp_speeds_functions) *f = declare("0 10.5 1.5\n");
    setlocale(LC_ALL, "C");
    assert_near(declared_seconds(f, 0, 3), 2.0, 1e-15);
}

TEST(files_are_read_or_refused)
{
    char path[] = "/tmp/equipoise-speeds-XXXXXX";
    const int file = mkstemp(path);
    eqp_speeds_functions *f = NULL;
    eqp_message message = {""};

    assert_true(file >= 0);
    assert_int_equal(write(file, "0 1 2\n", 6), 6);
    close(file);
    assert_ok(eqp_speeds_functions_read(path, &f, &message));
    assert_near(declared_seconds(f, 0, 4), 2.0, 1e-15);
    eqp_speeds_functions_free(f);
    f = NULL;
    unlink(path);
    assert_int_equal(eqp_speeds_functions_read(path, &f, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, path));
    assert_int_equal(eqp_speeds_functions_read("/tmp", &f, &message), EQP_ERR_IO);
    assert_int_equal(eqp_speeds_functions_read("/dev/zero", &f, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "is not a regular file"));
    assert_null(f);
}

TEST(reading_survives_failing_allocations)
{
    static const char text[] = "0 1 1\n0 2 1\n1 1 1\n2 1 1\n";
    int64_t k = 0;

    SKIP_IF(!failing_malloc_works);
    eqp_speeds_functions *f = NULL;
    eqp_message message = {""};
    int code;
    for (; FAILING_MALLOC(k, code = eqp_speeds_functions_parse(text, sizeof text - 1, "x", &f, &message)); k++) {
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_null(f);
        assert_true(message.text[0]);
        message.text[0] = '\0';
    }
    assert_ok(code);
    eqp_speeds_functions_free(f);
    assert_true(k >= 4);
}

TEST(dividing_survives_failing_allocations)
{
    SKIP_IF(!failing_malloc_works);
    for (eqp_speeds_kind kind = EQP_SPEEDS_CONSTANT; kind <= EQP_SPEEDS_AKIMA; kind++) {
        int64_t k = 0;

        for (;; k++) {
            int64_t share[3] = {-1, -1, -1};
            eqp_speeds_result result = {.evaluations = -7};
            eqp_speeds *speeds = NULL;

            failing_malloc_start(k);
            int code = eqp_speeds_create(kind, 3, 100, &speeds);
            for (int r = 0; r < 3 && !code; r++) {
                code = eqp__speeds_add(speeds, r, 33, 1 + r);
            }
            code = code ? code : eqp_speeds_share(speeds, share, &result);
            const int64_t failures = failing_malloc_stop();
            eqp_speeds_free(speeds);
            if (!failures) {
                assert_ok(code);
                break;
            }
            assert_int_equal(code, EQP_ERR_MEMORY);
            assert_true(share[0] == -1 && share[1] == -1 && share[2] == -1 && result.evaluations == -7);
        }
        assert_true(k >= (kind == EQP_SPEEDS_AKIMA ? 10 : 7));
    }
}
