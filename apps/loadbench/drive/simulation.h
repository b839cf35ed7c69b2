/* SPDX-License-Identifier: BSD-3-Clause */
/* A run: vertices that cost work step by step, exchange values with their neighbours, and live where the balancer
 * assigns them (Algorithm 1 of O. Pearce, Load Balancing Scientific Applications, 2014). */
#ifndef LB_SIMULATION_H
#define LB_SIMULATION_H

#include "domain.h"
#include "settings.h"

#include "../physics/scenario.h"

#include <equipoise/balancer.h>

/* One step over all ranks, equal on all of them. */
typedef struct lb_step {
    eqp_step common;   /* interactions: thousandths of weight */
    int64_t cut;       /* weights of the edges between ranks */
    uint64_t checksum; /* of all vertices' numbers, values and histories */
    int64_t sum;       /* of their values */
} lb_step;

/* Costs summed over all steps. */
typedef struct lb_sums {
    double max, mean; /* CPU seconds of work: of each step's slowest rank; of an even division */
    double balance;   /* CPU seconds in balancing and moving: of each step's slowest rank */
} lb_sums;

typedef struct lb_simulation {
    MPI_Comm comm;               /* owned */
    const lb_settings *settings; /* borrowed */
    lb_domain domain;
    lb_scenario *scenario;
    lb_work work;
    double accesses; /* per thousandth of weight */
    double nominal;  /* CPU seconds per thousandth of weight, from --unit */
    uint64_t sink;   /* result of the work */
    eqp_balancer *balancer;
    bool begun;  /* step 0 is done */
    lb_step now; /* the last step */
    lb_sums sums;
    eqp_rank_row *row; /* [ranks] of the last step, on every rank */
} lb_simulation;

/* Makes the graph, measures the cost of work, and takes step 0 with vertices at their start. On failure nothing needs
 * to be freed and all ranks have the same message. Collective. */
int lb_simulation_create(MPI_Comm comm, const lb_settings *settings, lb_simulation *sim, eqp_message *message);
void lb_simulation_free(lb_simulation *sim);

int lb_simulation_step(lb_simulation *sim, eqp_message *message);

/* Callbacks for the balancer. */
eqp_problem lb_simulation_problem(lb_simulation *sim);

#endif
