/* SPDX-License-Identifier: BSD-3-Clause */
/* The balance in comments of a restart's control file: homes of nodes, nodes that ranks share, the balancer's state. A
 * run on the same number of ranks by the same method continues from it. Walls are not included. */
#ifndef DD_RESUME_H
#define DD_RESUME_H

#include "../simulation.h"

/* Lines for the control file of the run as it is: owned by the caller. O(nodes of all ranks) memory. Collective. */
int dd_resume_write(const dd_simulation *sim, char **lines);

/* Reads the balance from the restart file; sets sim->resumes if nodes have homes there. EQP_ERR_FORMAT with a line that
 * names the damage. Local; the same on all ranks. */
int dd_resume_take(dd_simulation *sim, eqp_message *message);

/* Nodes to the homes that they had. Collective. */
int dd_resume_homes(dd_simulation *sim, dd_moved *moved);

/* The first forces were recorded: where those of the file's last step had been, too, the balancer knows again what it
 * knew then. Local; the same on all ranks. */
int dd_resume_again(dd_simulation *sim);

#endif
