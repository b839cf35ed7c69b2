/* SPDX-License-Identifier: BSD-3-Clause */
/* A run: a network that moves under its own and the applied stress, and the map of its work. */
#ifndef DD_SIMULATION_H
#define DD_SIMULATION_H

#include "../../report/run_record.h"
#include "../../shell/state.h"
#include "../physics/motion/loading.h"
#include "../physics/motion/mobility.h"
#include "../physics/motion/step.h"
#include "../physics/network/operations.h"

#include "balance/problem.h"
#include "files/input.h"
#include "forces/evaluate.h"
#include "stage/window.h"
#include "topology/topology.h"

#include <equipoise/balancer.h>
#include <equipoise/more/methods.h>

typedef struct dd_rank_row {
    eqp_rank_row common;    /* load: of all evaluations of the step */
    double count[DD_KINDS]; /* of the last evaluation */
    double segments, length;
} dd_rank_row;

/* One step over all ranks, equal on all of them. */
typedef struct dd_step {
    eqp_step common;         /* interactions: pairs of the last evaluation */
    int64_t count[DD_KINDS]; /* of the last evaluation */
    double dt;               /* s, of this step */
    int64_t evaluations;     /* of the forces */
    int64_t nodes, segments;
    double length;         /* of all segments, b */
    double strain, stress; /* plastic, applied (Pa), along the loading direction */
    dd_topology_counts topology;
} dd_step;

/* Work of this rank since the last step was recorded. */
typedef struct dd_work {
    dd_rank_row row;
    int64_t count[DD_KINDS];  /* of all evaluations */
    int64_t mapped[DD_KINDS]; /* the same, by the map */
    int64_t evaluations;
    dd_moved moved;
    double begin;     /* eqp_busy_seconds() at the start of the step, including its map; 0: unknown */
    bool walls_moved; /* or new */
} dd_work;

typedef struct dd_simulation {
    MPI_Comm comm;               /* owned */
    const dd_settings *settings; /* borrowed */
    dd_input input;
    app_words words; /* of a restart's control file, until the first forces are known */
    app_state state; /* of these words */
    bool resumes;    /* with the homes of the restart file */
    bool owed;       /* a signal stopped the last step; a restart computes its forces */
    dd_domain domain;
    dd_halo halo;
    dd_window window;
    dd_stage stage;
    dd_evaluator evaluator;
    int64_t cells[3];
    dd_rules rules;
    dd_mobility mobility;
    dd_loading loading;
    dd_stepper stepper;
    eqp_balancer *balancer;
    dd_problem problem; /* the balancer's view of this run */
    eqp_boxes *boxes;   /* of sectioning and bisection, where nodes live in boxes; else NULL */
    int signal;         /* received by any rank when the last step was recorded; 0: none */
    int failed;         /* code of this rank alone; the next collective call with a code returns it on all ranks */
    double fastest;     /* largest speed of all nodes when the last step was recorded, b/s */
    double box_load;    /* CPU seconds of this rank's last step, which move the walls */
    dd_work work;       /* of the present step */
    dd_step now;        /* the last step */
    dd_rank_row *row;   /* [ranks] of the last step, on every rank */
} dd_simulation;

/* Reads the input, makes the first map and computes the first forces. On failure nothing needs to be freed and all
 * ranks have the same message. Collective. */
int dd_simulation_create(MPI_Comm comm, const dd_settings *settings, dd_simulation *sim, eqp_message *message);
void dd_simulation_free(dd_simulation *sim);

/* One step: a new map if due, motion, topology, loading, forces on the new network. Collective. */
int dd_simulation_step(dd_simulation *sim, eqp_message *message);

/* Motion, loading and forces of a step, without a new map or topology changes: nodes keep places and homes, costs do
 * not change. Collective. */
int dd_simulation_drift(dd_simulation *sim, eqp_message *message);

/* The parameters at the present step: all that a restart needs except the network. Borrows from the input's. Local. */
eqp_paradis_control dd_simulation_control(const dd_simulation *sim);

/* Plans the exchange of data for the present network and map. Returns sim->failed of any rank. Collective. */
int dd_plan(dd_simulation *sim);
void dd_unplan(dd_simulation *sim);

/* Forces on the arms of all nodes at their present positions, and velocities by the mobility law. sim->failed is this
 * rank's code of the velocities. Collective. */
int dd_forces(dd_simulation *sim);

/* Largest speed of this rank's nodes, b/s. Local. */
double dd_fastest(const dd_simulation *sim);

/* Adds the last evaluation of the forces. Local. */
void dd_work_add(dd_work *work, const dd_evaluator *evaluator);

/* ---- Nodes within a time step: prediction, corrections, and the way back after a signal. */

/* Own nodes at the start (0) and at the end (1) of the time step. */
typedef struct dd_motion {
    int64_t n;
    double *x0, *v0, *x1, *v1, *guess; /* [n][3] owned */
    dd_segment *before;                /* [own segments] at the start; owned */
    double strain[6];                  /* plastic strain by all segments at the positions that were judged last */
    dd_stepper stepper;                /* at the start */
} dd_motion;

/* Records the nodes' positions and predicts new ones. Sets sim->failed if this rank is out of memory; dd_motion_end()
 * frees the motion in any case. Local. EQP_ERR_DATA on all ranks if a speed is not finite. */
int dd_motion_begin(dd_simulation *sim, dd_motion *motion);

/* Moves the nodes to their new positions, which stay unfolded. Local. */
void dd_motion_place(dd_simulation *sim, const dd_motion *motion);

/* Decides by the largest error of all ranks if the time step holds, and if not, where to try the nodes next. The
 * velocities belong to the new positions. Collective. EQP_ERR_STATE if no time step is short enough, else the code of a
 * rank that has failed. */
int dd_motion_judge(dd_simulation *sim, dd_motion *motion, dd_verdict *verdict);

/* strain: the plastic strain, set if code is EQP_OK, the same on all ranks. After EQP_ERR_STOPPED nodes and stepper
 * are as before the step. Local. */
void dd_motion_end(dd_simulation *sim, dd_motion *motion, int code, double strain[6]);

/* Velocities of the own nodes from the forces on their arms. Local. EQP_OK or EQP_ERR_MEMORY. */
int dd_motion_velocities(dd_simulation *sim);

/* ---- The record: columns for dislocations, in addition to the columns of every app. */

/* As app_record_create(), app_record_step() and app_record_finish(). Collective. */
int dd_record_create(void *user, const char *command, app_record **record, eqp_message *message);
int dd_record_step(void *user, app_record *record, eqp_message *message);
int dd_record_finish(void *user, app_record *record, eqp_message *message, eqp_message *note);

/* ---- --check-forces: checks the installed kernels against a table, or the far field of a run's first forces against
 * direct sums over shells of images. */

/* Compares the kernel of --isa with the table (see elastic/check_table.h). *text: the result as TSV, owned by the
 * caller. EQP_OK, or a code with a message. Local. */
int dd_check_forces(const dd_settings *settings, char **text, eqp_message *message);

/* Compares the far forces on a sample of segments with direct sums over all segments and images up to `shells` boxes
 * away that are not near. Direct sums depend on the outer shape of the shells by a stress linear in position (uniform
 * for closed loops), so the error is given with and without it. *text on all ranks, freed by the caller. Every rank
 * holds all segments. Collective. */
int dd_check_images(const dd_simulation *sim, int shells, char **text);

#endif
