/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/reasons.h"

#include <equipoise/more/base.h>

#include <math.h>

/* Expected life of the first map, and least expected life of any, in steps. */
#define FIRST_LIFE 50.0
#define SHORT_LIFE 5.0

/* A rank is near its capacity, and nearer than at the last check by this much. */
#define NEAR_CAPACITY 0.95
#define NEARER 0.01

eqp_policy_action eqp__reasons_action(const eqp__reasons *r, const eqp_policy *policy)
{
    if (r->keeps) {
        return EQP_KEEP;
    }
    if (r->feedback || r->speeds || r->calibration || r->overheads || r->memory) {
        return policy->options.mode == EQP_POLICY_REPAIR && r->has_map && r->repairable ? EQP_REPAIR : EQP_RENEW;
    }
    return r->automatic ? EQP_RENEW : eqp__policy_advise(policy);
}

void eqp__reasons_tell(const eqp__reasons *r, const eqp_policy *p, eqp_message *why)
{
    if (!r->has_map) {
        eqp_message_set(why, "the first map");
    } else if (r->asked) {
        eqp_message_set(why, "a new map was asked for");
    } else if (r->feedback) {
        eqp_message_set(why, "the next step of feedback");
    } else if (r->speeds) {
        eqp_message_set(why, "the ranks' speeds are no longer those of the present map");
    } else if (r->overheads) {
        eqp_message_set(why, "what ranks do besides their work makes the steps uneven");
    } else if (r->memory) {
        eqp_message_set(why, "a rank needs %.0f%% of its memory", 100.0 * r->memory_use);
    } else if (p->options.mode == EQP_POLICY_EVERY) {
        eqp_message_set(why, "%lld steps after the last map", (long long)p->steps);
    } else {
        eqp_message_set(why, "after %lld steps with this map the last one was uneven by %.1f%%, its work by %.1f%%",
                        (long long)p->since, 100.0 * p->imbalance, 100.0 * p->work_imbalance);
    }
}

bool eqp__memory_wants(double use, double made)
{
    return use > fmax(NEAR_CAPACITY, made + NEARER) || use > fmax(1.0, made);
}

eqp_lives eqp__expected_lives(const eqp_policy *policy, int64_t left)
{
    const eqp_policy_mode mode = policy->options.mode;
    const bool by_loss = mode == EQP_POLICY_AUTO || mode == EQP_POLICY_GAIN;
    const double most = fmax(1.0, (double)left);
    double usual = most;

    if (mode == EQP_POLICY_EVERY) {
        usual = fmin(most, (double)policy->options.every);
    } else if (by_loss) {
        usual = fmin(most, policy->has_map ? fmax((double)policy->steps, SHORT_LIFE) : FIRST_LIFE);
    }
    return (eqp_lives){.usual = usual, .most = most, .by_loss = by_loss};
}

bool eqp__every_step(const eqp_policy *policy)
{
    return policy->options.mode == EQP_POLICY_EVERY && policy->options.every == 1;
}
