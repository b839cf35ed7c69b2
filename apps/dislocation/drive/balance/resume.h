/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of balance as comments of a restart's control file: homes of nodes, shared nodes, the balancer's state. A
 * run on the same number of ranks by the same method continues from it. Walls are not included. */
#ifndef DD_RESUME_H
#define DD_RESUME_H

#include "../simulation.h"

/* Comment lines for the control file: owned by the caller. O(nodes of all ranks) memory. Collective. */
int dd_resume_write(const dd_simulation *sim, char **lines);

/* Reads the state from the restart file; sets sim->resumes if it has homes of nodes. EQP_ERR_FORMAT with a message that
 * names the damage. Local; the same on all ranks. */
int dd_resume_take(dd_simulation *sim, eqp_message *message);

/* Moves nodes to the homes they had. Collective. */
int dd_resume_homes(dd_simulation *sim, dd_moved *moved);

/* Restores the balancer's state again after the first forces were recorded, if the last step in the file had recorded
 * them too. Local; the same on all ranks. */
int dd_resume_again(dd_simulation *sim);

#endif
