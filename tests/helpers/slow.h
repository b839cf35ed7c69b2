/* SPDX-License-Identifier: BSD-3-Clause */
/* Sanitizers and memcheck check memory, for which a few points and steps suffice. */
#ifndef EQP_TEST_SLOW_H
#define EQP_TEST_SLOW_H

#include <stdbool.h>
#include <stdlib.h>

/* True under memcheck: scripts/test sets the variable. */
static inline bool memcheck_here(void)
{
    return getenv("EQP_BELOW_VALGRIND") != NULL;
}

/* True under a sanitizer or memcheck. */
static inline bool slow_here(void)
{
#ifdef EQP_SANITIZED
    return true;
#else
    return memcheck_here();
#endif
}

#endif
