/* SPDX-License-Identifier: BSD-3-Clause */
/* All exchange plans, including plans that coincide on few ranks: stages x broadcast x one or two ranks per node. */
#ifndef EQP_MPI_EVERY_PLAN_H
#define EQP_MPI_EVERY_PLAN_H

#include <equipoise/problem.h>

enum { EVERY_PLAN = 18 };

/* For an even number of ranks. */
static inline void every_plan(eqp_exchange_plan plan[EVERY_PLAN])
{
    static const int broadcast[] = {0, 4, 16};

    for (int i = 0; i < EVERY_PLAN; i++) {
        plan[i] = (eqp_exchange_plan){(eqp_stages)(i % 3), broadcast[i / 3 % 3], 1 + i / 9};
    }
}

#endif
