/* SPDX-License-Identifier: BSD-3-Clause */
/* When a run by `feedback` takes another step: while its rule says so (eqp_feedback_check(), guarded), and then back to
 * the best cuts of the way, where the policy takes over until it wants a map again. */
#ifndef RUN_FEEDBACK_STEPS_H
#define RUN_FEEDBACK_STEPS_H

#include "map/making.h"
#include "run/bytes.h"

#include <equipoise/balancer.h>
#include <equipoise/more/feedback.h>

typedef struct eqp_feedback_steps eqp_feedback_steps;

/* For a run with another method *feedback stays as it is: NULL, with which all of this does nothing; and so where work
 * is handed out, since measured loads then say nothing of the map. Only where the policy is automatic there is a rule:
 * its imbalance_tol is good enough. Local. EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY. */
int eqp__feedback_steps_create(const eqp_balancer_options *options, int nranks, eqp_feedback_steps **feedback);
void eqp__feedback_steps_free(eqp_feedback_steps *feedback);

/* Takes in a step: rows [ranks], the same on all ranks. rebalanced: the step was the first one with a new map. Local.
 * EQP_OK, EQP_ERR_DATA for loads that are none. */
int eqp__feedback_steps_record(eqp_feedback_steps *feedback, const eqp_rank_row *rows, bool rebalanced);

/* Whether a map is to be made before the next step, whatever the policy says. */
bool eqp__feedback_steps_wants(const eqp_feedback_steps *feedback);

/* What the map is made by that is made now: by measured loads, so that nothing need be weighed; or, on the way back, as
 * many particles for each rank as it had at its best (borrowed: until the next call). */
void eqp__feedback_steps_prepare(eqp_feedback_steps *feedback, eqp_making *making);

/* What is known of the steps so far, as bytes hold it: plain data; and whether bytes can be that. */
typedef struct eqp__kept_feedback {
    int64_t phase;
    eqp_feedback_state state;
} eqp__kept_feedback;

void eqp__feedback_steps_keep(const eqp_feedback_steps *feedback, eqp__kept_feedback *kept);
bool eqp__feedback_steps_can_be(const eqp__kept_feedback *kept);
void eqp__feedback_steps_take_back(eqp_feedback_steps *feedback, const eqp__kept_feedback *kept);

/* Passes a number for each rank. */
void eqp__feedback_steps_pass(eqp_feedback_steps *feedback, int nranks, eqp__cursor *c);

/* Whether measured seconds say how much work each rank has: all have the same relative speed, and times are to decide
 * (eqp_balancer_options.fixed_costs). Local. */
bool eqp__rows_tell(int nranks, const eqp_rank_row *rows, bool fixed_costs);

#endif
