/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by tests of numbers. */
#ifndef EQP_TEST_NUMERIC_H
#define EQP_TEST_NUMERIC_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) {
        fail_msg("%.17g is not within %g of %.17g", a, tolerance, b);
    }
}

/* Fixed pseudo-random numbers in [0, 1). */
static inline double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

#endif
