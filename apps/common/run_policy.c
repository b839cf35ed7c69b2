/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_policy.h"

#include <math.h>

/* Steps that a first map is expected to last, and that any is at least. */
#define FIRST_LIFE 50.0
#define SHORT_LIFE 5.0

bool app_renewal_wants(const app_renewal *renewal)
{
    return !(renewal->run->method->flags & EQP_KEEPS) &&
           (eqp_policy_wants(renewal->policy) || app_feedback_wants(renewal->feedback) ||
            app_shares_want(renewal->shares));
}

double app_renewal_life(const app_renewal *renewal, int64_t left)
{
    const eqp_policy *policy = renewal->policy;
    const double most = fmax(1.0, (double)left);

    switch (policy->options.mode) {
    case EQP_POLICY_EVERY:
        return fmin(most, (double)policy->options.every);
    case EQP_POLICY_AUTO:
        return fmin(most, policy->has_map ? fmax((double)policy->steps, SHORT_LIFE) : FIRST_LIFE);
    case EQP_POLICY_NEVER:
        break;
    }
    return most;
}

eqp_policy_sample app_renewal_sample(const app_renewal *renewal, const app_step *step, double work_imbalance, bool kept)
{
    const app_run_settings *run = renewal->run;
    const bool promises = app_method_weighs(run->method) && run->schedule == NULL && !kept;

    return (eqp_policy_sample){.seconds_max = step->load_max,
                               .seconds_mean = step->load_mean,
                               .rebalanced = step->rebalanced,
                               .balance_seconds = step->balance_seconds,
                               .work_imbalance = renewal->feedback != NULL ? 0.0 : work_imbalance,
                               .promised = promises ? step->imbalance_promised : -1.0};
}
