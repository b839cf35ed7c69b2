/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/balancer.h"

#include "par/comm.h"
#include "par/methods.h"
#include "whatif/automatic.h"

#include <equipoise/par.h>
#include <equipoise/route.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A repair goes on to so much of the tolerance, so that the next one is not due at once. */
#define REPAIRED 0.5

/* Steps that a first map is expected to last, and that any is at least. */
#define FIRST_LIFE 50.0
#define SHORT_LIFE 5.0

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
    eqp_timings *none = NULL;
    int code;

    if (balancer == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    code = timings == NULL ? eqp_timings_create(balancer->model.nkinds, &none) : EQP_OK;
    EQP_TRY(eqp_agree(balancer->comm, code, NULL));
    EQP_TRY(eqp__costs_learn(&balancer->costs, balancer->comm, timings != NULL ? timings : none));
done:
    eqp_timings_free(none);
    return code;
}

bool eqp__can_repair(const eqp_balancer *b)
{
    return b->map != NULL && eqp_map_shared(b->map) == 0 && eqp__method_weighs(b->options.method.method) &&
           b->feedback == NULL && !(b->options.method.method->flags & EQP_SHAPED);
}

/* Other weights or other shares are reasons, too. */
static eqp_policy_action next_action(const eqp_balancer *b)
{
    const bool other = eqp__feedback_steps_wants(b->feedback) || eqp__rank_shares_want(b->shares) ||
                       eqp__calibration_wants(&b->calibration);

    if (b->options.method.method->flags & EQP_KEEPS) {
        return EQP_KEEP;
    }
    if (!other) {
        return eqp_policy_advise(&b->policy);
    }
    return b->options.policy.mode == EQP_POLICY_REPAIR && b->has_map && eqp__can_repair(b) ? EQP_REPAIR : EQP_RENEW;
}

bool eqp_balancer_due(const eqp_balancer *balancer)
{
    const eqp_balancer *const b = balancer;

    return b != NULL && next_action(b) != EQP_KEEP;
}

/* Steps for which a map that is made now will be used: about as many as the last one, at first 50, but no more than the
 * run has left, and at least 1. */
static double expected_life(const eqp_policy *policy, int64_t left)
{
    const double most = fmax(1.0, (double)left);

    switch (policy->options.mode) {
    case EQP_POLICY_EVERY:
        return fmin(most, (double)policy->options.every);
    case EQP_POLICY_AUTO:
        return fmin(most, policy->has_map ? fmax((double)policy->steps, SHORT_LIFE) : FIRST_LIFE);
    case EQP_POLICY_REPAIR:
    case EQP_POLICY_NEVER:
        break;
    }
    return most;
}

/* How this run's maps are made. */
static eqp_making making_of(const eqp_balancer *b)
{
    const eqp_balancer_options *o = &b->options;
    const eqp_making run = {.imbalance_tol = o->fresh_tol > 0 ? o->fresh_tol : o->imbalance_tol,
                            .assign_tol = o->assign_tol,
                            .seed = o->seed};

    return eqp__making_with(&run, &o->method);
}

/* A map that has just been made lasts for longer than this step, unless each step is to have a new one. */
static bool every_step(const eqp_policy *policy)
{
    return policy->options.mode == EQP_POLICY_EVERY && policy->options.every == 1;
}

/* A survey is taken when the next map may be due: it costs little, but not nothing. */
eqp_survey *eqp_balancer_survey(eqp_balancer *balancer)
{
    eqp_balancer *const b = balancer;

    if (b == NULL) {
        return NULL;
    }
    const eqp_making making = making_of(b);
    const bool ready = !(making.method->flags & EQP_NEEDS_UNITS) || b->totals.interactions > 0;
    const bool due = eqp_policy_may_want(&b->policy) && (b->action == EQP_KEEP || every_step(&b->policy));
    const bool weighs = eqp__method_weighs(making.method) && making.method->assign != NULL &&
                        !eqp__making_wants_trial(&making) && b->feedback == NULL;

    b->surveyed = false;
    b->surveying = ready && weighs && due && !b->options.handed_out; /* nobody sees all of what he hands out */
    if (!b->surveying) {
        eqp__survey_release(&b->survey); /* rather walk once more than hold it for long */
        return NULL;
    }
    eqp_survey_detail detail = eqp__making_detail(&making, b->nranks, &b->totals);
    detail.cost = eqp__work_model_measured(&b->model, &b->costs).nominal;
    eqp__survey_clear(&b->survey, &b->model, &detail);
    return &b->survey;
}

void eqp__names_free(eqp_names *of)
{
    free(of->key);
    free(of->present);
}

static int by_key(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Numbers are those of the owners' places in the caller's arrays, each once. */
static int read_names(const eqp_balancer *b, const eqp_survey *survey, eqp_names *of)
{
    int code;

    for (int64_t i = 0; i < survey->n; i++) {
        of->n += survey->owner[i].home == b->rank;
    }
    EQP_TRY(eqp_array_create(&of->key, of->n, sizeof *of->key));
    EQP_TRY(eqp_array_create(&of->present, of->n, sizeof *of->present));
    for (int64_t i = 0; i < of->n; i++) {
        of->present[i].home = -1;
    }
    for (int64_t i = 0; i < survey->n; i++) {
        const eqp_owner *owner = &survey->owner[i];
        const bool here = owner->home == b->rank;
        if (here && (owner->at_home < 0 || owner->at_home >= of->n || of->present[owner->at_home].home >= 0)) {
            return EQP_ERR_DATA;
        }
        if (here) {
            of->key[owner->at_home] = owner->key;
            of->present[owner->at_home] = (eqp_placement){owner->tag, b->rank};
        }
    }
    qsort(of->key, (size_t)of->n, sizeof *of->key, by_key);
done:
    return code;
}

int eqp__take_names(eqp_balancer *b, eqp_names *of)
{
    const eqp_survey_detail nothing = {.heavy = INFINITY};
    eqp_survey survey = {.n = 0};
    int code;

    *of = (eqp_names){.n = 0};
    eqp__survey_clear(&survey, &b->model, &nothing);
    code = b->problem.survey(b->problem.user, EQP_SURVEY_NAMES, &survey);
    EQP_TRY(eqp_agree(b->comm, code == EQP_OK ? read_names(b, &survey, of) : code, NULL));
done:
    eqp__survey_release(&survey);
    return code;
}

/* Which work units are heavy, and how many pins are enough, follows from the weight of all owners. So where units are
 * wanted they are surveyed twice. */
static int take_survey(eqp_balancer *b, const eqp_making *making, eqp_survey *survey)
{
    const eqp_problem *problem = &b->problem;
    const eqp_work_model model = eqp__work_model_measured(&b->model, &b->costs);
    eqp_survey_detail detail = {.heavy = INFINITY, .cost = model.nominal};
    const bool weighs = eqp__method_weighs(making->method), units = (making->method->flags & EQP_NEEDS_UNITS) != 0;
    eqp_units_totals totals = b->totals;
    int code = EQP_OK;

    if (!units || !problem->estimates || totals.owners == 0) {
        eqp__survey_clear(survey, &b->model, &detail);
        code = problem->survey(problem->user, weighs ? EQP_SURVEY_WORK : EQP_SURVEY_NAMES, survey);
        EQP_TRY(eqp_agree(b->comm, code, NULL));
        EQP_TRY(units ? eqp__survey_totals(b->comm, survey, &model, &totals) : EQP_OK);
    }
    if (units) {
        detail = eqp__making_detail(making, b->nranks, &totals);
        detail.cost = model.nominal;
        eqp__survey_clear(survey, &b->model, &detail);
        EQP_TRY(eqp_agree(b->comm, problem->survey(problem->user, EQP_SURVEY_WORK, survey), NULL));
    }
done:
    return code;
}

/* Opens the problem for a survey, and asks for what it knows of sources that parts share. */
int eqp__open_problem(eqp_balancer *b, bool traced, eqp_making *making)
{
    const eqp_problem *problem = &b->problem;
    int code = EQP_OK;

    if (problem->open != NULL) {
        EQP_TRY(eqp_agree(b->comm, problem->open(problem->user, traced), NULL));
    }
    if (problem->aspect != NULL && making->aspect <= 0) {
        EQP_TRY(eqp_agree(b->comm, problem->aspect(problem->user, &making->aspect), NULL));
    }
done:
    return code;
}

void eqp__close_problem(const eqp_balancer *b)
{
    if (b->problem.close != NULL) {
        b->problem.close(b->problem.user);
    }
}

/* Seconds of the ranks whatever the map: [ranks], or NULL where there are none. */
static int find_base(const eqp_balancer *b, double **base)
{
    const eqp_problem *problem = &b->problem;
    int code = EQP_OK;

    if (problem->base != NULL) { /* the same on all ranks */
        EQP_TRY(eqp_agree(b->comm, eqp_array_create(base, b->nranks, sizeof **base), NULL));
        problem->base(problem->user, b->nranks, *base);
    }
done:
    return code;
}

/* Opens the problem, and has it say what its owners are. */
static int ask_problem(eqp_balancer *b, eqp_making *making, double **base)
{
    const bool opens = eqp__method_weighs(making->method) || b->problem.base != NULL || b->problem.aspect != NULL;
    int code = opens ? eqp__open_problem(b, false, making) : EQP_OK;

    code = code == EQP_OK ? find_base(b, base) : code;
    code = code == EQP_OK && !b->surveyed ? take_survey(b, making, &b->survey) : code;
    if (opens) {
        eqp__close_problem(b);
    }
    return code;
}

/* Owners in curve order. */
static int line_up(eqp_balancer *b, const eqp_names *home, eqp_making *making, double **base, eqp_owners *owners,
                   int64_t *bytes)
{
    const bool surveyed = b->surveyed;
    int code;

    EQP_TRY(b->surveyed && b->problem.base == NULL ? EQP_OK : ask_problem(b, making, base));
    const eqp_work_model model = eqp__work_model_measured(&b->model, &b->costs);
    EQP_TRY(eqp__owners_line_up(b->comm, &b->survey, &model, &b->costs, home->n, home->key, owners, bytes));
done:
    if (!surveyed) { /* else the next step may want one again */
        eqp__survey_release(&b->survey);
    }
    b->surveyed = false;
    return code;
}

/* What was found: all but the costs is owned. */
typedef struct found_map {
    eqp_map *map; /* NULL: the present one is kept */
    eqp_placement *placement;
    eqp_map_made made;
} found_map;

static void found_free(found_map *found)
{
    eqp_map_free(found->map);
    free(found->placement);
}

/* The present map with few owners moved; *found stays empty where that does not reach the tolerance. */
static int repair(eqp_balancer *b, const eqp_names *home, const eqp_making *making, found_map *found, int64_t *bytes,
                  eqp_message *message)
{
    eqp_making repairing = *making;
    eqp_owners owners = {.n = 0};
    found_map made = {.map = NULL};
    double *base = NULL;
    int code;

    repairing.method = &eqp__method_repair;
    repairing.how = (eqp_choice_options){.start = NULL};
    repairing.settings = (eqp_settings){{0}};
    repairing.assign_tol = REPAIRED * making->imbalance_tol;
    EQP_TRY(line_up(b, home, &repairing, &base, &owners, bytes));
    repairing.base = base;
    EQP_TRY(eqp__draft_make(b->comm, &repairing, &owners, b->map, home->n, &made.map, &made.placement, &made.made,
                            message));
    const eqp_balance_result *result = &made.made.result;
    if (result->imbalance <= fmax(making->imbalance_tol, result->imbalance_floor)) {
        snprintf(b->now.why, sizeof b->now.why,
                 "%lld of %lld owners move, the work is uneven by %.1f%% instead of %.1f%%",
                 (long long)result->repaired, (long long)made.made.units, 100.0 * result->imbalance,
                 100.0 * result->imbalance_unrepaired);
        *found = made;
        made = (found_map){.map = NULL};
    } else {
        snprintf(b->now.why, sizeof b->now.why, "a repair would leave the work uneven by %.1f%%",
                 100.0 * result->imbalance);
    }
done:
    found_free(&made);
    eqp__owners_free(&owners);
    free(base);
    return code;
}

static int make_by_method(eqp_balancer *b, const eqp_names *home, eqp_making *making, found_map *found, int64_t *bytes,
                          eqp_message *message)
{
    eqp_owners owners = {.n = 0};
    double *base = NULL;
    int code;

    EQP_TRY(line_up(b, home, making, &base, &owners, bytes));
    making->base = base;
    EQP_TRY(eqp__draft_make(b->comm, making, &owners, b->has_map ? b->map : NULL, home->n, &found->map,
                            &found->placement, &found->made, message));
    b->totals = found->made.totals;
done:
    eqp__owners_free(&owners);
    free(base);
    return code;
}

/* `auto`, and methods whose maps are traced before they are used. */
static int choose(eqp_balancer *b, const eqp_names *home, const eqp_making *making, double life,
                  eqp_auto_answer *answer, eqp_message *message)
{
    const eqp_trial present = {.nparts = b->nranks, .map = b->map, .placements = home->present};
    const eqp_whatif what = {.comm = b->comm,
                             .problem = &b->problem,
                             .model = b->model,
                             .costs = &b->costs,
                             .plan = b->options.plan_auto ? NULL : &b->plan,
                             .speeds = eqp__rank_shares_speeds(b->shares),
                             .old = b->has_map ? b->map : NULL,
                             .making = *making,
                             .nhome = home->n,
                             .key = home->key};
    eqp_auto_question question = {.nparts = b->nranks, .life = life, .network = b->options.network};
    eqp_whatif_state state;
    int code;

    eqp__whatif_open(&what, &state);
    EQP_TRY(b->options.network_measure ? eqp_network_measure(b->comm, &question.network) : EQP_OK);
    EQP_TRY(eqp__auto_choose(&state, &question, b->has_map ? &present : NULL, answer, message));
done:
    eqp__whatif_close(&state);
    return code;
}

static int make_by_trial(eqp_balancer *b, const eqp_names *home, eqp_making *making, double life, found_map *found,
                         eqp_message *message)
{
    eqp_auto_answer answer = {.keep = false};
    int code = eqp__open_problem(b, true, making);

    code = code == EQP_OK ? choose(b, home, making, life, &answer, message) : code;
    eqp__close_problem(b);
    EQP_TRY(code);
    if (b->options.plan_auto) {
        eqp_exchange_plan plan = answer.row.evaluated.plan;
        EQP_TRY(eqp_route_fit(b->comm, &plan));
        b->plan = plan;
    }
    found->made = answer.trial.made;
    found->made.result.imbalance = answer.row.evaluated.imbalance;
    found->map = answer.trial.map;
    found->placement = answer.trial.placements;
    answer.trial.map = NULL;
    answer.trial.placements = NULL;
    if (!answer.keep && making->method == &eqp__method_auto) {
        memcpy(b->now.chosen, answer.choice.word, sizeof b->now.chosen);
    }
    memcpy(b->now.why, answer.why, sizeof b->now.why);
done:
    eqp__trials_free(1, &answer.trial);
    return code;
}

/* The found map takes the place of the present one. */
static void take(eqp_balancer *b, eqp_policy_action action, found_map *found, eqp_advice *advice)
{
    advice->action = action;
    advice->changed = found->map != NULL;
    b->action = action;
    b->kept = found->map == NULL;
    free(b->placement);
    b->placement = found->placement;
    advice->placement = found->placement;
    found->placement = NULL;
    if (found->map != NULL) {
        eqp_map_free(b->map);
        b->map = found->map;
        found->map = NULL;
    }
}

/* Weights by what was measured beside the model. */
static void calibrate(eqp_balancer *b, eqp_making *making)
{
    making->factor = eqp__calibration_take(&b->calibration);
    b->now.calibration = 0.0;
    for (int r = 0; r < b->nranks && making->factor != NULL; r++) {
        b->now.calibration = fmax(b->now.calibration, fabs(making->factor[r] - 1.0));
    }
    if (making->factor != NULL) {
        snprintf(b->now.why, sizeof b->now.why, "measured loads are not as predicted: weights change by up to %.0f%%",
                 100.0 * b->now.calibration);
    }
}

/* The measured loads of the ranks, all 0 before the first step. Where ranks have different speeds, their work instead:
 * what a map divides. */
static int measured_loads(const eqp_balancer *b, double **loads)
{
    const bool alike = eqp__rows_alike(b->nranks, b->row);
    const int code = eqp_agree(b->comm, eqp_array_create(loads, b->nranks, sizeof **loads), NULL);

    for (int r = 0; r < b->nranks && code == EQP_OK; r++) {
        (*loads)[r] = alike ? b->row[r].load : b->row[r].work;
    }
    return code;
}

/* A survey that was asked for on some ranks only is forgotten. */
static int agree_on_call(eqp_balancer *b, const eqp_advice *advice, int64_t left)
{
    const int64_t alike[] = {left, b->surveyed};
    const int code =
        eqp__agree_alike(b->comm, advice == NULL ? EQP_ERR_ARGUMENT : EQP_OK, eqp_fingerprint(0, 2, alike));

    b->surveyed = b->surveyed && code == EQP_OK;
    return code;
}

/* `auto`, or a map that is traced before it is used. */
static bool by_trial(const eqp_making *making)
{
    return making->method->assign == NULL || eqp__making_wants_trial(making);
}

static int make_new(eqp_balancer *b, const eqp_names *home, eqp_making *making, int64_t left, found_map *found,
                    int64_t *bytes, eqp_message *message)
{
    return by_trial(making) ? make_by_trial(b, home, making, expected_life(&b->policy, left), found, message)
                            : make_by_method(b, home, making, found, bytes, message);
}

/* What was said of the present map when it was made, for one that was found. */
static void describe(eqp_balancer *b, eqp_policy_action action, const found_map *found)
{
    b->now.imbalance_promised = found->made.result.imbalance;
    b->now.units = found->made.units;
    b->now.split_owners = found->made.split_owners;
    if (action == EQP_RENEW) {
        b->now.unit_sizes = found->made.sizes;
    }
}

/* wanted: EQP_REPAIR or EQP_RENEW, the same on all ranks. */
static int find_map(eqp_balancer *b, eqp_policy_action wanted, int64_t left, eqp_advice *advice, eqp_message *message)
{
    eqp_message own = {""};
    eqp_names home = {.n = 0};
    found_map found = {.map = NULL};
    eqp_policy_action action = EQP_RENEW;
    double *measured = NULL;
    int code;

    message = message != NULL ? message : &own;
    eqp_making making = making_of(b);
    EQP_TRY(agree_on_call(b, advice, left));
    *advice = (eqp_advice){.action = EQP_KEEP};
    EQP_TRY(eqp_agree(b->comm, eqp__rank_shares_renew(b->shares), NULL));
    EQP_TRY(measured_loads(b, &measured));
    making.part_load = b->options.handed_out ? NULL : measured; /* else it says nothing of the map */
    making.speeds = eqp__rank_shares_speeds(b->shares);
    eqp__feedback_steps_prepare(b->feedback, &making);
    if (!by_trial(&making) && eqp__method_weighs(making.method)) {
        calibrate(b, &making);
    }
    EQP_TRY(eqp__take_names(b, &home));
    if (wanted == EQP_REPAIR) {
        EQP_TRY(repair(b, &home, &making, &found, &advice->bytes, message));
        action = found.map != NULL ? EQP_REPAIR : EQP_RENEW;
    }
    EQP_TRY(found.map == NULL ? make_new(b, &home, &making, left, &found, &advice->bytes, message) : EQP_OK);
    if (found.map != NULL) { /* else what was said of the present map when it was made still holds */
        describe(b, action, &found);
    }
    take(b, action, &found, advice);
done:
    found_free(&found);
    eqp__names_free(&home);
    free(measured);
    return code;
}

int eqp_balancer_renew(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message)
{
    return balancer != NULL ? find_map(balancer, EQP_RENEW, left, advice, message) : EQP_ERR_ARGUMENT;
}

int eqp_balancer_advise(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message)
{
    const eqp_policy_action wanted = balancer != NULL ? next_action(balancer) : EQP_KEEP;

    if (balancer == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    if (wanted != EQP_KEEP) {
        return find_map(balancer, wanted, left, advice, message);
    }
    if (advice != NULL) { /* without a message, others cannot hear of one that is not there */
        *advice = (eqp_advice){.action = EQP_KEEP};
    }
    return EQP_OK;
}

int eqp_balancer_begin(eqp_balancer *balancer, eqp_advice *advice, eqp_message *message)
{
    eqp_balancer *const b = balancer;
    eqp_message own = {""};
    eqp_names home = {.n = 0};
    found_map found = {.map = NULL};
    int code;

    if (b == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    EQP_TRY(agree_on_call(b, advice, 0));
    *advice = (eqp_advice){.action = EQP_KEEP};
    eqp_making making = {
        .method = eqp_method_find("count"), .imbalance_tol = b->options.imbalance_tol, .seed = b->options.seed};
    EQP_TRY(eqp__take_names(b, &home));
    EQP_TRY(make_by_method(b, &home, &making, &found, &advice->bytes, message != NULL ? message : &own));
    take(b, EQP_RENEW, &found, advice);
done:
    found_free(&found);
    eqp__names_free(&home);
    return code;
}
