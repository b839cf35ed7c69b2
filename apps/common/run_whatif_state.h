/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files behind run_whatif.h share. */
#ifndef APP_RUN_WHATIF_STATE_H
#define APP_RUN_WHATIF_STATE_H

#include "run_whatif.h"

struct app_whatif_state {
    const app_whatif *what;
    MPI_Comm comm;
    int rank, nranks;
    int64_t nhome;
    uint64_t *key; /* [nhome] */
    /* owners as they are, with weights if they were wanted so far; and what it took to learn that */
    bool known, weighed;
    app_owners owners;
    eqp_units_totals totals; /* of all owners, roughly; known where they were weighed */
    double seconds[2];       /* without and with weights; 0: never done */
};

/* run_trace.c: what the app says of a trial's map. All are collective. */

/* All that the map would make every part compute and fetch, on the rank `root`; NULL elsewhere. */
int app_whatif_trace(const app_whatif_state *state, const app_trial *trial, int root, eqp_evaluation **evaluation);

/* The loads alone, on all ranks: [trial->nparts]. */
int app_whatif_loads(const app_whatif_state *state, const app_trial *trial, double *loads);

/* By the plan of the run, or the cheapest. Local. */
int app_whatif_evaluate(const app_whatif_state *state, eqp_evaluation *evaluation, const eqp_network *network,
                        eqp_evaluated *result);

/* run_settle.c: a map that is made again with what its traces have taught. Both replace the trial's map and verdicts
 * where they find better ones, and keep rebalanced->result.imbalance true. base: [parts] seconds of what each part does
 * whatever the assignment, or NULL. Collective. */

/* Until the loads, traced exactly, are within the tolerance: parts that share owners do some of their work again. For
 * maps without shared owners there is nothing to do. */
int app_whatif_settle_loads(const app_whatif_state *state, app_newmap *newmap, const double *base, double imbalance_tol,
                            app_trial *trial, app_rebalanced *rebalanced, eqp_message *message);

/* Until the longest step, load and exchange together, gets no shorter. Evaluates: trial->row.evaluated. */
int app_whatif_settle_step(const app_whatif_state *state, app_newmap *newmap, const double *base,
                           const eqp_network *network, app_trial *trial, app_rebalanced *rebalanced,
                           eqp_message *message);

#endif
