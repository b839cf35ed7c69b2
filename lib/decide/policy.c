/* SPDX-License-Identifier: BSD-3-Clause */

#include "decide/policy.h"

#include "base/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A new map has helped if it leaves at most this fraction of the work imbalance. */
#define HELPED 0.75
#define MOST_PATIENCE 64.0

int eqp_policy_options_parse(const char *text, eqp_policy_options *options)
{
    static const struct {
        const char *text;
        eqp_policy_mode mode;
    } words[] = {{"auto", EQP_POLICY_AUTO},
                 {"never", EQP_POLICY_NEVER},
                 {"repair", EQP_POLICY_REPAIR},
                 {"gain", EQP_POLICY_GAIN}};
    EQP_REQUIRE(text && options);
    char *end;
    long long every;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i].text) == 0) {
            options->mode = words[i].mode;
            return EQP_OK;
        }
    }
    /* strtoll would accept blanks and signs */
    EQP__FAIL_IF(text[0] < '0' || text[0] > '9', EQP_ERR_UNKNOWN);
    errno = 0;
    every = strtoll(text, &end, 10);
    EQP__FAIL_IF(*end || errno || every < 1, EQP_ERR_UNKNOWN);
    options->mode = EQP_POLICY_EVERY;
    options->every = every;
    return EQP_OK;
}

int eqp__policy_init(eqp_policy *policy, const eqp_policy_options *options)
{
    bool known = options->mode == EQP_POLICY_AUTO || options->mode == EQP_POLICY_NEVER ||
                 options->mode == EQP_POLICY_REPAIR || options->mode == EQP_POLICY_GAIN ||
                 (options->mode == EQP_POLICY_EVERY && options->every >= 1);

    EQP__FAIL_IF(options->size != sizeof *options || !known || !(options->imbalance_tol >= 0.0) ||
                     options->settle < 1 || !(options->jump >= 0.0) || !(options->false_alarms > 0.0) ||
                     options->false_alarms > 1.0,
                 EQP_ERR_ARGUMENT);
    memset(policy, 0, sizeof *policy);
    policy->options = *options;
    policy->patience = 1.0;
    policy->left = INT64_MAX;
    return EQP_OK;
}

int eqp__policy_expect(eqp_policy *policy, int64_t left)
{
    EQP_REQUIRE(policy && left >= 0);
    policy->left = left;
    return EQP_OK;
}

/* Assumed cost of a repair before the first one, as a fraction of a new map. */
#define FIRST_REPAIR 0.25

bool eqp__policy_can_be(const eqp_policy *p)
{
    const eqp_policy_noise *n = &p->noise;
    const double amount[] = {
        p->balance_seconds, p->repair_seconds, p->reached,    p->imbalance,      p->sum_mean,     p->work_imbalance,
        p->promised,        p->broken,         p->cured,      p->patience - 1.0, p->before,       p->map_promised,
        p->repair_promised, p->repair_reached, p->lost,       n->spread,         n->mean,         n->hidden,
        n->sum_mean,        n->rise_weight,    n->calm_steps, n->fresh_maps,     n->fresh_square, n->fit_ages};
    const double number[] = {n->last, n->former, n->now,   n->sum_beyond, n->cured,
                             n->fit,  n->rise,   n->block, n->calm,       n->fresh};
    bool can_be = p->steps >= 0 && p->since >= 0 && p->since <= p->steps && p->left >= 0;

    for (size_t i = 0; i < sizeof amount / sizeof amount[0]; i++) {
        can_be = can_be && eqp__is_amount(amount[i]);
    }
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        can_be = can_be && isfinite(number[i]);
    }
    for (int i = 0; i < EQP_POLICY_CHANGES; i++) {
        can_be = can_be && eqp__is_amount(n->change[i]);
    }
    return can_be;
}

/* Cost of a remedy in seconds, and the imbalance of work and of seconds that it leaves. */
typedef struct remedy {
    double cost, promised, reached;
} remedy;

/* Number of steps of the present map that show its fresh imbalance. */
static int64_t settled(const eqp_policy *p)
{
    return p->steps < p->options.settle ? p->steps : p->options.settle;
}

static eqp_level fresh_level(const eqp_policy *p)
{
    return eqp__noise_mark(&p->noise, p->reached, settled(p));
}

static remedy new_map(const eqp_policy *p)
{
    return (remedy){p->balance_seconds, p->map_promised, fresh_level(p).mean};
}

/* Before the first repair, it is assumed to leave the tolerated imbalance of work. Of the rest of a step, mostly
 * exchange, it leaves more than a new map, because moved items end up away from their neighbours. */
static remedy repair(const eqp_policy *p)
{
    const double tol = p->options.imbalance_tol, reached = fresh_level(p).mean * (1.0 + p->work_imbalance);

    if (p->repair_seconds > 0.0) {
        return (remedy){p->repair_seconds, p->repair_promised, p->repair_reached};
    }
    return (remedy){FIRST_REPAIR * p->balance_seconds, fmax(tol, p->map_promised), fmax(tol, reached)};
}

static remedy last_remedy(const eqp_policy *p)
{
    return p->since < p->steps ? repair(p) : new_map(p);
}

/* Excess of the last step's imbalance over that after a remedy: of counted work, or of the seconds of two
 * consecutive steps, since one may be a hiccup. */
static double beyond(const eqp_policy *p, const remedy *of)
{
    return fmax(p->work_imbalance - of->promised, fmin(p->imbalance, p->before) - of->reached);
}

/* Records if the new map has helped: it must leave less of the imbalance beyond the promise. */
static void take_promise(eqp_policy *policy, const eqp_policy_sample *sample)
{
    const double before = policy->work_imbalance, now = sample->work_imbalance;

    if (policy->has_map && before > fmax(policy->options.imbalance_tol, policy->promised)) {
        policy->patience = now > HELPED * before ? fmin(2.0 * policy->patience, MOST_PATIENCE) : 1.0;
    }
    policy->promised = sample->promised < 0.0 ? now : sample->promised;
    policy->broken = 0.0;
}

int eqp__policy_record(eqp_policy *policy, const eqp_policy_sample *sample)
{
    const double mean = sample->seconds_mean;

    EQP__FAIL_IF(!eqp__is_amount(sample->seconds_max) || !eqp__is_amount(mean) ||
                     !eqp__is_amount(sample->work_imbalance) || !eqp__is_amount(sample->hidden) ||
                     (sample->rebalanced && (!eqp__is_amount(sample->balance_seconds) || !isfinite(sample->promised))),
                 EQP_ERR_DATA);
    if (sample->rebalanced) {
        policy->since = 0;
        policy->lost = 0.0;
    }
    if (sample->rebalanced && sample->repaired) {
        eqp__noise_mend(&policy->noise);
        policy->cured += policy->broken;
        policy->repair_seconds = sample->balance_seconds;
        take_promise(policy, sample);
        policy->repair_promised = policy->promised;
    } else if (sample->rebalanced) {
        take_promise(policy, sample);
        eqp__noise_renew(&policy->noise, policy->reached, policy->has_map ? settled(policy) : 0);
        policy->has_map = true;
        policy->balance_seconds = sample->balance_seconds;
        policy->map_promised = policy->promised;
        policy->steps = 0;
        policy->sum_mean = 0.0;
        policy->cured = 0.0;
    }
    policy->repairable = sample->repairable;
    policy->before = policy->since > 0 ? policy->imbalance : 0.0;
    policy->imbalance = mean > 0.0 ? fmax(sample->seconds_max / mean - 1.0, 0.0) : 0.0;
    if (policy->steps == 0) {
        policy->reached = policy->imbalance;
    } else if (policy->steps < policy->options.settle) {
        policy->reached = fmin(policy->reached, policy->imbalance);
    }
    if (policy->steps > policy->since && policy->since < policy->options.settle) { /* the repair is recent */
        policy->repair_reached =
            policy->since == 0 ? policy->imbalance : fmin(policy->repair_reached, policy->imbalance);
    }
    const remedy last = last_remedy(policy);
    policy->lost += fmax(beyond(policy, &last), 0.0) * mean;
    policy->steps += policy->steps < INT64_MAX;
    const eqp_level mark = fresh_level(policy);
    policy->noise.hidden = sample->hidden;
    eqp__noise_record(&policy->noise, policy->imbalance, mean, &mark, policy->cured);
    policy->since += policy->since < INT64_MAX;
    policy->left -= policy->left > 0 && policy->left < INT64_MAX;
    policy->sum_mean += mean;
    policy->work_imbalance = sample->work_imbalance;
    policy->broken += fmax(sample->work_imbalance - policy->promised, 0.0) * mean;
    return EQP_OK;
}

/* Measured seconds lost to the ageing of the map: sum of max - mean (1 + fresh) over its steps since the sum was
 * last negative, minus the part that repairs have cured. fresh: imbalance of the fresh map, corrected for noise.
 * Never negative. */
static double measured_loss(const eqp_policy *policy)
{
    const eqp_level mark = fresh_level(policy);

    return eqp__noise_loss(&policy->noise, &mark, policy->cured);
}

static bool is_uneven(const eqp_policy *policy)
{
    return policy->work_imbalance > fmax(policy->options.imbalance_tol, policy->promised);
}

/* The cheaper remedy for uneven counted work. Longer steps after a repair are counted over the steps since the last
 * remedy, or the steps left. */
static eqp_policy_action remedy_of(const eqp_policy *p)
{
    const remedy map = new_map(p), few = repair(p);
    const double mean = p->sum_mean / (double)p->steps, steps = (double)(p->left < p->since ? p->left : p->since);
    const double longer = fmax(few.reached - fmax(map.reached, p->options.imbalance_tol), 0.0);

    return p->repairable && few.cost + longer * mean * steps <= map.cost ? EQP_REPAIR : EQP_RENEW;
}

static remedy remedy_for(const eqp_policy *policy)
{
    return remedy_of(policy) == EQP_REPAIR ? repair(policy) : new_map(policy);
}

/* A last map is best made in the middle of the remaining steps. If a map's loss per step grows linearly, that saves
 * half of the loss; two more maps would save another sixth. */
static bool is_in_the_middle(const eqp_policy *p, int64_t steps, double lost, double cost)
{
    const double twice = p->left == INT64_MAX ? 0.0 : 1.0 + (double)p->left / (double)steps;
    const double whole = lost * twice * twice;

    return p->left <= steps && whole / 2.0 > cost && whole / 6.0 <= cost;
}

static bool is_paid(const eqp_policy *p, int64_t steps, double lost, double cost)
{
    return lost >= cost || is_in_the_middle(p, steps, lost, cost);
}

static bool pays_until_the_end(const eqp_policy *p, const remedy *of)
{
    const double mean = p->sum_mean / (double)p->steps;

    return p->left == INT64_MAX || beyond(p, of) * mean * (double)p->left >= of->cost;
}

/* True if counted work is less even than promised: a reason for a map where noise hides losses of seconds. */
static bool broke_promise(const eqp_policy *policy)
{
    const remedy of = remedy_for(policy);
    const double jump = policy->patience * policy->options.jump;

    return is_uneven(policy) && (policy->work_imbalance - policy->promised > jump ||
                                 (is_paid(policy, policy->since, policy->broken, policy->patience * of.cost) &&
                                  pays_until_the_end(policy, &of)));
}

/* Loss from ageing; -1 if noise alone would produce it more often than --false-alarms allows. The evidence is the loss
 * itself, the ageing of this map and of earlier ones, and a rank whose work is hidden. */
static double sure_loss(const eqp_policy *p)
{
    const eqp_level mark = fresh_level(p);
    const double lost = measured_loss(p), rate = eqp__noise_rate(p->options.false_alarms);
    const double age = (double)p->noise.age, hidden = p->noise.hidden * p->noise.mean * age * (age - 1.0) / 2.0;
    double sure = -1.0;

    if (eqp__noise_rises(&p->noise, rate)) {
        sure = eqp__noise_expected(&p->noise, &mark, lost);
    } else if (eqp__noise_sure(&p->noise, &mark, lost, rate)) {
        sure = lost;
    }
    /* zero if the measured step is right, full if that is clock noise: half */
    return hidden > 0.0 ? fmax(sure, (fmax(sure, 0.0) + hidden) / 2.0) : sure;
}

/* Mean seconds of the next steps with a remedy. A new map ages like the present one, unless the run ends first. */
static double with_remedy(const eqp_policy *p, const remedy *of, double mean, double now)
{
    const double aged = p->left < p->since ? 0.0 : p->lost / (double)p->since;

    return fmax(now - mean * beyond(p, of) + aged, 0.0);
}

/* Equations 3.1 to 3.7 over as many steps as the present map has lasted, or as are left. Costs include moving the
 * items. more: factor on the imbalance. */
static eqp_policy_action by_gain(const eqp_policy *policy, double more)
{
    eqp_policy p = *policy;

    p.work_imbalance *= more;
    p.imbalance *= more;
    p.before *= more;
    if (more <= 1.0 && sure_loss(policy) < 0.0) { /* only counted work counts */
        p.imbalance = fmin(p.imbalance, fresh_level(policy).mean);
    }
    const double uneven = fmax(p.work_imbalance, fmin(p.imbalance, p.before));
    const remedy map = new_map(&p), few = repair(&p);
    const double mean = p.sum_mean / (double)p.steps, now = mean * (1.0 + uneven);
    const double steps = (double)(p.left < p.since ? p.left : p.since), repaired = with_remedy(&p, &few, mean, now);
    const double unchanged = steps * now, by_map = map.cost + steps * with_remedy(&p, &map, mean, now);
    const double by_repair = few.cost + repaired + (steps - 1.0) * repaired;
    const bool repairs = p.repairable && steps > 0.0 && by_repair < unchanged;

    if (uneven <= p.options.imbalance_tol) {
        return EQP_KEEP;
    }
    return by_map < (repairs ? by_repair : unchanged) ? EQP_RENEW : repairs ? EQP_REPAIR : EQP_KEEP;
}

static eqp_policy_action by_loss(const eqp_policy *policy)
{
    const remedy map = new_map(policy);
    const double lost = sure_loss(policy);

    /* the last step has to be bad too: a past hiccup is no reason for a map */
    if (policy->noise.now > fmax(policy->options.imbalance_tol, map.reached) &&
        is_paid(policy, policy->steps, lost, map.cost) && pays_until_the_end(policy, &map)) {
        return EQP_RENEW;
    }
    return broke_promise(policy) ? remedy_of(policy) : EQP_KEEP;
}

eqp_policy_action eqp__policy_advise(const eqp_policy *policy)
{
    const eqp_policy_options *o = &policy->options;

    if (!policy->has_map) {
        return policy->steps == 0 || o->mode != EQP_POLICY_NEVER ? EQP_RENEW : EQP_KEEP;
    }
    switch (o->mode) {
    case EQP_POLICY_EVERY:
        return policy->steps >= o->every ? EQP_RENEW : EQP_KEEP;
    case EQP_POLICY_AUTO:
        return by_loss(policy);
    case EQP_POLICY_REPAIR:
        return !is_uneven(policy) ? EQP_KEEP : policy->repairable ? EQP_REPAIR : EQP_RENEW;
    case EQP_POLICY_GAIN:
        return by_gain(policy, 1.0);
    case EQP_POLICY_NEVER:
        break;
    }
    return EQP_KEEP;
}

bool eqp__policy_may_want(const eqp_policy *policy)
{
    const eqp_policy_options *o = &policy->options;

    if (o->mode == EQP_POLICY_EVERY) {
        return policy->has_map && policy->steps >= o->every - 1;
    }
    if (o->mode == EQP_POLICY_REPAIR) {
        return policy->has_map && 2.0 * policy->work_imbalance > o->imbalance_tol;
    }
    if (o->mode == EQP_POLICY_GAIN) {
        return policy->has_map && by_gain(policy, 2.0) != EQP_KEEP;
    }
    if (o->mode != EQP_POLICY_AUTO || !policy->has_map || policy->steps == 0) {
        return false;
    }
    const double mean = policy->sum_mean / (double)policy->steps;
    const double last = fmax(policy->imbalance - policy->reached, 0.0) * mean;
    const double lately = fmax(policy->work_imbalance - policy->promised, 0.0) * mean;
    return measured_loss(policy) + 2.0 * last >= 0.5 * policy->balance_seconds ||
           policy->broken + 2.0 * lately >= 0.5 * policy->patience * remedy_for(policy).cost;
}
