/* SPDX-License-Identifier: BSD-3-Clause */
/* Lower bounds of the largest load, and the method that comes nearest to them. */
#ifndef RF_BOUNDS_H
#define RF_BOUNDS_H

#include "problem.h"

typedef struct rf_bound {
    double load;     /* no map has a smaller largest load, summed over the phases of a cycle; as the trace counts */
    const char *why; /* static: the reason */
} rf_bound;

/* EQP_OK, EQP_ERR_MEMORY. O(n log n + nparts log nparts) for each phase. */
int rf_bound_find(const rf_problem *problem, int nparts, rf_bound *bound);

/* eqp_problem.assign of the methods of rf_methods: every rank makes the same map and says its piece of it. */
int rf_bound_assign(void *user, const eqp_method *method, int nparts, const double *speed, int64_t n,
                    const double *centre, const double *seconds, int *part);

#endif
