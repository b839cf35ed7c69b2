/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of a step that the first forces need, too. */
#ifndef BH_STEP_H
#define BH_STEP_H

#include "simulation.h"

/* Costs of this rank in one step, until they become its row. */
typedef struct bh_ledger {
    double begin; /* eqp_busy_seconds() when the step began and its map was there; 0: not known */
    bh_settled settled;
    int64_t map_bytes; /* sent while a map was made */
    double balance_seconds;
    bh_evaluated evaluated;
} bh_ledger;

/* A new map for the particles where they are; they follow it when they settle next. Collective. */
int bh_step_make_map(bh_simulation *sim, bh_ledger *ledger, eqp_message *message);

/* The particles have moved: brings them home and grows the tree. Collective. */
int bh_step_settle(bh_simulation *sim, bh_ledger *ledger);

/* The forces, with a survey where the balancer wants one for the next map. code: of this rank so far; returns the same,
 * see bh_domain_settle_own(). Collective. */
int bh_step_forces(bh_simulation *sim, bh_ledger *ledger, int code);

/* The same, but the particles keep the forces that they have. Collective; the code is that of all ranks. */
int bh_step_forces_beside(bh_simulation *sim, bh_ledger *ledger);

/* What the step has shown, to the balancer and into the record. kick: that the velocities still lack; code: of this
 * rank so far. Returns the code of all ranks; one that failed leaves the record as it is. Collective. */
int bh_step_conclude(bh_simulation *sim, const bh_ledger *ledger, double kick, int code, eqp_message *message);

#endif
