/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LOAD_TIMINGS_H
#define LOAD_TIMINGS_H

#include <equipoise/survey.h>

/* A batch of work and the CPU seconds that it took. */
typedef struct eqp_timing {
    int64_t count[EQP_COST_KINDS];
    double seconds;
} eqp_timing;

struct eqp_timings {
    int nkinds;
    int64_t n, capacity;
    eqp_timing *timing; /* owned */
};

#endif
