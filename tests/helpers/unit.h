/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of unit tests: common headers, and TEST(name) { ... }, which defines a test and lists it for main() in the
 * order of definition. A file may set fixtures and unit_next_round. */
#ifndef EQP_TEST_UNIT_H
#define EQP_TEST_UNIT_H

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <equipoise/error.h>

#include "numeric.h"

static struct CMUnitTest unit_test[64];
static size_t unit_tests;
/* Before and after all tests, and each. */
static CMFixtureFunction unit_setup, unit_teardown, unit_before_each, unit_after_each;
/* Prepares the next round of all tests, or returns false after the last one; NULL for a single round. */
static bool (*unit_next_round)(void);

static inline void unit_list(const char *name, CMUnitTestFunction test)
{
    assert(unit_tests < sizeof(unit_test) / sizeof(*unit_test));
    unit_test[unit_tests++] = (struct CMUnitTest){.name = name, .test_func = test};
}

#define TEST(name) UNIT_TEST(name)
#define UNIT_TEST(name)                                                                                                \
    static void name(void **);                                                                                         \
    __attribute__((constructor)) static void name##_is_listed(void)                                                    \
    {                                                                                                                  \
        unit_list(#name, name);                                                                                        \
    }                                                                                                                  \
    static void name(void **unit_state __attribute__((unused)))

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

static inline void unit_free(void *pointer)
{
    free(*(void **)pointer);
}

/* Declares a variable that is freed at the end of its block. */
#define FREED_BY(function) __attribute__((cleanup(function), unused))
#define HEAP FREED_BY(unit_free)

/* After FREES(eqp_thing, eqp_thing_free), FREED(eqp_thing) *thing = ... declares one that its block frees. */
#define FREES(type, free_it)                                                                                           \
    static inline void type##_freed(type **object)                                                                     \
    {                                                                                                                  \
        free_it(*object);                                                                                              \
    }
#define FREED(type) FREED_BY(type##_freed) type

#define assert_ok(call) assert_int_equal(call, EQP_OK)
#define assert_refused(call) assert_int_equal(call, EQP_ERR_ARGUMENT)

#define SKIP_IF(condition)                                                                                             \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

int main(void)
{
    int failed = 0;
    bool again = unit_next_round == NULL || unit_next_round();

    for (size_t i = 0; i < unit_tests; i++) {
        unit_test[i].setup_func = unit_before_each;
        unit_test[i].teardown_func = unit_after_each;
    }
    for (; again; again = unit_next_round != NULL && unit_next_round()) {
        failed += _cmocka_run_group_tests("tests", unit_test, unit_tests, unit_setup, unit_teardown);
    }
    return failed;
}

#endif
