/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a run asks its balancer, moves nodes as that says, and tells it what a step has cost. */
#ifndef DD_BALANCE_H
#define DD_BALANCE_H

#include "../simulation.h"

/* Creates the balancer of a run by its settings. Collective; a line on error. */
int dd_balance_create(dd_simulation *sim, eqp_message *message);

/* First homes of the nodes, before any forces: equal boxes, equal counts along the curve, or those of the restart file.
 * Collective. */
int dd_balance_begin(dd_simulation *sim, eqp_message *message);

/* The first map by work, after the first forces: moves the nodes, which keep their forces. false in *made where the
 * method does not weigh, or the restart file has the map. Collective. */
int dd_balance_weigh(dd_simulation *sim, bool *made, eqp_message *message);

/* Before a step: a new map or new walls if they are due, with which nodes move to new homes. Collective. */
int dd_balance(dd_simulation *sim, eqp_message *message);

/* Nodes that have left the box of their rank move to the rank whose box they are in; without boxes nothing happens.
 * Collective. */
int dd_balance_follow(dd_simulation *sim);

/* After a step: its work to the balancer and into sim->now and sim->row. Collective; fails with sim->failed of a rank.
 */
int dd_balance_record(dd_simulation *sim);

#endif
