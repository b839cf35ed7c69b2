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
    int64_t evaluations;
    int64_t active[BH_RUNGS_MAX]; /* forces on particles of each rung, of all ranks */
    int64_t bytes;                /* sent in evaluations, with the tops of trees */
    bh_evaluated evaluated;       /* in all of them; the phases are of the last one */
    /* Of each phase of the cycle: */
    int64_t turns[BH_RUNGS_MAX];
    double load[BH_RUNGS_MAX];      /* CPU seconds in forces, in all turns */
    bh_counts counts[BH_RUNGS_MAX]; /* in all turns */
    int64_t targets[BH_RUNGS_MAX];  /* of all ranks, in the last turn */
    bh_turn last_turn[BH_RUNGS_MAX];
} bh_ledger;

/* A new map for the particles where they are; they follow it when they settle next. Collective. */
int bh_step_make_map(bh_simulation *sim, bh_ledger *ledger, eqp_message *message);

/* The particles have moved: brings them home and grows the tree. Collective. */
int bh_step_settle(bh_simulation *sim, bh_ledger *ledger);

/* Half a kick of all whose step ends at this tick. Local. */
void bh_step_kick(bh_simulation *sim);

/* New rungs of all whose step ends at this tick, as bh_simulation.on_rung counts them. Local. */
void bh_step_choose(bh_simulation *sim);

/* New rungs, half a kick of all whose step begins at this tick, and all drift to the next one. Local. */
void bh_step_advance(bh_simulation *sim);

/* What the next bh_step_advance() must know of all ranks: as bh_rungs_bounds(), unless low is NULL, and
 * bh_rungs_count(), where there are rungs. Local. */
void bh_step_look_ahead(const bh_simulation *sim, double kick, double low[6], double *on_rung);

/* From the places of a tick to the forces of the end of the step. placed: the tree is grown already. As
 * bh_step_forces(); where a round before the last one has failed all ranks return its code, at its tick. */
int bh_step_cycle(bh_simulation *sim, bh_ledger *ledger, bool placed, int code);

/* The forces of those whose step ends at this tick, at the end of the step with a survey where the balancer wants one
 * for the next map. code: of this rank so far; returns the same, see bh_domain_settle_own(). Collective. */
int bh_step_forces(bh_simulation *sim, bh_ledger *ledger, int code);

/* The same, but the particles keep the forces that they have. Collective; the code is that of all ranks. */
int bh_step_forces_beside(bh_simulation *sim, bh_ledger *ledger);

/* What the step has shown, to the balancer and into the record. kick: that the velocities still lack; code: of this
 * rank so far. Returns the code of all ranks; one that failed leaves the record as it is. Collective. */
int bh_step_conclude(bh_simulation *sim, const bh_ledger *ledger, double kick, int code, eqp_message *message);

#endif
