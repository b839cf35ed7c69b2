/* SPDX-License-Identifier: BSD-3-Clause */
/* When shares need not change any more. */
#ifndef SPEEDS_SETTLED_H
#define SPEEDS_SETTLED_H

#include <equipoise/speeds.h>

#include <stdbool.h>

typedef struct speeds_iteration {
    int nranks;
    int64_t n;                             /* items */
    const eqp_speeds_functions *functions; /* NULL: times are measured, nobody knows what another share would take */
    const int64_t *share;                  /* [nranks] */
    const int64_t *last_share;             /* [nranks] of the iteration before; NULL in the first one */
    const double *seconds;                 /* [nranks] */
    double spread;                         /* of eqp_speeds_spread() */
} speeds_iteration;

/* Whether the times differ by no more than the tolerance, nobody being idle for whom there is an item; or whether the
 * shares stay, and whole items cannot be shared more evenly. */
bool speeds_settled(const speeds_iteration *it, double tolerance);

#endif
