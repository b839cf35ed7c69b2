/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights of vertices over the steps. They follow from number, place and step, so they are the same for any number of
 * ranks. */
#ifndef LB_SCENARIO_H
#define LB_SCENARIO_H

#include "../../recipe/recipe.h"

/* Weights are counted in thousandths, so that sums are exact. */
#define LB_THOUSAND 1000

/* The kinds, for help texts and tests. */
extern const app_recipes lb_scenarios;

typedef struct lb_scenario lb_scenario;

/* Weights by a recipe of that table (copied), at step 0. EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY. */
int lb_scenario_create(const app_recipe *recipe, lb_scenario **scenario);

/* Weights from recorded loads of nranks ranks in nsteps steps, load [nsteps][nranks] (copied), at step 0. Each recorded
 * rank is represented by an equal number of vertices along the curve. Their mean weight over all recorded steps is 1.
 * After the last recorded step weights stay constant. EQP_OK; EQP_ERR_ARGUMENT for a load that is not finite or < 0, or
 * if all loads are 0; EQP_ERR_MEMORY. */
int lb_scenario_replay(int nranks, int64_t nsteps, const double *load, lb_scenario **scenario);

void lb_scenario_free(lb_scenario *scenario);

/* Advances to a step, which must not be earlier than the present one. */
void lb_scenario_go(lb_scenario *scenario, int64_t step);

/* Weight of vertex `id` of n in the present step, in thousandths: base times the scenario's factor. */
int64_t lb_scenario_weight(const lb_scenario *scenario, int64_t id, int64_t n, const double centre[3], double base);

/* Work that only costs time: random accesses to an array, each dependent on the previous one. */

typedef struct lb_work {
    uint64_t *array; /* [1 << bits] */
    int bits;
} lb_work;

/* Creates an array of the largest power of two that is <= `bytes`, >= 16. EQP_OK, EQP_ERR_ARGUMENT or
 * EQP_ERR_MEMORY. */
int lb_work_create(int64_t bytes, lb_work *work);
void lb_work_free(lb_work *work);

/* Accesses the array n times. The result depends on every access, so that the compiler removes none. */
uint64_t lb_work_do(const lb_work *work, int64_t accesses, uint64_t start);

#endif
