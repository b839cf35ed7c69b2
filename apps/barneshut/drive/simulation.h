/* SPDX-License-Identifier: BSD-3-Clause */
/* A run: particles that move under their gravity, step by step, and the map that says who computes what. */
#ifndef BH_SIMULATION_H
#define BH_SIMULATION_H

#include "input.h"
#include "rebalance.h"

#include "../physics/motion.h"

#include <equipoise/policy.h>

/* One rank in one step. All doubles, so that the ranks' rows travel as they are. */
typedef struct bh_rank_row {
    double load, predicted; /* CPU seconds in forces, and what the cost model says of the same work */
    double particles, targets, pairs, cells;
    double ghost_cells, ghost_particles, bytes_sent, migrated;
    double exchange_seconds; /* CPU seconds in sending groups, trees and forces */
    double balance_seconds;  /* weighing, assigning, moving homes */
} bh_rank_row;

#define BH_RANK_ROW_DOUBLES ((int)(sizeof(bh_rank_row) / sizeof(double)))

/* One step over all ranks; the same on all of them. */
typedef struct bh_step {
    int64_t step;
    double time;
    bool rebalanced;
    double imbalance_predicted; /* by the cost model, for the work that was done */
    double imbalance_measured;  /* of CPU seconds in forces */
    double imbalance_promised;  /* by the balancer when it made the present map */
    double load_max, load_mean, exchange_seconds, balance_seconds;
    int64_t units, split_owners, pairs, cells;
    int64_t migrated, ghosts_total, ghosts_max, bytes_sent;
    double correlation;   /* rank correlation of predicted and measured seconds of the timed batches */
    eqp_sizes unit_sizes; /* of the last map by units */
    bh_sums sums;
} bh_step;

typedef struct bh_simulation {
    MPI_Comm comm;               /* owned */
    const bh_settings *settings; /* borrowed */
    bh_input input;
    bh_domain domain;
    bh_evaluator evaluator;
    bh_map map;
    app_costs costs;
    bh_survey survey; /* of the last evaluation, if it was taken: what a new map is made of */
    bool surveyed;
    eqp_units_totals totals; /* of all groups when the last map was made */
    eqp_policy policy;
    double dt;
    bh_step now;      /* the last step */
    bh_rank_row *row; /* [ranks] of the last step, on every rank */
} bh_simulation;

/* Reads the input, makes the first map and computes the first forces. Collective; a failure leaves nothing to free and
 * gives all ranks the same line. */
int bh_simulation_create(MPI_Comm comm, const bh_settings *settings, bh_simulation *sim, eqp_message *message);
void bh_simulation_free(bh_simulation *sim);

/* One kick-drift-kick step. Collective. */
int bh_simulation_step(bh_simulation *sim, eqp_message *message);

#endif
