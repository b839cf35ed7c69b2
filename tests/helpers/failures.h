/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that report and count failures instead of ending the test. Include once per program. */
#ifndef EQP_MPI_FAILURES_H
#define EQP_MPI_FAILURES_H

#include <stdio.h>

static int failures; /* on this rank */

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
