/* SPDX-License-Identifier: BSD-3-Clause */
/* Velocities from forces, and one step of motion. */
#ifndef DD_ADVANCE_H
#define DD_ADVANCE_H

#include "../physics/motion/loading.h"
#include "../physics/motion/mobility.h"
#include "../physics/motion/step.h"
#include "evaluate.h"

/* What moves, and by which laws (all borrowed). */
typedef struct dd_motion {
    dd_domain *domain;
    dd_halo *halo;
    dd_stage *stage;
    dd_evaluator *evaluator;
    const dd_mobility *mobility;
    dd_stepper *stepper;
} dd_motion;

/* Takes in what an evaluation did, for those that count work. */
typedef void (*dd_evaluated_fn)(void *user);

/* Velocities of the own nodes from the forces on their arms and positions as of the last refresh. Local. EQP_OK or
 * EQP_ERR_MEMORY. */
int dd_advance_velocities(const dd_motion *motion);

/* Moves the nodes by one step from positions and velocities that belong together; positions stay unfolded. evaluated is
 * called after each evaluation of the forces. code: of this rank so far; all ranks return that of one that has failed.
 * fastest: node of all ranks, speed. strain: what the segments of this rank gave, six numbers, and three of the plastic
 * spin. Collective. EQP_ERR_STATE where no step is short enough; EQP_ERR_STOPPED after a signal, with positions and
 * stepper as before. */
int dd_advance(const dd_motion *motion, int code, double fastest, dd_evaluated_fn evaluated, void *user,
               double strain[9]);

#endif
