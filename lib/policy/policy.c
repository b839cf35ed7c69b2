/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/policy.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A new map has helped if it left no more than this part of the work imbalance. */
#define HELPED 0.75
#define MOST_PATIENCE 64.0

int eqp_policy_options_parse(const char *text, eqp_policy_options *options)
{
    EQP_REQUIRE(text && options);
    char *end;
    long long every;

    if (strcmp(text, "auto") == 0) {
        options->mode = EQP_POLICY_AUTO;
        return EQP_OK;
    }
    if (strcmp(text, "never") == 0) {
        options->mode = EQP_POLICY_NEVER;
        return EQP_OK;
    }
    if (strcmp(text, "repair") == 0) {
        options->mode = EQP_POLICY_REPAIR;
        return EQP_OK;
    }
    /* strtoll would take blanks and signs. */
    if (text[0] < '0' || text[0] > '9') {
        return EQP_ERR_UNKNOWN;
    }
    errno = 0;
    every = strtoll(text, &end, 10);
    if (*end || errno || every < 1) {
        return EQP_ERR_UNKNOWN;
    }
    options->mode = EQP_POLICY_EVERY;
    options->every = every;
    return EQP_OK;
}

int eqp_policy_init(eqp_policy *policy, const eqp_policy_options *options)
{
    EQP_REQUIRE(policy && options);
    bool known = options->mode == EQP_POLICY_AUTO || options->mode == EQP_POLICY_NEVER ||
                 options->mode == EQP_POLICY_REPAIR || (options->mode == EQP_POLICY_EVERY && options->every >= 1);

    if (options->size != sizeof *options || !known || !(options->imbalance_tol >= 0.0) || options->settle < 1 ||
        !(options->jump >= 0.0)) {
        return EQP_ERR_ARGUMENT;
    }
    memset(policy, 0, sizeof *policy);
    policy->options = *options;
    policy->patience = 1.0;
    return EQP_OK;
}

/* A repair that nobody has tried is taken to cost so much of a new map. */
#define FIRST_REPAIR 0.25

static bool is_amount(double x)
{
    return isfinite(x) && x >= 0.0;
}

/* A new map: it helps if it leaves less of an imbalance that was not promised. */
static void take_promise(eqp_policy *policy, const eqp_policy_sample *sample)
{
    const double before = policy->work_imbalance, now = sample->work_imbalance;

    if (policy->has_map && before > fmax(policy->options.imbalance_tol, policy->promised)) {
        policy->patience = now > HELPED * before ? fmin(2.0 * policy->patience, MOST_PATIENCE) : 1.0;
    }
    policy->promised = sample->promised < 0.0 ? now : sample->promised;
    policy->broken = 0.0;
}

int eqp_policy_record(eqp_policy *policy, const eqp_policy_sample *sample)
{
    EQP_REQUIRE(policy && sample);
    double mean = sample->seconds_mean;

    if (!is_amount(sample->seconds_max) || !is_amount(mean) || !is_amount(sample->work_imbalance) ||
        (sample->rebalanced && (!is_amount(sample->balance_seconds) || !isfinite(sample->promised)))) {
        return EQP_ERR_DATA;
    }
    if (sample->rebalanced && sample->repaired) {
        policy->cured += policy->broken;
        policy->repair_seconds = sample->balance_seconds;
        take_promise(policy, sample);
    } else if (sample->rebalanced) {
        take_promise(policy, sample);
        policy->has_map = true;
        policy->balance_seconds = sample->balance_seconds;
        policy->steps = 0;
        policy->sum_max = 0.0;
        policy->sum_mean = 0.0;
        policy->cured = 0.0;
    }
    policy->repairable = sample->repairable;
    policy->imbalance = mean > 0.0 ? fmax(sample->seconds_max / mean - 1.0, 0.0) : 0.0;
    if (policy->steps == 0) {
        policy->reached = policy->imbalance;
    } else if (policy->steps < policy->options.settle) {
        policy->reached = fmin(policy->reached, policy->imbalance);
    }
    policy->steps += policy->steps < INT64_MAX;
    policy->sum_max += sample->seconds_max;
    policy->sum_mean += mean;
    policy->work_imbalance = sample->work_imbalance;
    policy->broken += fmax(sample->work_imbalance - policy->promised, 0.0) * mean;
    return EQP_OK;
}

double eqp_policy_loss(const eqp_policy *policy)
{
    if (!policy) {
        return 0.0;
    }
    return fmax(policy->sum_max - policy->sum_mean * (1.0 + policy->reached) - policy->cured, 0.0);
}

/* The counted work is farther from even than it need be. */
static bool is_uneven(const eqp_policy *policy)
{
    return policy->work_imbalance > fmax(policy->options.imbalance_tol, policy->promised);
}

/* What makes the counted work even again for less. */
static eqp_policy_action remedy_of(const eqp_policy *policy)
{
    return policy->repairable && policy->repair_seconds <= policy->balance_seconds ? EQP_REPAIR : EQP_RENEW;
}

static double remedy_seconds(const eqp_policy *policy)
{
    if (remedy_of(policy) == EQP_RENEW) {
        return policy->balance_seconds;
    }
    return policy->repair_seconds > 0.0 ? policy->repair_seconds : FIRST_REPAIR * policy->balance_seconds;
}

/* Another reason than seconds, whose noise hides much: the work that was counted is not divided as was promised. */
static bool broke_promise(const eqp_policy *policy)
{
    const double beyond = policy->work_imbalance - policy->promised;

    return is_uneven(policy) && (beyond > policy->patience * policy->options.jump ||
                                 policy->broken >= policy->patience * remedy_seconds(policy));
}

eqp_policy_action eqp_policy_advise(const eqp_policy *policy)
{
    if (!policy) {
        return EQP_KEEP;
    }
    const eqp_policy_options *o = &policy->options;

    if (!policy->has_map) {
        return policy->steps == 0 || o->mode != EQP_POLICY_NEVER ? EQP_RENEW : EQP_KEEP;
    }
    switch (o->mode) {
    case EQP_POLICY_EVERY:
        return policy->steps >= o->every ? EQP_RENEW : EQP_KEEP;
    case EQP_POLICY_AUTO:
        /* The last step has to be bad too: a hiccup that is over is no reason for a new map. */
        if (policy->imbalance > fmax(o->imbalance_tol, policy->reached) &&
            eqp_policy_loss(policy) >= policy->balance_seconds) {
            return EQP_RENEW;
        }
        return broke_promise(policy) ? remedy_of(policy) : EQP_KEEP;
    case EQP_POLICY_REPAIR:
        return !is_uneven(policy) ? EQP_KEEP : policy->repairable ? EQP_REPAIR : EQP_RENEW;
    case EQP_POLICY_NEVER:
        break;
    }
    return EQP_KEEP;
}

bool eqp_policy_wants(const eqp_policy *policy)
{
    return eqp_policy_advise(policy) != EQP_KEEP;
}

bool eqp_policy_may_want(const eqp_policy *policy)
{
    if (!policy) {
        return false;
    }
    const eqp_policy_options *o = &policy->options;

    if (o->mode == EQP_POLICY_EVERY) {
        return policy->has_map && policy->steps >= o->every - 1;
    }
    if (o->mode == EQP_POLICY_REPAIR) {
        return policy->has_map && 2.0 * policy->work_imbalance > o->imbalance_tol;
    }
    if (o->mode != EQP_POLICY_AUTO || !policy->has_map || policy->steps == 0) {
        return false;
    }
    const double mean = policy->sum_mean / (double)policy->steps;
    const double last = fmax(policy->imbalance - policy->reached, 0.0) * mean;
    const double lately = fmax(policy->work_imbalance - policy->promised, 0.0) * mean;
    return eqp_policy_loss(policy) + 2.0 * last >= 0.5 * policy->balance_seconds ||
           policy->broken + 2.0 * lately >= 0.5 * policy->patience * remedy_seconds(policy);
}

int eqp_policy_replay(const eqp_policy_options *options, int64_t n, const eqp_policy_sample *sample, bool *wants)
{
    eqp_policy fresh, policy;
    int code = eqp_policy_init(&fresh, options);

    EQP_REQUIRE(n >= 0 && (n == 0 || (sample && wants)));
    policy = fresh;
    for (int64_t i = 0; i < n && !code; i++) {
        code = eqp_policy_record(&policy, &sample[i]);
    }
    policy = fresh;
    for (int64_t i = 0; i < n && !code; i++) {
        wants[i] = eqp_policy_wants(&policy);
        (void)eqp_policy_record(&policy, &sample[i]);
    }
    return code;
}
