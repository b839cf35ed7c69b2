/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes on their way through one time step: a predicted position, corrections, the way back after a signal. */
#ifndef DD_MOTION_H
#define DD_MOTION_H

#include "simulation.h"

/* Own nodes at the start (0) and at the end (1) of the time step. */
typedef struct dd_motion {
    int64_t n;
    double *x0, *v0, *x1, *v1, *guess; /* [n][3] owned */
    dd_segment *before;                /* [own segments] at the start; owned */
    dd_stepper stepper;                /* at the start */
} dd_motion;

/* Notes where the nodes are and predicts where they go. sim->failed is set if this rank is out of memory; the motion is
 * freed by dd_motion_end() in any case. Local. EQP_ERR_DATA on all ranks if a speed is not finite. */
int dd_motion_begin(dd_simulation *sim, dd_motion *motion);

/* Moves the nodes to their new positions, which stay unfolded. Local. */
void dd_motion_place(dd_simulation *sim, const dd_motion *motion);

/* Decides by the largest error of all ranks whether the time step holds, and if not where the nodes are tried
 * next. The velocities belong to the new positions. Collective. EQP_ERR_STATE if no time step is short enough, else the
 * code of a rank that has failed. */
int dd_motion_judge(dd_simulation *sim, dd_motion *motion, dd_verdict *verdict);

/* strain: six components of the plastic strain by this rank's segments, three of the spin; set if code is EQP_OK. After
 * EQP_ERR_STOPPED nodes and stepper are as they were before the step. Local. */
void dd_motion_end(dd_simulation *sim, dd_motion *motion, int code, double strain[9]);

/* Velocities of the own nodes, by the mobility law, from the forces on their arms. Local. EQP_OK or EQP_ERR_MEMORY. */
int dd_motion_velocities(dd_simulation *sim);

#endif
