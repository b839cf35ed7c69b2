/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests that look at all of a run before they give up: what fails is told and counted, and the test goes on. To be
 * included once in a program. */
#ifndef EQP_MPI_FAILURES_H
#define EQP_MPI_FAILURES_H

#include <stdio.h>

static int failures; /* of this rank */

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
        }                                                                                                              \
    } while (0)

#endif
