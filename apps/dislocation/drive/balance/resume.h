/* SPDX-License-Identifier: BSD-3-Clause */
/* What a restart's control file says of the balance, in comments: homes of nodes, which of them ranks share, the
 * balancer's memory. A run on as many ranks by the same method goes on with it. Walls are none of it. */
#ifndef DD_RESUME_H
#define DD_RESUME_H

#include "../simulation.h"

/* Lines for the control file of the run as it is: owned by the caller. O(nodes of all ranks) memory. Collective. */
int dd_resume_write(const dd_simulation *sim, char **lines);

/* Takes in what the restart file says: sim->resumes where nodes are to be brought home. EQP_ERR_FORMAT with a line for
 * what is damaged. Local; the same on all ranks. */
int dd_resume_take(dd_simulation *sim, eqp_message *message);

/* Nodes to the homes that they had. Collective. */
int dd_resume_homes(dd_simulation *sim, dd_moved *moved);

/* The first forces were recorded: where those of the file's last step had been, too, the balancer knows again what it
 * knew then. Local; the same on all ranks. */
int dd_resume_again(dd_simulation *sim);

#endif
