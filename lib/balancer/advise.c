/* SPDX-License-Identifier: BSD-3-Clause */
#include "balancer/balancer.h"
#include "late/late.h"

#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

bool eqp_balancer_knows_costs(const eqp_balancer *balancer)
{
    return balancer != NULL && balancer->costs.known;
}

const eqp_cost_fit *eqp_balancer_costs(const eqp_balancer *balancer)
{
    return balancer != NULL ? &balancer->costs.fit : NULL;
}

const eqp_map *eqp_balancer_map(const eqp_balancer *balancer)
{
    return balancer != NULL ? balancer->map : NULL;
}

const eqp_exchange_plan *eqp_balancer_plan(const eqp_balancer *balancer)
{
    return balancer != NULL ? &balancer->plan : NULL;
}

const double *eqp_balancer_speeds(const eqp_balancer *balancer)
{
    return balancer != NULL ? eqp__rank_shares_speeds(balancer->shares).of : NULL;
}

int eqp_balancer_learn(eqp_balancer *balancer, const eqp_timings *timings)
{
    EQP__FAIL_IF(balancer == NULL, EQP_ERR_ARGUMENT);
    eqp_timings_clear(balancer->own);
    return eqp__costs_learn(&balancer->costs, balancer->comm, timings != NULL ? timings : balancer->own,
                            &balancer->now.correlation);
}

/* Expected life of the first map, and least expected life of any, in steps. */
#define FIRST_LIFE 50.0
#define SHORT_LIFE 5.0

/* A rank is near its capacity, and nearer than at the last check by this much. */
#define NEAR_CAPACITY 0.95
#define NEARER 0.01

/* Expected life of a map made now: that of the last map (50 steps for the first), within 1 and the steps left. */
static eqp_lives expected_lives(const eqp_policy *policy, int64_t left)
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

/* True if `auto` should look for a better method. The same on all ranks, since all know the steps left. */
static bool auto_wants(const eqp_balancer *b)
{
    const eqp_lives lives = expected_lives(&b->policy, b->policy.left);

    return b->options.method.method == &eqp__method_auto && b->run.has_map && lives.by_loss &&
           b->options.lazy == NULL && !eqp__makes_again(b, &lives);
}

/* True if a map made for the ranks' overhead is worth its cost. */
static bool overheads_want(const eqp_balancer *b)
{
    const eqp_policy_mode mode = b->policy.options.mode;

    return b->run.has_map && (mode == EQP_POLICY_AUTO || mode == EQP_POLICY_GAIN) &&
           eqp__method_weighs(b->options.method.method) &&
           eqp__calibration_pays(&b->calibration, b->policy.left, b->policy.balance_seconds);
}

/* True if a rank is near its capacity, and nearer than when the map was made. */
static bool memory_wants(const eqp_balancer *b)
{
    const double use = b->now.memory_use, made = b->run.memory_made; /* largest used fraction of a capacity */

    return b->run.has_map && (use > fmax(NEAR_CAPACITY, made + NEARER) || use > fmax(1.0, made));
}

static eqp_policy_action action_for(const eqp_balancer *b)
{
    if (b->options.method.method->flags & EQP_KEEPS) {
        return EQP_KEEP;
    }
    if (eqp__feedback_steps_wants(b->feedback) || eqp__rank_shares_want(b->shares) ||
        eqp__calibration_wants(&b->calibration) || overheads_want(b) || memory_wants(b)) {
        return b->policy.options.mode == EQP_POLICY_REPAIR && b->run.has_map && eqp__can_repair(b) ? EQP_REPAIR
                                                                                                   : EQP_RENEW;
    }
    return auto_wants(b) ? EQP_RENEW : eqp__policy_advise(&b->policy);
}

/* Stores the first reason for a map as text; used if making the map gives no better one. */
static void tell_reason(const eqp_balancer *b, bool asked, eqp_message *why)
{
    const eqp_policy *p = &b->policy;

    if (!b->run.has_map) {
        eqp_message_set(why, "the first map");
    } else if (asked) {
        eqp_message_set(why, "a new map was asked for");
    } else if (eqp__feedback_steps_wants(b->feedback)) {
        eqp_message_set(why, "the next step of feedback");
    } else if (eqp__rank_shares_want(b->shares)) {
        eqp_message_set(why, "the ranks' speeds are no longer those of the present map");
    } else if (overheads_want(b)) {
        eqp_message_set(why, "what ranks do besides their work makes the steps uneven");
    } else if (memory_wants(b)) {
        eqp_message_set(why, "a rank needs %.0f%% of its memory", 100.0 * b->now.memory_use);
    } else if (p->options.mode == EQP_POLICY_EVERY) {
        eqp_message_set(why, "%lld steps after the last map", (long long)p->steps);
    } else {
        eqp_message_set(why, "after %lld steps with this map the last one was uneven by %.1f%%, its work by %.1f%%",
                        (long long)p->since, 100.0 * p->imbalance, 100.0 * p->work_imbalance);
    }
}

/* The policy's action before the next step, and the late-map call that is due. */
static eqp__late_due next_call(const eqp_balancer *b, eqp_policy_action *action)
{
    *action = action_for(b);
    return eqp__late_is_due(b, action);
}

bool eqp_balancer_due(const eqp_balancer *balancer)
{
    eqp_policy_action action;

    return balancer != NULL && (next_call(balancer, &action) != EQP__LATE_NOTHING || action != EQP_KEEP);
}

eqp_part_memory eqp__memory_with(const eqp_balancer *b, const eqp_capacities *capacities)
{
    return (eqp_part_memory){.known = b->bounds.known,
                             .model = b->bounds.model,
                             .n = capacities->n,
                             .bytes = capacities->bytes,
                             .of_mean = capacities->of_mean};
}

eqp_map_options eqp__balancer_map_options(const eqp_balancer *b, const eqp_choice *choice)
{
    const eqp_balancer_options *o = &b->options;
    const eqp_map_options run = {.nparts = b->nparts,
                                 .imbalance_tol = o->fresh_tol > 0 ? o->fresh_tol : o->imbalance_tol,
                                 .assign_tol = o->assign_tol,
                                 .seed = o->seed,
                                 .memory = b->bounds,
                                 .branch = b->problem.branch};

    return eqp__map_options_with(&run, choice);
}

static eqp_map_options run_options(const eqp_balancer *b)
{
    return eqp__balancer_map_options(b, &b->options.method);
}

/* Options of the next map: the last winner's if `auto` may not run trials. */
static eqp_map_options next_options(const eqp_balancer *b)
{
    const eqp_lives lives = expected_lives(&b->policy, b->policy.left);
    const eqp_map_options run = run_options(b);
    eqp_choice choice;

    return b->run.has_map && eqp__makes_again(b, &lives) &&
                   eqp__auto_last(&b->memory, b->problem.own, &run.how, &choice, NULL) == EQP_OK
               ? eqp__map_options_with(&run, &choice)
               : run;
}

/* Local part of eqp__ask_cycle(). */
static int ask_cycle(eqp_balancer *b)
{
    eqp_cycle_turns phases = {1, {1.0}};
    int code = b->problem.cycle != NULL ? b->problem.cycle(b->problem.user, &phases) : EQP_OK;

    code = code == EQP_OK && eqp__phases_check(phases.n, phases.times) ? EQP_ERR_DATA : code;
    b->model.phases = code == EQP_OK && phases.n > 1 ? phases : (eqp_cycle_turns){.n = 0};
    b->memory.offers = eqp__auto_offers(&b->problem, b->model.phases.n);
    return code;
}

int eqp__ask_cycle(eqp_balancer *b)
{
    if (b->problem.cycle == NULL) { /* the same on all ranks */
        return EQP_OK;
    }
    const int code = ask_cycle(b);
    const eqp_cycle_turns *phases = &b->model.phases;
    return eqp__agree_alike(b->comm, code, eqp_fingerprint(phases->n, phases->n, phases->times));
}

/* A survey costs time, so it is taken only if a map may be due next. */
eqp_survey *eqp_balancer_survey(eqp_balancer *balancer)
{
    eqp_balancer *const b = balancer;

    if (b == NULL) {
        return NULL;
    }
    const eqp_map_options options = next_options(b);
    const bool ready = !(options.method->flags & EQP_NEEDS_UNITS) || b->totals.interactions > 0;
    const eqp_policy_options *policy = &b->policy.options;
    const bool every_step = policy->mode == EQP_POLICY_EVERY && policy->every == 1;
    const bool due = eqp__policy_may_want(&b->policy) && (b->run.action == EQP_KEEP || every_step);
    const eqp_lives lives = expected_lives(&b->policy, b->policy.left);
    const bool weighs = eqp__method_weighs(options.method) && !eqp__tries(b, &options, &lives) && b->feedback == NULL;

    eqp_survey_detail detail = eqp__map_options_detail(&options, b->nranks, &b->totals);
    const bool late = eqp__late_surveys(b, &options, &detail);

    b->surveys = true;
    b->surveyed = false;
    b->surveying = ((ready && weighs && due) || late) &&
                   !b->options.handed_out; /* a rank does not see the work that it hands out */
    if (!b->surveying) {
        eqp__balancer_forget(b, &b->survey);
        return NULL;
    }
    if (ask_cycle(b) != EQP_OK) { /* all ranks learn of it when a map is made */
        b->surveying = false;
        return NULL;
    }
    detail.cost = eqp__work_model_measured(&b->model, &b->costs).nominal;
    eqp__survey_clear(&b->survey, &b->model, &detail);
    return &b->survey;
}

static void take(eqp_balancer *b, eqp_policy_action action, int64_t nhome, eqp_new_map *found, eqp_advice *advice)
{
    advice->action = action;
    advice->changed = found->map != NULL;
    b->run.action = action;
    b->run.kept = found->map == NULL;
    free(b->placement);
    b->placement = found->placement;
    advice->placement = found->placement;
    advice->nplacements = found->placement != NULL ? nhome : 0;
    found->placement = NULL;
    if (found->map != NULL) {
        eqp_map_free(b->map);
        b->map = found->map;
        found->map = NULL;
    }
}

/* Scales weights by the ranks' measured overhead. */
static void calibrate(eqp_balancer *b, eqp_map_options *options)
{
    options->factor = eqp__calibration_take(&b->calibration);
    b->now.calibration = 0.0;
    for (int r = 0; r < b->nranks && options->factor != NULL; r++) {
        b->now.calibration = fmax(b->now.calibration, fabs(options->factor[r] - 1.0));
    }
    if (b->calibration.now.active) {
        snprintf(b->now.why, sizeof b->now.why, "measured loads are not as predicted: weights change by up to %.0f%%",
                 100.0 * b->now.calibration);
    }
}

/* Loads of the ranks: measured, or counted if measured loads do not describe the work; 0 before the first step. */
static int measured_loads(const eqp_balancer *b, double **loads)
{
    const bool tell = eqp__rows_tell(b->nranks, b->row, b->options.fixed_costs);
    const int code = eqp_array_create(loads, b->nranks, sizeof **loads);

    for (int r = 0; r < b->nranks && code == EQP_OK; r++) {
        (*loads)[r] = tell ? b->row[r].load : b->row[r].work;
    }
    return code;
}

/* Agrees on the arguments. Drops a survey that only some ranks asked for. */
static int agree_on_call(eqp_balancer *b, const eqp_advice *advice, int64_t left)
{
    const int64_t alike[] = {left, b->surveyed};
    const int code =
        eqp__agree_alike(b->comm, advice == NULL ? EQP_ERR_ARGUMENT : EQP_OK, eqp_fingerprint(0, 2, alike));

    b->surveyed = b->surveyed && code == EQP_OK;
    return code;
}

static void describe(eqp_balancer *b, eqp_policy_action action, const eqp_new_map *found)
{
    b->now.imbalance_promised = found->made.result.imbalance;
    b->now.units = found->made.units;
    b->now.split_owners = found->made.split_owners;
    if (action == EQP_RENEW) {
        b->now.unit_sizes = found->made.sizes;
    }
}

/* Repairs the map if requested and if that reaches the tolerance; otherwise makes a new one, or keeps the present
 * one where maps are made late. */
static int make(eqp_balancer *b, eqp_policy_action *wanted, eqp_names *home, eqp_map_options *options,
                const eqp_lives *lives, eqp_new_map *found, eqp_advice *advice, eqp_message *message)
{
    if (b->bounds.known && eqp__memory_is_capped(&b->bounds)) { /* the map is evaluated before use */
        *wanted = *wanted == EQP_REPAIR ? EQP_RENEW : *wanted;
    }
    if (*wanted == EQP_REPAIR) {
        EQP_CHECK(eqp__repair(b, home, options, found, &advice->bytes, message));
        b->run.repaired += found->map != NULL;
        eqp_policy_action instead = EQP_RENEW;
        (void)eqp__late_is_due(b, &instead);
        *wanted = found->map != NULL ? EQP_REPAIR : instead == EQP_RENEW ? EQP_RENEW : EQP_KEEP;
    }
    if (*wanted == EQP_RENEW) {
        EQP_CHECK(eqp__make_new(b, home, options, lives, found, &advice->bytes, message));
        b->run.repaired = 0;
        if (b->options.lazy != NULL && b->run.late > 0 && b->now.why[0] == '\0') {
            snprintf(b->now.why, sizeof b->now.why, "in line, as the last one came %lld steps late",
                     (long long)b->run.late);
        }
    }
    return EQP_OK;
}

/* Sets up the making of a map. measured: [ranks] loads, owned by the caller. */
static int prepare(eqp_balancer *b, bool factors, const eqp_lives *lives, eqp_map_options *options, double **measured)
{
    int code;

    code = eqp__rank_shares_renew(b->shares);
    code = code == EQP_OK ? measured_loads(b, measured) : code;
    EQP_TRY(eqp_agree(b->comm, code, NULL));
    options->part_load = b->options.handed_out ? NULL : *measured; /* loads do not describe the map */
    options->speeds = eqp__rank_shares_speeds(b->shares);
    eqp__feedback_steps_prepare(b->feedback, options);
    if (factors && !eqp__tries(b, options, lives) && eqp__method_weighs(options->method)) {
        calibrate(b, options);
    }
done:
    return code;
}

/* Makes a map or takes a late one. wanted, due: the same on all ranks. asked: the caller wants a new map. */
static int find_map(eqp_balancer *b, eqp_policy_action wanted, bool asked, eqp__late_due due, int64_t left,
                    eqp_advice *advice, eqp_message *message)
{
    const double begin = eqp_cpu_seconds();
    eqp_message reason = {""};
    eqp_message own = {""};
    eqp_names home = {.n = 0};
    eqp_new_map found = {.map = NULL};
    double *measured = NULL;
    int code;

    tell_reason(b, asked, &reason);
    message = message != NULL ? message : &own;
    eqp_map_options options = run_options(b);
    const eqp_lives lives = expected_lives(&b->policy, left);
    EQP_TRY(agree_on_call(b, advice, left));
    *advice = (eqp_advice){.action = EQP_KEEP};
    b->now.why[0] = '\0';
    EQP_TRY(eqp__ask_cycle(b));
    EQP_TRY(prepare(b, due == EQP__LATE_NOTHING, &lives, &options, &measured));
    if (due != EQP__LATE_OFFER) {
        EQP_TRY(eqp__take_names(b, &home));
    }
    if (due != EQP__LATE_NOTHING) {
        EQP_TRY(eqp__late_act(b, due, &options, lives.usual, &home, &found, &advice->bytes, message));
        wanted = found.map != NULL ? EQP_RENEW : EQP_KEEP;
    } else {
        EQP_TRY(make(b, &wanted, &home, &options, &lives, &found, advice, message));
    }
    if (wanted == EQP_RENEW) {
        b->born = due == EQP__LATE_TAKE ? b->offered : b->run.clock;
    }
    if (found.map != NULL) { /* the present map keeps its description otherwise */
        describe(b, wanted, &found);
    }
    if (wanted != EQP_KEEP) {
        if (b->now.why[0] == '\0') {
            snprintf(b->now.why, sizeof b->now.why, "%.150s", reason.text);
        }
        take(b, wanted, home.n, &found, advice);
    }
done:
    b->map_seconds += eqp_cpu_seconds_since(begin);
    eqp__new_map_free(&found);
    eqp__names_free(&home);
    free(measured);
    return code;
}

int eqp_balancer_renew(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message)
{
    return balancer != NULL ? find_map(balancer, EQP_RENEW, true, EQP__LATE_NOTHING, left, advice, message)
                            : EQP_ERR_ARGUMENT;
}

int eqp_balancer_advise(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message)
{
    EQP__FAIL_IF(balancer == NULL, EQP_ERR_ARGUMENT);
    balancer->left = left > 0 ? left : 0;
    eqp_policy_action wanted;
    const eqp__late_due due = next_call(balancer, &wanted);
    if (wanted != EQP_KEEP || due != EQP__LATE_NOTHING) {
        return find_map(balancer, wanted, false, due, left, advice, message);
    }
    if (advice != NULL) { /* communication would be needed to report a missing argument to the other ranks */
        *advice = (eqp_advice){.action = EQP_KEEP};
    }
    return EQP_OK;
}

int eqp_balancer_begin(eqp_balancer *balancer, eqp_advice *advice, eqp_message *message)
{
    eqp_balancer *const b = balancer;
    const double begin = eqp_cpu_seconds();
    eqp_message own = {""};
    eqp_names home = {.n = 0};
    eqp_new_map found = {.map = NULL};
    int code;

    EQP__FAIL_IF(b == NULL, EQP_ERR_ARGUMENT);
    EQP_TRY(agree_on_call(b, advice, 0));
    *advice = (eqp_advice){.action = EQP_KEEP};
    eqp_map_options options = {.method = eqp_method_find("count"),
                               .imbalance_tol = b->options.imbalance_tol,
                               .seed = b->options.seed,
                               .memory = b->bounds};
    EQP_TRY(eqp__take_names(b, &home));
    EQP_TRY(eqp__make_by_method(b, &home, &options, &found, &advice->bytes, message != NULL ? message : &own));
    take(b, EQP_RENEW, home.n, &found, advice);
    b->now.units = found.made.units;
    b->born = b->run.clock;
    snprintf(b->now.why, sizeof b->now.why, "a first map, before anything is known of the work");
done:
    b->map_seconds += eqp_cpu_seconds_since(begin);
    eqp__new_map_free(&found);
    eqp__names_free(&home);
    return code;
}
