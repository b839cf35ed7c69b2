/* SPDX-License-Identifier: BSD-3-Clause */
/* From parameters to the laws of a run. */
#ifndef DD_SETUP_H
#define DD_SETUP_H

#include "simulation.h"

/* Sets medium, kernel, mobility, rules, time step, loading, cells, costs, policy and boxes of a simulation whose input
 * was read. Local; EQP_OK or a code with its line. */
int dd_setup(dd_simulation *sim, eqp_message *message);

#endif
