/* SPDX-License-Identifier: BSD-3-Clause */
/* A run: a network that moves under its own and the applied stress, step by step, and the map that says who computes
 * what. */
#ifndef DD_SIMULATION_H
#define DD_SIMULATION_H

#include "../physics/motion/loading.h"
#include "../physics/motion/mobility.h"
#include "../physics/motion/step.h"
#include "../physics/network/rules.h"
#include "balance/problem.h"
#include "evaluate.h"
#include "files/input.h"
#include "files/output.h"
#include "topology/topology.h"

#include "../../shell/state.h"

#include <equipoise/boxes.h>

/* One rank in one step. */
typedef struct dd_rank_row {
    eqp_rank_row common;    /* loads: of all evaluations of the step */
    double count[DD_KINDS]; /* of the last evaluation */
    double segments, length;
} dd_rank_row;

#define DD_RANK_ROW_DOUBLES ((int)(sizeof(dd_rank_row) / sizeof(double)))

/* One step over all ranks; the same on all of them. */
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

typedef struct dd_simulation {
    MPI_Comm comm;               /* owned */
    const dd_settings *settings; /* borrowed */
    dd_input input;
    app_words words; /* of a restart's control file, until the first forces are known */
    app_state state; /* of these */
    bool resumes;    /* with the homes of its restart file */
    bool owed;       /* the last step was stopped: its forces are computed by the run that goes on */
    dd_domain domain;
    dd_halo halo;
    dd_stage stage;
    dd_evaluator evaluator;
    int64_t cells[3];
    dd_rules rules;
    dd_mobility mobility;
    dd_loading loading;
    dd_stepper stepper;
    eqp_balancer *balancer;
    dd_problem problem; /* what it knows of this */
    eqp_boxes *boxes;   /* sectioning and bisection: nodes live in their boxes; else NULL */
    int signal;         /* that some rank had had when the last step was concluded; else 0 */
    int failed;         /* what this rank has met since the last step, of which the next one tells all */
    double fastest;     /* node of all ranks, its speed, when the last step was concluded */
    double box_load;    /* CPU seconds in forces on this rank in the last step */
    dd_step now;        /* the last step */
    dd_rank_row *row;   /* [ranks] of the last step, on every rank */
} dd_simulation;

/* Reads the input, makes the first map and computes the first forces. Collective; a failure leaves nothing to free and
 * gives all ranks the same line. */
int dd_simulation_create(MPI_Comm comm, const dd_settings *settings, dd_simulation *sim, eqp_message *message);
void dd_simulation_free(dd_simulation *sim);

/* One step: a new map if it is due, motion, topology, loading, forces on what there is then. Collective. */
int dd_simulation_step(dd_simulation *sim, eqp_message *message);

/* Motion and loading of a step, and forces on what there is then: no new map, no change of topology; nodes keep their
 * places and homes, and the costs stay as they are. Collective. */
int dd_simulation_drift(dd_simulation *sim, eqp_message *message);

/* What a restart needs to know beside the network. Local. */
dd_moment dd_simulation_moment(const dd_simulation *sim);

#endif
