/* SPDX-License-Identifier: BSD-3-Clause */
/* When a run's map is renewed: by the policy, by the rule of `feedback`, by learnt shares. */
#ifndef APP_RUN_POLICY_H
#define APP_RUN_POLICY_H

#include "run_feedback.h"

/* All that can ask for a map before the next step. */
typedef struct app_renewal {
    const app_run_settings *run;
    const eqp_policy *policy;
    const app_feedback *feedback; /* NULL with other methods */
    const app_shares *shares;
} app_renewal;

bool app_renewal_wants(const app_renewal *renewal);

/* Steps for which a map that is made now will be used: about as many as the last one, at first 50, but no more than the
 * run has `left`, and at least 1. */
double app_renewal_life(const app_renewal *renewal, int64_t left);

/* The step as the policy takes it in. work_imbalance: of the work that was counted. kept: a map was asked for, and the
 * present one was kept. A method that does not weigh promises nothing of the work, nor does a map whose work is handed
 * out; `feedback` knows seconds only. */
eqp_policy_sample app_renewal_sample(const app_renewal *renewal, const app_step *step, double work_imbalance,
                                     bool kept);

#endif
