/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a run by `feedback`: as long as its rule asks for them (eqp__feedback_check(), guarded); then back to the
 * best cuts so far, until the policy wants another map. */
#ifndef RUN_FEEDBACK_STEPS_H
#define RUN_FEEDBACK_STEPS_H

#include "map/options.h"
#include "run/overhead.h"

#include <equipoise/balancer.h>
#include <equipoise/more/methods.h>

typedef struct eqp_feedback_steps eqp_feedback_steps;

/* Creates the state; *feedback stays NULL, which makes all calls below no-ops, for a run with another method and
 * where work is handed out, since measured loads then do not describe the map. Only an automatic policy stops at its
 * imbalance_tol. Local. EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY. */
int eqp__feedback_steps_create(const eqp_balancer_options *options, int nranks, eqp_feedback_steps **feedback);
void eqp__feedback_steps_free(eqp_feedback_steps *feedback);

/* Records a step: rows [ranks], the same on all ranks. rebalanced: true in the first step with a new map. Local.
 * EQP_OK, EQP_ERR_DATA for invalid loads. */
int eqp__feedback_steps_record(eqp_feedback_steps *feedback, const eqp_rank_row *rows, bool rebalanced);

/* True if feedback asks for a map before the next step, regardless of the policy. */
bool eqp__feedback_steps_wants(const eqp_feedback_steps *feedback);

/* Sets up the next map: by measured loads, so that no weights are needed, or, on the way back to the best division, by
 * the number of particles each rank had then (borrowed until the next call). */
void eqp__feedback_steps_prepare(eqp_feedback_steps *feedback, eqp_map_options *options);

/* The steps so far; a restart file holds them. */
typedef struct eqp__kept_feedback {
    int64_t phase;
    eqp_feedback_state state;
} eqp__kept_feedback;

void eqp__feedback_steps_keep(const eqp_feedback_steps *feedback, eqp__kept_feedback *kept);
bool eqp__feedback_steps_can_be(const eqp__kept_feedback *kept);
void eqp__feedback_steps_take_back(eqp_feedback_steps *feedback, const eqp__kept_feedback *kept);

/* Passes one number per rank. */
void eqp__feedback_steps_pass(eqp_feedback_steps *feedback, int nranks, eqp__cursor *c);

/* True if measured seconds describe the ranks' work: all ranks have the same relative speed, and costs are not fixed
 * (eqp_balancer_options.fixed_costs). Local. */
bool eqp__rows_tell(int nranks, const eqp_rank_row *rows, bool fixed_costs);

#endif
