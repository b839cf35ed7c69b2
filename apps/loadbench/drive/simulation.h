/* SPDX-License-Identifier: BSD-3-Clause */
/* A run: vertices that are worked on step by step, exchange values with their neighbours, and live where the balancer
 * wants them (Algorithm 1 of O. Pearce, Load Balancing Scientific Applications, 2014). */
#ifndef LB_SIMULATION_H
#define LB_SIMULATION_H

#include "domain.h"
#include "settings.h"

#include "../physics/scenario.h"
#include "../physics/work.h"

#include <equipoise/balancer.h>

/* One step over all ranks; the same on all of them. */
typedef struct lb_step {
    eqp_step common;   /* interactions: thousandths of weight */
    int64_t cut;       /* weights of the edges between ranks */
    uint64_t checksum; /* of all vertices' numbers, values and histories */
    int64_t sum;       /* of their values */
} lb_step;

/* Costs of all steps in sum. */
typedef struct lb_sums {
    double max, mean; /* CPU seconds of work: of the slowest rank of each step, of an even division */
    double balance;   /* CPU seconds in balancing and moving: of the slowest rank of each step */
} lb_sums;

typedef struct lb_simulation {
    MPI_Comm comm;               /* owned */
    const lb_settings *settings; /* borrowed */
    lb_domain domain;
    lb_scenario *scenario;
    lb_work work;
    double accesses; /* for a thousandth of weight */
    double nominal;  /* CPU seconds of a thousandth, as --unit says */
    uint64_t sink;   /* what the work has come to */
    eqp_balancer *balancer;
    bool begun;  /* step 0 is done */
    lb_step now; /* the last step */
    lb_sums sums;
    eqp_rank_row *row; /* [ranks] of the last step, on every rank */
} lb_simulation;

/* Makes the graph, measures what work costs, and takes step 0 where vertices live at the start. Collective; a failure
 * leaves nothing to free and gives all ranks the same line. */
int lb_simulation_create(MPI_Comm comm, const lb_settings *settings, lb_simulation *sim, eqp_message *message);
void lb_simulation_free(lb_simulation *sim);

/* The next step. Collective. */
int lb_simulation_step(lb_simulation *sim, eqp_message *message);

/* Answers to the balancer. */
eqp_problem lb_simulation_problem(lb_simulation *sim);

#endif
