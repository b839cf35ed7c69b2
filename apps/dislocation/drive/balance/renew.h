/* SPDX-License-Identifier: BSD-3-Clause */
/* When a run's nodes get new homes, and which. */
#ifndef DD_RENEW_H
#define DD_RENEW_H

#include "../simulation.h"

app_renewal dd_renewal_of(const dd_simulation *sim);

/* A new map from what the last evaluation has counted, and nodes to where it wants them: the stage is freed and the
 * halo void then. row: gets what was sent. Collective. */
int dd_renew_make(dd_simulation *sim, app_rank_row *row, eqp_message *message);

/* That, or other walls of boxes, if they are due before the next step: then *renewed is set, else nothing happens.
 * Collective. */
int dd_renew_if_due(dd_simulation *sim, app_rank_row *row, bool *renewed, eqp_message *message);

#endif
