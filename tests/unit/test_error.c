/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <equipoise/error.h>

TEST(every_code_has_its_own_text)
{
    static const int codes[] = {
#define CODE(name, value, text) value,
        EQP_ERRORS(CODE)
#undef CODE
    };
    int n = COUNT_OF(codes);

    for (int i = 0; i < n; i++) {
        assert_true(codes[i] <= 0);
        for (int j = 0; j < i; j++) {
            assert_int_not_equal(codes[i], codes[j]);
            assert_string_not_equal(eqp_error_text(codes[i]), eqp_error_text(codes[j]));
        }
    }
}

TEST(a_number_that_is_no_code_has_a_text)
{
    assert_string_equal(eqp_error_text(12345), "unknown error");
}
