/* SPDX-License-Identifier: BSD-3-Clause */
/* The balancer of a run: when it is asked, moving nodes to a new map, and recording the cost of a step. */
#ifndef DD_BALANCE_H
#define DD_BALANCE_H

#include "../domain.h"
#include "../files/input.h"
#include "../simulation.h"

#include <equipoise/more/methods.h>

/* Creates the balancer of a run by its settings. Collective; a line on error. */
int dd_balance_create(dd_simulation *sim, eqp_message *message);

/* First homes of the nodes, before any forces: equal boxes, equal counts along the curve, or the homes of the restart
 * file. Collective. */
int dd_balance_begin(dd_simulation *sim, eqp_message *message);

/* First map by work, after the first forces; nodes move with their forces. *made is false if the method does not weigh
 * or the restart file has the map. Collective. */
int dd_balance_weigh(dd_simulation *sim, bool *made, eqp_message *message);

/* Before a step: makes a new map or moves walls if due, and moves the nodes. Collective. */
int dd_balance(dd_simulation *sim, eqp_message *message);

/* Nodes that have left the box of their rank move to the rank whose box they are in; without boxes nothing happens.
 * sim->failed is this rank's code. Collective. */
void dd_balance_follow(dd_simulation *sim);

/* After a step: passes its work to the balancer, sim->now and sim->row. Returns sim->failed of any rank. Collective. */
int dd_balance_record(dd_simulation *sim);

/* ---- The state of balance as comments of a restart's control file: homes of nodes, shared nodes, the balancer's
 * state. A run on the same number of ranks by the same method continues from it. Walls are not included. */

/* Comment lines for the control file: owned by the caller. O(nodes of all ranks) memory. Collective. */
int dd_resume_write(const dd_simulation *sim, char **lines);

/* Reads the state from the restart file; sets sim->resumes if it has homes of nodes. EQP_ERR_FORMAT with a message that
 * names the damage. Local; the same on all ranks. */
int dd_resume_take(dd_simulation *sim, eqp_message *message);

/* Restores the balancer's state a second time, after the first forces were recorded, if the file's last step included
 * them. Local; the same on all ranks. */
int dd_resume_again(dd_simulation *sim);

/* ---- The balancers of ParaDiS: nodes live in boxes whose walls follow the measured load (equipoise/boxes.h). */

/* Creates nparts equal boxes, by the control file's numbers of domains if their product is nparts. bisection: else
 * sectioning. Local. */
int dd_walls_create(const dd_domain *domain, int nparts, const eqp_paradis_control *control, bool bisection,
                    eqp_boxes **boxes);

/* Walls that move after a step (cycle), counted from 1 in the first run. Every DLBfreq cycles bisection moves all of
 * them (0), and sectioning begins a round: x (0), in the next cycle y (1), then z (2). -1: none. As in ParaDiS,
 * sectioning never moves y with a DLBfreq of 1, and never z with 2. */
int dd_walls_turn(bool bisection, int64_t every, int64_t step);

/* Moves the walls by the loads [boxes]. cells: of the grid. turn: the direction that sectioning moves; -1: the next
 * one. Local. */
int dd_walls_move(const dd_domain *domain, const int64_t cells[3], const double *loads, int turn, eqp_boxes *boxes);
#endif
