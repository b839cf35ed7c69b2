/* SPDX-License-Identifier: BSD-3-Clause */
/* When a run with --balance feedback takes another step: while its rule says so (eqp_feedback_check(), guarded), and
 * then back to the best cuts of the way, where the policy takes over until it wants a map again. */
#ifndef APP_RUN_FEEDBACK_H
#define APP_RUN_FEEDBACK_H

#include "run_settings.h"
#include "run_step.h"

#include <equipoise/feedback.h>

typedef struct app_feedback app_feedback;

/* For a run with another method *feedback stays as it is: NULL, with which all of this does nothing; and so where work
 * is handed out, since measured loads then say nothing of the map. Only where the policy is automatic there is a rule:
 * its imbalance_tol is good enough. Local. EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY. */
int app_feedback_create(const app_run_settings *run, int nranks, app_feedback **feedback);
void app_feedback_free(app_feedback *feedback);

/* Takes in a step: rows [nranks] of row_bytes each that begin with an app_rank_row, the same on all ranks. rebalanced:
 * the step was the first one with a new map. Local. EQP_OK, EQP_ERR_DATA for loads that are none. */
int app_feedback_record(app_feedback *feedback, const void *rows, size_t row_bytes, bool rebalanced);

/* Whether a map is to be made before the next step, whatever the policy says. */
bool app_feedback_wants(const app_feedback *feedback);

/* What the map is made by that is made now: the row without what only a what-if needs, as measured loads are there; or,
 * on the way back, as many particles for each rank as it had at its best (borrowed: until the next call). */
void app_feedback_prepare(app_feedback *feedback, app_rebalance_options *options);

#endif
