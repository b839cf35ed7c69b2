/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a step shared with the first forces. A rank that fails keeps its code in sim->code and continues through the
 * step. */
#ifndef BH_STEP_H
#define BH_STEP_H

#include "simulation.h"

/* step.c */

/* Half a kick for all particles whose step begins or ends at this tick. Local. */
void bh_step_kick(bh_simulation *sim);

/* New rungs for all particles whose step ends at this tick, as sim->on_rung counts them. Local. */
void bh_step_choose_rungs(bh_simulation *sim);

/* Forces on all particles whose step ends at this tick; at the end of the step also the balancer's survey for the next
 * map. Collective. */
void bh_step_forces(bh_simulation *sim);

/* From this tick's tree to the forces at the end of the step. If ranks agree that one has failed, all stop at that tick
 * with its code. Collective. */
void bh_step_finish(bh_simulation *sim);

/* balance.c: collective calls of a step */

/* Bounds of all particles and counts of rungs at the next tick for this rank's particles, by bh_rungs_bounds() (low
 * NULL: skipped) and, with rungs, bh_rungs_count(). kick: missing from the velocities of rung 0. Local. */
void bh_predict(const bh_simulation *sim, double kick, double low[6], double *on_rung);

/* Reduces both over all ranks into sim->bound and sim->on_rung; sim->code becomes that of all ranks. Collective. */
void bh_agree_on_rungs(bh_simulation *sim);

/* True if homes, groups and cells can stay for the forces of this tick; the same on any number of ranks. */
bool bh_tree_may_drift(const bh_simulation *sim);

/* Advances the clock and reports the step's costs to the balancer. A failed step leaves the clock; a step stopped by a
 * signal leaves a state that a restart file can hold. Collective; the code of all ranks. */
int bh_agree_on_record(bh_simulation *sim, eqp_message *message);

/* Gives all ranks the code and message of a failed step. code: as known to all so far. Collective. */
int bh_agree_on_failure(bh_simulation *sim, int code, eqp_message *message);

/* balance.c: the balancer within a step */

/* Makes a new map for the present particles; they migrate before the next forces. Collective. */
int bh_balance_map(bh_simulation *sim, eqp_message *message);

/* The same before a step, if the balancer is due; otherwise tells it the number of remaining steps. Collective. */
int bh_balance_ask(bh_simulation *sim, eqp_message *message);

/* Homes follow the map again after the root cube changed. Collective; the code of all ranks. */
int bh_balance_follow(bh_simulation *sim);

/* Adds a force evaluation to the step's costs. Local. */
void bh_balance_add(bh_simulation *sim, const bh_evaluated *one);

/* Reports the step's costs to the balancer and fills sim->now. kick: missing from the velocities. Returns the code of
 * all ranks, sim->code included. Collective. */
int bh_balance_record(bh_simulation *sim, double kick, eqp_message *message);

#endif
