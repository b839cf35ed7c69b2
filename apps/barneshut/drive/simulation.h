/* SPDX-License-Identifier: BSD-3-Clause */
/* A run: particles that move under their gravity, step by step, and the map that says who computes what. */
#ifndef BH_SIMULATION_H
#define BH_SIMULATION_H

#include "balance/problem.h"
#include "files/input.h"
#include "forces/stealing.h"

#include "../physics/motion.h"

#include <stddef.h>

/* One rank in one turn of a phase of the cycle that a step is (motion.h). */
typedef struct bh_turn {
    double interactions; /* as those of a row */
    double ghosts;
    double messages_sent, messages_received, bytes_sent, bytes_received; /* as last_... of a row */
} bh_turn;

/* One rank in one step. */
typedef struct bh_rank_row {
    eqp_rank_row common; /* interactions: pairs, each particle with itself among them, and cells */
    double pairs, cells;
    bh_turn turn[BH_RUNGS_MAX]; /* the last one of each phase; they travel only where there are rungs */
} bh_rank_row;

/* Bytes of a row that travel, without turns. */
#define BH_ROW_BYTES offsetof(bh_rank_row, turn)

/* A phase of the cycle that a step was, over all ranks. Sums are those of its last turn. */
typedef struct bh_cycle_phase {
    int64_t turns;        /* 0: no steps have ended at such a tick */
    int64_t interactions; /* pairs and cells */
    int64_t ghosts_total, ghosts_max;
    int64_t bytes_total, bytes_max, messages_max; /* as those of a step */
} bh_cycle_phase;

/* One step over all ranks; the same on all of them. */
typedef struct bh_step {
    eqp_step common;      /* interactions: pairs and cells */
    int64_t pairs, cells; /* a particle and itself are no pair */
    bh_sums sums;
    int64_t substeps;             /* evaluations of the forces */
    int64_t active[BH_RUNGS_MAX]; /* forces on particles of each rung */
    bh_cycle_phase phase[BH_RUNGS_MAX];
} bh_step;

typedef struct bh_simulation {
    MPI_Comm comm;               /* owned */
    const bh_settings *settings; /* borrowed */
    bh_input input;
    app_state state; /* of the input's words */
    bool resumes;    /* with the homes and tags of its restart file */
    bh_domain domain;
    bh_evaluator evaluator;
    bh_stealing *stealing; /* with --schedule, else NULL */
    eqp_balancer *balancer;
    bh_problem problem; /* what it knows of this */
    double dt;
    bh_rungs rungs;               /* one: all particles have the same step */
    int64_t tick;                 /* of the last forces; that of the end between steps */
    double on_rung[BH_RUNGS_MAX]; /* particles of each rung from the next drift on, of all ranks */
    double *kept;    /* [4][particles] forces before the last ones, while a step with the relative criterion may have to
                        be left; bh_forces_keep(), owned */
    double kick;     /* s, of a step that a signal has ended: velocities of rung 0 lack it; else 0 */
    bool bounded;    /* there is a bound */
    double bound[6]; /* of all particles until the next tick, see bh_rungs_bounds() */
    int signal;      /* that some rank had had when the last step was concluded; else 0 */
    int failed;      /* what this rank has met since the last step, of which the next one tells all */
    bh_step now;     /* the last step */
    bh_rank_row *row; /* [ranks] of the last step, on every rank */
} bh_simulation;

/* Reads the input, makes the first map and computes the first forces. Collective; a failure leaves nothing to free and
 * gives all ranks the same line. */
int bh_simulation_create(MPI_Comm comm, const bh_settings *settings, bh_simulation *sim, eqp_message *message);
void bh_simulation_free(bh_simulation *sim);

/* One kick-drift-kick step: that of rung 0, in which other rungs have several. Collective. */
int bh_simulation_step(bh_simulation *sim, eqp_message *message);

#endif
