/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a step that the first forces need as well, and what they share. A rank that fails keeps its code in
 * sim->code and goes on through the rest of the step. */
#ifndef BH_STEP_H
#define BH_STEP_H

#include "simulation.h"

/* step.c */

/* Half a kick for all particles whose step begins or ends at this tick. Local. */
void bh_step_kick(bh_simulation *sim);

/* New rungs for all particles whose step ends at this tick, as sim->on_rung counts them. Local. */
void bh_step_choose_rungs(bh_simulation *sim);

/* The forces on all particles whose step ends at this tick; at the end of the step also the balancer's survey for the
 * next map. Collective. */
void bh_step_forces(bh_simulation *sim);

/* From the tree of this tick to the forces of the end of the step. Where ranks agree that one has failed, all stop at
 * that tick with its code. Collective. */
void bh_step_finish(bh_simulation *sim);

/* balance.c: where the ranks of a step meet */

/* Bounds of all particles and counts of rungs at the next tick, as bh_rungs_bounds() (low NULL: not wanted) and, with
 * rungs, bh_rungs_count() find them for this rank's particles. kick: missing from the velocities of rung 0. Local. */
void bh_predict(const bh_simulation *sim, double kick, double low[6], double *on_rung);

/* Sums both over all ranks into sim->bound and sim->on_rung; sim->code becomes that of all ranks. Collective. */
void bh_agree_on_rungs(bh_simulation *sim);

/* True if homes, groups and cells can stay as they are for the forces of this tick; the same on any number of ranks. */
bool bh_tree_may_drift(const bh_simulation *sim);

/* The clock advances, the balancer learns the step's costs. A step that failed leaves the clock as it was; one that a
 * signal ended leaves a state that a restart file can hold. Collective; the code is that of all ranks. */
int bh_agree_on_record(bh_simulation *sim, eqp_message *message);

/* The code and line of a failed step for all ranks. code: as they know it so far. Collective. */
int bh_agree_on_failure(bh_simulation *sim, int code, eqp_message *message);

/* balance.c: the step and its balancer */

/* A new map for the particles where they are; they migrate accordingly before the next forces. Collective. */
int bh_balance_map(bh_simulation *sim, eqp_message *message);

/* The same before a step, if the balancer is due; otherwise it is told how many steps are left. Collective. */
int bh_balance_ask(bh_simulation *sim, eqp_message *message);

/* The root cube has changed: homes follow the map again. Collective; the code is that of all ranks. */
int bh_balance_follow(bh_simulation *sim);

/* Adds one evaluation of the forces to the step's costs. Local. */
void bh_balance_add(bh_simulation *sim, const bh_evaluated *one);

/* Reports the step's costs to the balancer and fills sim->now. kick: missing from the velocities. Returns the code of
 * all ranks, among them those of sim->code. Collective. */
int bh_balance_record(bh_simulation *sim, double kick, eqp_message *message);

#endif
