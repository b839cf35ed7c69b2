/* SPDX-License-Identifier: BSD-3-Clause */

#include <equipoise/more/base.h>
#include <equipoise/survey.h>
#include <equipoise/version.h>

#include "failing_malloc.h"
#include "fake_clock.h"
#include "unit.h"

TEST(a_message_is_one_line)
{
    eqp_message message = {"old"};

    eqp_message_set(NULL, "%d", 1);
    eqp_message_set(&message, "%s: %d of %d", "file", 3, 4);
    assert_string_equal(message.text, "file: 3 of 4");
    eqp_message_set(&message, "outer: %s", message.text); /* it may contain itself */
    assert_string_equal(message.text, "outer: file: 3 of 4");
    eqp_message_set(&message, "a\nb\tc\rd\x1b[31m\x7f \xc3\xa9");
    assert_string_equal(message.text, "a?b?c?d?[31m? \xc3\xa9");
    /* C1 as a character and as a byte, direction overrides, an isolate, a line separator, a byte-order mark, half a
     * character; letters and marks of other scripts are kept. */
    eqp_message_set(
        &message,
        "\xc2\x9b\x9b|\xe2\x80\xae|\xe2\x81\xa7|\xe2\x80\xa8|\xef\xbb\xbf|\xc3|\xd9\x84\xe6\xbc\xa2\xf0\x9f\x8c\x8c");
    assert_string_equal(message.text, "??|?|?|?|?|?|\xd9\x84\xe6\xbc\xa2\xf0\x9f\x8c\x8c");
}

TEST(a_long_message_is_cut_between_characters)
{
    eqp_message message;
    char text[700];

    for (size_t offset = 0; offset < 3; offset++) {
        memset(text, 'x', sizeof text);
        /* Three-byte characters throughout, so the cut meets each of their bytes. */
        for (size_t i = offset; i + 3 < sizeof text; i += 3) {
            memcpy(text + i, "\xe2\x82\xac", 3);
        }
        text[sizeof text - 1] = '\0';
        eqp_message_set(&message, "%s", text);
        size_t length = strlen(message.text);
        assert_in_range(length, sizeof message.text - 4, sizeof message.text - 1);
        assert_string_equal(message.text + length - 3, "...");
        assert_int_equal((length - 3 - offset) % 3, 0);
        assert_memory_equal(message.text, text, length - 3);
    }
    memset(text, 'y', sizeof text);
    text[sizeof message.text - 1] = '\0';
    eqp_message_set(&message, "%s", text); /* the longest one that is whole */
    assert_string_equal(message.text, text);
}

TEST(bytes_are_checked)
{
    size_t bytes = 7;

    assert_refused(eqp_array_bytes(-1, 8, &bytes));
    assert_refused(eqp_array_bytes(1, 0, &bytes));
    assert_int_equal(eqp_array_bytes(INT64_MAX, 2, &bytes), EQP_ERR_OVERFLOW);
    assert_int_equal(eqp_array_bytes(PTRDIFF_MAX / 8 + 1, 8, &bytes), EQP_ERR_OVERFLOW);
    assert_int_equal(bytes, 7);
    assert_ok(eqp_array_bytes(PTRDIFF_MAX / 8, 8, &bytes));
    assert_int_equal(bytes, PTRDIFF_MAX / 8 * 8);
    assert_ok(eqp_array_bytes(0, 8, &bytes));
    assert_int_equal(bytes, 0);
}

TEST(a_new_array_is_zero)
{
    double *a = NULL;

    assert_ok(eqp_array_create(&a, 100, sizeof *a));
    for (int i = 0; i < 100; i++) {
        assert_true(a[i] == 0.0);
    }
    free(a);
    a = NULL;
    assert_ok(eqp_array_create(&a, 0, sizeof *a));
    assert_non_null(a);
    free(a);
}

TEST(a_growing_array_keeps_its_items)
{
    int64_t *a = NULL, capacity = 0;
    int moves = 0;

    for (int64_t i = 0; i < 100000; i++) {
        int64_t before = capacity;

        assert_ok(eqp_array_reserve(&a, &capacity, i + 1, sizeof *a));
        assert_true(capacity > i);
        moves += capacity != before;
        a[i] = i * i;
    }
    for (int64_t i = 0; i < 100000; i++) {
        assert_true(a[i] == i * i);
    }
    assert_in_range(moves, 2, 40);
    /* A request that fits changes nothing. */
    int64_t before = capacity;
    assert_ok(eqp_array_reserve(&a, &capacity, 5, sizeof *a));
    assert_true(capacity == before);
    free(a);
}

TEST(impossible_arrays_change_nothing)
{
    char *a = NULL;
    int64_t capacity = 0;

    assert_int_equal(eqp_array_reserve(&a, &capacity, INT64_MAX, 16), EQP_ERR_OVERFLOW);
    assert_refused(eqp_array_reserve(&a, &capacity, -1, 16));
    assert_int_equal(eqp_array_create(&a, INT64_MAX, 16), EQP_ERR_OVERFLOW);
    assert_null(a);
    assert_true(capacity == 0);
}

TEST(failing_allocations_change_nothing)
{
    int *a = NULL, *old;
    int64_t capacity = 0;

    SKIP_IF(!failing_malloc_works);
    assert_ok(eqp_array_reserve(&a, &capacity, 20, sizeof *a));
    old = a;
    failing_malloc_start(0);
    int grow = eqp_array_reserve(&a, &capacity, 1000, sizeof *a), create = eqp_array_create(&a, 10, sizeof *a);
    assert_int_equal(failing_malloc_stop(), 2);
    assert_int_equal(grow, EQP_ERR_MEMORY);
    assert_int_equal(create, EQP_ERR_MEMORY);
    assert_ptr_equal(a, old);
    assert_true(capacity == 20);
    free(a);
}

TEST(the_version_is_the_projects)
{
    assert_string_equal(eqp_version(), PROJECT_VERSION);
}

TEST(clocks_do_not_go_back)
{
    double cpu = eqp_cpu_seconds(), wall = eqp_wall_seconds();

    assert_true(cpu >= 0.0);
    for (int i = 0; i < 1000; i++) {
        double c = eqp_cpu_seconds(), w = eqp_wall_seconds();

        assert_true(c >= cpu && w >= wall);
        cpu = c;
        wall = w;
    }
}

TEST(a_clock_that_goes_back_has_not_moved)
{
    const double begin = eqp_cpu_seconds();

    assert_true(eqp_cpu_seconds_since(begin) >= 0.0);
    assert_true(eqp_cpu_seconds_since(begin - 3.0) >= 3.0);
    fake_clock_every = 1;
    assert_true(eqp_cpu_seconds() < begin);
    assert_true(eqp_cpu_seconds_since(begin) == 0.0);
    fake_clock_every = 0;
}

static double burn(double seconds)
{
    const double begin = eqp_cpu_seconds();

    while (eqp_cpu_seconds_since(begin) < seconds) {
    }
    return eqp_cpu_seconds_since(begin);
}

TEST(waiting_is_no_work)
{
    const double cpu = eqp_cpu_seconds(), begin = eqp_busy_seconds();
    double busy, waited = 0;

    eqp_wait_begin();
    waited += burn(1e-3);
    eqp_wait_begin();
    assert_true(eqp_busy_seconds() - begin <= eqp_cpu_seconds_since(cpu) - waited);
    waited += burn(1e-3);
    eqp_wait_end();
    waited += burn(1e-3);
    eqp_wait_end();
    busy = burn(1e-3);
    assert_true(eqp_busy_seconds() - begin >= busy);
    assert_true(eqp_busy_seconds() - begin <= eqp_cpu_seconds_since(cpu) - waited);
}
