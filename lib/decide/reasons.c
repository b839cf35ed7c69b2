/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/reasons.h"

#include "base/internal.h"
#include "decide/lazy_state.h"

#include <equipoise/more/base.h>
#include <equipoise/more/lazy_model.h>

#include <math.h>
#include <stddef.h>

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

static bool is_amount(double x)
{
    return isfinite(x) && x >= 0.0;
}

static bool is_fit(const eqp_seconds_fit *fit)
{
    return is_amount(fit->fixed) && is_amount(fit->divided) && is_amount(fit->per_rank);
}

static double seconds_at(const eqp_seconds_fit *fit, double n)
{
    return n > 0.0 ? fit->fixed + fit->divided / n + fit->per_rank * n : 0.0;
}

/* Equations 5.2 and 5.3: f cancels. */
static int64_t counted_steps(const eqp_lazy_model *model)
{
    const double until = model->drift > 0.0 ? log1p(model->tolerance) / log1p(model->drift) : INFINITY;

    return until < (double)model->steps ? (until > 1.0 ? (int64_t)until : 1) : model->steps;
}

/* Zero times infinity is zero. */
static double product(double x, double y)
{
    return x == 0.0 || y == 0.0 ? 0.0 : x * y;
}

/* Whole steps until a map that takes these seconds arrives, at most t. */
static int64_t whole(double seconds, double step, int64_t t)
{
    const double u = seconds > 0.0 ? ceil(seconds / step) : 1.0;

    return u < (double)t ? (u > 1.0 ? (int64_t)u : 1) : t;
}

/* Mean step with a map over this many steps, relative to its first step. */
static double growth(double drift, int64_t steps)
{
    const double grown = drift > 0.0 ? expm1((double)steps * log1p(drift)) : 0.0;

    return grown == INFINITY ? INFINITY : drift > 0.0 ? grown / ((double)steps * drift) : 1.0;
}

/* One way of balancing: seconds of all steps, steps until the map arrives, steps between maps, ranks used. */
typedef struct option {
    double seconds;
    int balancers;
    int64_t late, every;
} option;

/* Seconds of t steps, f each if balanced, with a new map every `every` steps. */
static double with_maps(double drift, int64_t t, double f, double price, int64_t every)
{
    const double steps = (double)t;

    return product(product(steps, f), growth(drift, every)) + (steps / (double)every - 1.0) * price;
}

/* Best number of steps between maps, from `late` to t - 1. The total is convex in it, since longer steps and the
 * price of maps both are. */
static option at_best(const eqp_lazy_model *model, double f, double price, int m, int64_t late)
{
    const int64_t t = model->steps;
    int64_t low = late > 1 ? late : 1, high = t - 1;

    if (low > high) {
        return (option){INFINITY, 0, 0, 0};
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (with_maps(model->drift, t, f, price, middle) <= with_maps(model->drift, t, f, price, middle + 1)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return (option){with_maps(model->drift, t, f, price, low), m, late, low};
}

static double price_on(const eqp_lazy_model *model, int m, double ratio)
{
    return seconds_at(&model->map, m) + seconds_at(&model->talk, ratio);
}

/* n ranks compute while m ranks make a map. */
static option on_own_ranks(const eqp_lazy_model *model, int64_t t, int n, int m)
{
    const double f = seconds_at(&model->step, n), map = price_on(model, m, (double)n / m);

    if (model->as_printed) {
        return (option){(double)t * f + map, m, whole(map, model->imbalance * f, t), t};
    }
    const int64_t u = whole(map, (1.0 + model->imbalance) * f, t);
    const double age = model->mended ? 1.0 : exp((double)u * log1p(model->drift));
    return at_best(model, product(f, age), model->own, m, u);
}

static option waited_for(const eqp_lazy_model *model, int64_t t, int nranks, double price, int m)
{
    const double f = seconds_at(&model->step, nranks);

    return model->as_printed ? (option){product((double)t, f) + price, m, 0, t} : at_best(model, f, price, m, 0);
}

static void keep_cheaper(eqp_lazy_choice *choice, eqp_lazy_kind kind, option found)
{
    if (found.seconds < choice->seconds[kind]) {
        choice->seconds[kind] = found.seconds;
        choice->balancers[kind] = found.balancers;
        choice->late[kind] = found.late;
        choice->every[kind] = found.every;
    }
}

int eqp__lazy_choose(const eqp_lazy_model *model, int nranks, eqp_lazy_choice *choice)
{
    eqp_lazy_choice made = {.kind = EQP_LAZY_INLINE};

    EQP_REQUIRE(model && choice && nranks >= 1 && nranks <= EQP_LAZY_RANKS_MAX && model->steps >= 1);
    EQP__FAIL_IF(!is_fit(&model->step) || !is_fit(&model->map) || !is_fit(&model->talk) || !is_amount(model->own) ||
                     !is_amount(model->imbalance) || !is_amount(model->drift) || !is_amount(model->tolerance),
                 EQP_ERR_DATA);
    const int64_t t = model->as_printed ? counted_steps(model) : model->steps;
    made.steps = t;
    for (int k = 0; k < EQP_LAZY_KINDS; k++) {
        made.seconds[k] = INFINITY;
    }
    if (!model->as_printed) {
        const double f = seconds_at(&model->step, nranks);
        keep_cheaper(&made, EQP_LAZY_INLINE, (option){with_maps(model->drift, t, f, 0.0, t), nranks, 0, t});
    }
    keep_cheaper(&made, EQP_LAZY_INLINE, waited_for(model, t, nranks, seconds_at(&model->map, nranks), nranks));
    for (int m = 1; m <= nranks; m++) {
        keep_cheaper(&made, EQP_LAZY_DECOUPLED,
                     waited_for(model, t, nranks, price_on(model, m, (double)nranks / m), m));
        if (m < nranks) {
            keep_cheaper(&made, EQP_LAZY_BESIDE, on_own_ranks(model, t, nranks - m, m));
        }
    }
    if (model->spare) {
        keep_cheaper(&made, EQP_LAZY_THREAD, on_own_ranks(model, t, nranks, 1));
    }
    for (int k = 0; k < EQP_LAZY_KINDS; k++) {
        if (made.seconds[k] < made.seconds[made.kind]) {
            made.kind = (eqp_lazy_kind)k;
        }
    }
    *choice = made;
    return EQP_OK;
}
