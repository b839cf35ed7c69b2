/* SPDX-License-Identifier: BSD-3-Clause */
/* Sanitizers and memcheck look at memory: a few points and steps show it to them as well as many, in a fraction of the
 * time, and what is accurate stays so. */
#ifndef EQP_TEST_SLOW_H
#define EQP_TEST_SLOW_H

#include <stdbool.h>
#include <stdlib.h>

/* True below memcheck: scripts/test sets the variable. */
static inline bool memcheck_here(void)
{
    return getenv("EQP_BELOW_VALGRIND") != NULL;
}

/* True below a sanitizer or memcheck. */
static inline bool slow_here(void)
{
#ifdef EQP_SANITIZED
    return true;
#else
    return memcheck_here();
#endif
}

#endif
