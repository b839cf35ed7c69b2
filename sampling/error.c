/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/error.h>

const char *eqp_error_text(int code)
{
    switch (code) {
#define EQP_ERROR_CASE(name, value, text)                                                                              \
    case value:                                                                                                        \
        return text;
        EQP_ERRORS(EQP_ERROR_CASE)
#undef EQP_ERROR_CASE
    default:
        return "unknown error";
    }
}
