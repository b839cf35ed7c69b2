/* SPDX-License-Identifier: BSD-3-Clause */
/* How the weights of vertices change over the steps: the same for any number of ranks, as the weight of a vertex
 * follows from its number, its place and the step. */
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

/* Weights by loads that nranks ranks had in nsteps steps, load [nsteps][nranks] (copied), at step 0: each of these
 * ranks is represented by an equal number of vertices along the curve. Their mean weight over all recorded steps is 1.
 * After its last step the record stands still. EQP_OK; EQP_ERR_ARGUMENT for a load that is not finite or < 0, or if all
 * loads are 0; EQP_ERR_MEMORY. */
int lb_scenario_replay(int nranks, int64_t nsteps, const double *load, lb_scenario **scenario);

void lb_scenario_free(lb_scenario *scenario);

/* Goes on to a step, which is no earlier than the present one. */
void lb_scenario_go(lb_scenario *scenario, int64_t step);

/* Weight of vertex `id` of n in the present step, in thousandths: base times what the scenario makes of it. */
int64_t lb_scenario_weight(const lb_scenario *scenario, int64_t id, int64_t n, const double centre[3], double base);

#endif
