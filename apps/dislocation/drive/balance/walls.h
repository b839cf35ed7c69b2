/* SPDX-License-Identifier: BSD-3-Clause */
/* The balancers of ParaDiS: nodes live in boxes whose walls follow the measured load (equipoise/boxes.h). */
#ifndef DD_WALLS_H
#define DD_WALLS_H

#include "../domain.h"
#include "../files/input.h"

#include <equipoise/more/boxes.h>

/* Creates nparts equal boxes, by the control file's numbers of domains if their product is nparts. bisection: else
 * sectioning. Local. */
int dd_walls_create(const dd_domain *domain, int nparts, const eqp_paradis_control *control, bool bisection,
                    eqp_boxes **boxes);

/* The walls that move after a step (cycle), from 1 in the first run on. Every DLBfreq cycles bisection moves all of
 * them (0), and sectioning begins a round: along x (0), in the next cycle y (1), in the one after z (2). -1: none
 * moves. So with a DLBfreq of 1 sectioning never moves y, and with 2 never z, as in ParaDiS. */
int dd_walls_turn(bool bisection, int64_t every, int64_t step);

/* Moves the walls by the loads [boxes]. cells: of the grid. turn: the direction that sectioning moves; -1: the next
 * one. Local. */
int dd_walls_move(const dd_domain *domain, const int64_t cells[3], const double *loads, int turn, eqp_boxes *boxes);

/* The same, by the load of each rank. Collective; every rank gets the same walls. */
int dd_walls_rebalance(const dd_domain *domain, const int64_t cells[3], double load, int turn, eqp_boxes *boxes);

/* Moves nodes to the ranks whose boxes they are in. Collective. */
int dd_walls_settle(dd_domain *domain, const eqp_boxes *boxes, dd_moved *moved);

#endif
