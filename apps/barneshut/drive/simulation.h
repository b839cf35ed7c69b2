/* SPDX-License-Identifier: BSD-3-Clause */
/* A run: particles that move under their gravity, and the map from interactions to ranks. */
#ifndef BH_SIMULATION_H
#define BH_SIMULATION_H

#include "balance/problem.h"
#include "files/input.h"
#include "forces/evaluate.h"

#include "../physics/motion.h"

#include <stddef.h>

/* One rank in one substep of a phase (motion.h). */
typedef struct bh_substep {
    double interactions; /* as those of a row */
    double ghosts;
    double messages_sent, messages_received, bytes_sent, bytes_received; /* as last_... of a row */
} bh_substep;

/* One rank in one step. */
typedef struct bh_rank_row {
    eqp_rank_row common; /* interactions: cells and pairs, including each particle with itself */
    double pairs, cells;
    bh_substep substep[BH_RUNGS_MAX]; /* last substep of each phase; sent only in runs with rungs */
} bh_rank_row;

/* Bytes of a row that are sent in runs without rungs. */
#define BH_ROW_BYTES offsetof(bh_rank_row, substep)

/* All substeps of a phase of a step, over all ranks. Sums are those of the last substep. */
typedef struct bh_phase {
    int64_t turns;        /* 0: no step has ended at such a tick */
    int64_t interactions; /* pairs and cells */
    int64_t ghosts_total, ghosts_max;
    int64_t bytes_total, bytes_max, messages_max; /* as those of a step */
} bh_phase;

/* One step over all ranks, equal on all of them. */
typedef struct bh_step {
    eqp_step common;      /* interactions: pairs and cells */
    int64_t pairs, cells; /* without pairs of a particle with itself */
    bh_sums sums;
    int64_t substeps;             /* evaluations of the forces */
    int64_t active[BH_RUNGS_MAX]; /* forces on particles of each rung */
    bh_phase phase[BH_RUNGS_MAX];
} bh_step;

/* Costs of this rank in the present step, before they become its row. */
typedef struct bh_costs {
    double begin; /* eqp_busy_seconds() when the step began, after its map; 0: unknown */
    bh_migration migration;
    int64_t map_bytes; /* sent while a map was made */
    double balance_seconds;
    int64_t evaluations;
    int64_t active[BH_RUNGS_MAX]; /* forces on particles of each rung, of all ranks */
    int64_t bytes;                /* sent in evaluations, with the tops of trees */
    bh_evaluated evaluated;       /* over all of them; the exchange is that of the last one */
    /* In each phase: */
    int64_t turns[BH_RUNGS_MAX];
    double load[BH_RUNGS_MAX];      /* CPU seconds in forces, in all substeps */
    bh_counts counts[BH_RUNGS_MAX]; /* in all substeps */
    int64_t targets[BH_RUNGS_MAX];  /* of all ranks, in the last substep */
    bh_substep last[BH_RUNGS_MAX];
} bh_costs;

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
    bh_problem problem; /* the balancer's view of this simulation */
    double dt;
    bh_rungs rungs;               /* one: all particles have the same step */
    int64_t tick;                 /* tick of the last forces; between steps the last tick of a step */
    double on_rung[BH_RUNGS_MAX]; /* particles of each rung from the next drift on, of all ranks */
    double *kept;    /* [4][particles] forces of the previous tick, which a stopped run must write with the relative
                        criterion; bh_forces_keep(), owned */
    double loose;    /* particles of all ranks outside their leaves at the last tick before the end */
    double kick;     /* s, missing from the velocities of rung 0 after a signal stopped a step; else 0 */
    bool bounded;    /* bound is known */
    double bound[6]; /* of all particles until the next tick, see bh_rungs_bounds() */
    int code;   /* of this rank in the present step; a rank that fails continues, and all ranks learn of it at the next
                   global sum */
    int failed; /* code of this rank's last failed write of a record or file since the last step */
    int signal; /* received by any rank before the last step was recorded; else 0 */
    bh_costs costs;
    bh_step now;      /* the last step */
    bh_sums first;    /* initial state of the run, the reference for energies */
    bh_rank_row *row; /* [ranks] of the last step, on every rank */
} bh_simulation;

/* Reads the input, makes the first map and computes the first forces. On failure nothing needs to be freed and all
 * ranks have the same message. Collective. */
int bh_simulation_create(MPI_Comm comm, const bh_settings *settings, bh_simulation *sim, eqp_message *message);
void bh_simulation_free(bh_simulation *sim);

/* One kick-drift-kick step of rung 0, with several steps of other rungs. Collective. */
int bh_simulation_step(bh_simulation *sim, eqp_message *message);

/* ---- Parts of a step shared with the first forces: a rank that fails keeps its code in sim->code and continues
 * through the step ---- */

/* step.c */

/* Half a kick for all particles whose step begins or ends at this tick. Local. */
void bh_step_kick(bh_simulation *sim);

/* New rungs for all particles whose step ends at this tick, as sim->on_rung counts them. Local. */
void bh_step_choose_rungs(bh_simulation *sim);

/* Forces on all particles whose step ends at this tick; at the end of the step also the balancer's survey for the next
 * map. Collective. */
void bh_step_forces(bh_simulation *sim);

/* From this tick's tree to the forces at the end of the step. If ranks agree that one has failed, all stop at that tick
 * with its code. Collective. */
void bh_step_finish(bh_simulation *sim);

/* balance.c: collective calls of a step */

/* Bounds of all particles and counts of rungs at the next tick for this rank's particles, by bh_rungs_bounds() (low
 * NULL: skipped) and, with rungs, bh_rungs_count(). kick: missing from the velocities of rung 0. Local. */
void bh_predict(const bh_simulation *sim, double kick, double low[6], double *on_rung);

/* Reduces both over all ranks into sim->bound and sim->on_rung; sim->code becomes that of all ranks. Collective. */
void bh_agree_on_rungs(bh_simulation *sim);

/* True if homes, groups and cells can stay for the forces of this tick; the same on any number of ranks. */
bool bh_tree_may_drift(const bh_simulation *sim);

/* Advances the clock and reports the step's costs to the balancer. A failed step leaves the clock; a step stopped by a
 * signal leaves a state that a restart file can hold. Collective; the code of all ranks. */
int bh_agree_on_record(bh_simulation *sim, eqp_message *message);

/* Gives all ranks the code and message of a failed step. code: as known to all so far. Collective. */
int bh_agree_on_failure(bh_simulation *sim, int code, eqp_message *message);

/* balance.c: the balancer within a step */

/* Makes a new map for the present particles; they migrate before the next forces. Collective. */
int bh_balance_map(bh_simulation *sim, eqp_message *message);

/* The same before a step, if the balancer is due; otherwise tells it the number of remaining steps. Collective. */
int bh_balance_ask(bh_simulation *sim, eqp_message *message);

/* Homes follow the map again after the root cube changed. Collective; the code of all ranks. */
int bh_balance_follow(bh_simulation *sim);

/* Adds a force evaluation to the step's costs. Local. */
void bh_balance_add(bh_simulation *sim, const bh_evaluated *one);

/* Reports the step's costs to the balancer and fills sim->now. kick: missing from the velocities. Returns the code of
 * all ranks, sim->code included. Collective. */
int bh_balance_record(bh_simulation *sim, double kick, eqp_message *message);

#endif
