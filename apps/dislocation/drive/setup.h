/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up a run from its parameters. */
#ifndef DD_SETUP_H
#define DD_SETUP_H

#include "simulation.h"

/* Sets medium, kernel, mobility, rules, time step, loading, cells and boxes of a simulation with its input. Local;
 * EQP_OK or a code with a message. */
int dd_setup(dd_simulation *sim, eqp_message *message);

#endif
