/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <equipoise/error.h>

static void every_code_has_its_own_text(void **state)
{
    static const int codes[] = {
#define CODE(name, value, text) value,
        EQP_ERRORS(CODE)
#undef CODE
    };
    int n = (int)(sizeof codes / sizeof codes[0]);

    (void)state;
    for (int i = 0; i < n; i++) {
        assert_true(codes[i] <= 0);
        for (int j = 0; j < i; j++) {
            assert_int_not_equal(codes[i], codes[j]);
            assert_string_not_equal(eqp_error_text(codes[i]), eqp_error_text(codes[j]));
        }
    }
}

static void a_number_that_is_no_code_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(eqp_error_text(12345), "unknown error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_own_text),
        cmocka_unit_test(a_number_that_is_no_code_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
