/* SPDX-License-Identifier: BSD-3-Clause */
/* A run: a network that moves under its own and the applied stress, and the map of its work. */
#ifndef DD_SIMULATION_H
#define DD_SIMULATION_H

#include "../physics/motion/loading.h"
#include "../physics/motion/mobility.h"
#include "../physics/motion/step.h"
#include "../physics/network/rules.h"
#include "balance/problem.h"
#include "balance/work.h"
#include "files/input.h"
#include "files/output.h"

#include "../../shell/state.h"

#include <equipoise/more/boxes.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct dd_simulation {
    MPI_Comm comm;               /* owned */
    const dd_settings *settings; /* borrowed */
    dd_input input;
    app_words words; /* of a restart's control file, until the first forces are known */
    app_state state; /* of these words */
    bool resumes;    /* with the homes of the restart file */
    bool owed;       /* a signal stopped the last step: a restart computes its forces */
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
    dd_problem problem; /* the balancer's view of this run */
    eqp_boxes *boxes;   /* of sectioning and bisection, where nodes live in boxes; else NULL */
    int signal;         /* that a rank had received when the last step was recorded; 0: none */
    int failed;         /* code of this rank alone; the next collective call that takes one returns it on all ranks */
    double fastest;     /* largest speed of all nodes when the last step was recorded, b/s */
    double box_load;    /* of this rank in the last step, s: walls follow it */
    dd_work work;       /* of the present step */
    dd_step now;        /* the last step */
    dd_rank_row *row;   /* [ranks] of the last step, on every rank */
} dd_simulation;

/* Reads the input, makes the first map and computes the first forces. Collective; a failure leaves nothing to free and
 * gives all ranks the same line. */
int dd_simulation_create(MPI_Comm comm, const dd_settings *settings, dd_simulation *sim, eqp_message *message);
void dd_simulation_free(dd_simulation *sim);

/* One step: a new map if it is due, motion, topology, loading, forces on the new network. Collective. */
int dd_simulation_step(dd_simulation *sim, eqp_message *message);

/* Motion and loading of a step, and the forces after it, without a new map or changes of the topology: nodes keep
 * places and homes, costs do not change. Collective. */
int dd_simulation_drift(dd_simulation *sim, eqp_message *message);

/* All that a restart needs except the network. Local. */
dd_moment dd_simulation_moment(const dd_simulation *sim);

/* Plans which data travel where, for the network and the map as they are. Collective. */
int dd_plan(dd_simulation *sim);
void dd_unplan(dd_simulation *sim);

/* Forces on the arms of all nodes where these are now, and their velocities by the mobility law. Collective;
 * sim->failed is what the velocities met on this rank. */
int dd_forces(dd_simulation *sim);

/* Largest speed of this rank's nodes, b/s. Local. */
double dd_fastest(const dd_simulation *sim);

/* Sets medium, kernel, mobility, rules, time step, loading, cells and boxes of a simulation with its input. Local;
 * EQP_OK or a code with a message. */
int dd_setup(dd_simulation *sim, eqp_message *message);

#endif
