/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQP_TEST_NUMERIC_H
#define EQP_TEST_NUMERIC_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_near(value, wanted, by) check_near((value), (wanted), (by), __FILE__, __LINE__)
static inline void check_near(double value, double wanted, double by, const char *file, int line)
{
    if (!(fabs(value - wanted) <= by)) {
        print_error("%.17g is not within %g of %.17g\n", value, by, wanted);
        _fail(file, line);
    }
}

/* Fixed pseudo-random numbers in [0, 1). */
static inline double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

#endif
