/* SPDX-License-Identifier: BSD-3-Clause */
/* When a run's nodes get new homes, and which. */
#ifndef DD_RENEW_H
#define DD_RENEW_H

#include "simulation.h"

/* Whether a method goes by counted work: there is none before the first forces. */
bool dd_renew_weighs(const eqp_method *method);

/* A new map from what the last evaluation has counted, and nodes to where it wants them: the stage is freed and the
 * halo void then. row: gets what was sent. Collective. */
int dd_renew_make(dd_simulation *sim, app_rank_row *row, eqp_message *message);

/* That, or other walls of boxes, if they are due before the next step: then *renewed is set, else nothing happens.
 * Collective. */
int dd_renew_if_due(dd_simulation *sim, app_rank_row *row, bool *renewed, eqp_message *message);

/* Takes in how uneven the work of the step was (sim->now). Local. */
void dd_renew_learn(dd_simulation *sim);

#endif
