/* SPDX-License-Identifier: BSD-3-Clause */
/* Making maps of a problem's owners. */
#include "run/run.h"

#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

/* A repair aims at this fraction of the tolerance, so that the next one is not due at once. */
#define REPAIRED 0.5

/* Surveys the owners. The detail of work units and pins depends on the total weight, so methods with units survey twice
 * unless the detail is given. */
static int take_survey(eqp_balancer *b, const eqp_map_options *options, const eqp_survey_detail *wanted,
                       eqp_survey *survey)
{
    const eqp_problem *problem = &b->problem;
    const eqp_work_model model = eqp__work_model_measured(&b->model, &b->costs);
    eqp_survey_detail detail = {.heavy = INFINITY, .cost = model.nominal};
    const bool weighs = eqp__method_weighs(options->method), units = (options->method->flags & EQP_NEEDS_UNITS) != 0;
    eqp_units_totals totals = b->totals;
    int code = EQP_OK;

    if (wanted != NULL) {
        eqp__survey_clear(survey, &b->model, wanted);
        return eqp_agree(b->comm, problem->survey(problem->user, EQP_SURVEY_WORK, survey), NULL);
    }
    detail.pin_below = !units && eqp__map_options_wants_pins(options) ? UINT64_MAX : 0;
    if (!units || !problem->estimates || totals.owners == 0) {
        eqp__survey_clear(survey, &b->model, &detail);
        code = problem->survey(problem->user, weighs ? EQP_SURVEY_WORK : EQP_SURVEY_NAMES, survey);
        EQP_TRY(eqp_agree(b->comm, code, NULL));
        EQP_TRY(units ? eqp__survey_totals(b->comm, survey, &model, &totals) : EQP_OK);
    }
    if (units) {
        detail = eqp__map_options_detail(options, b->nparts, &totals);
        detail.cost = model.nominal;
        eqp__survey_clear(survey, &b->model, &detail);
        EQP_TRY(eqp_agree(b->comm, problem->survey(problem->user, EQP_SURVEY_WORK, survey), NULL));
    }
done:
    return code;
}

/* Opens the problem for a survey, and asks for the cost of shared sources. */
int eqp__open_problem(eqp_balancer *b, bool traced, eqp_map_options *options)
{
    const eqp_problem *problem = &b->problem;

    if (problem->open != NULL) {
        EQP__CHECK(eqp_agree(b->comm, problem->open(problem->user, traced), NULL));
    }
    if (problem->aspect != NULL && options->aspect <= 0) {
        EQP__CHECK(eqp_agree(b->comm, problem->aspect(problem->user, &options->aspect), NULL));
    }
    return EQP_OK;
}

void eqp__close_problem(const eqp_balancer *b)
{
    if (b->problem.close != NULL) {
        b->problem.close(b->problem.user);
    }
}

/* Seconds that each part takes whatever its items: [parts], or NULL if the problem has none. */
static int find_base(const eqp_balancer *b, double **base)
{
    const eqp_problem *problem = &b->problem;

    if (problem->base != NULL) { /* the same on all ranks */
        EQP__CHECK(eqp_agree(b->comm, eqp_array_create(base, b->nparts, sizeof **base), NULL));
        problem->base(problem->user, b->nparts, *base);
    }
    return EQP_OK;
}

int eqp__ask_problem(eqp_balancer *b, eqp_map_options *options, const eqp_survey_detail *detail, double **base)
{
    const bool opens = eqp__method_weighs(options->method) || b->problem.base != NULL || b->problem.aspect != NULL;
    int code = opens ? eqp__open_problem(b, false, options) : EQP_OK;

    code = code == EQP_OK ? find_base(b, base) : code;
    code = code == EQP_OK && !b->surveyed ? take_survey(b, options, detail, &b->survey) : code;
    if (opens) {
        eqp__close_problem(b);
    }
    return code;
}

int eqp__line_up(eqp_balancer *b, const eqp_names *home, eqp_map_options *options, double **base, eqp_owners *owners,
                 int64_t *bytes)
{
    const bool surveyed = b->surveyed;
    int code;

    EQP_TRY(b->surveyed && b->problem.base == NULL ? EQP_OK : eqp__ask_problem(b, options, NULL, base));
    const eqp_work_model model = eqp__work_model_measured(&b->model, &b->costs);
    EQP_TRY(eqp__owners_line_up(b->comm, &b->survey, &model, &b->costs, home->n, home->key, owners, bytes));
done:
    if (!surveyed) { /* otherwise the next step may want one again */
        eqp__survey_release(&b->survey);
    }
    b->surveyed = false;
    return code;
}

void eqp__new_map_free(eqp_new_map *found)
{
    eqp_map_free(found->map);
    free(found->placement);
}

eqp_map_options eqp__repairing(const eqp_map_options *options)
{
    eqp_map_options repairing = *options;

    repairing.method = &eqp__method_repair;
    /* maps of phases are only repaired in the form of `sfc` */
    repairing.how = (eqp_choice_options){.homes = options->how.maps ? 0 : options->how.homes};
    repairing.settings = (eqp_settings){{0}};
    repairing.assign_tol = REPAIRED * options->imbalance_tol;
    return repairing;
}

int eqp__repair(eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, eqp_new_map *found,
                int64_t *bytes, eqp_message *message)
{
    eqp_map_options repairing = eqp__repairing(options);
    eqp_owners owners = {.n = 0};
    eqp_new_map made = {.map = NULL};
    double *base = NULL;
    int code;

    EQP_TRY(eqp__line_up(b, home, &repairing, &base, &owners, bytes));
    repairing.base = base;
    EQP_TRY(eqp__assignment_make(b->comm, &repairing, &owners, b->map, home->n, &made.map, &made.placement, &made.made,
                                 message));
    const eqp_balance_result *result = &made.made.result;
    if (result->imbalance <= fmax(options->imbalance_tol, result->imbalance_floor)) {
        snprintf(b->now.why, sizeof b->now.why,
                 "%lld of %lld owners move, the work is uneven by %.1f%% instead of %.1f%%",
                 (long long)result->repaired, (long long)made.made.units, 100.0 * result->imbalance,
                 100.0 * result->imbalance_unrepaired);
        *found = made;
        made = (eqp_new_map){.map = NULL};
    } else {
        snprintf(b->now.why, sizeof b->now.why, "a repair would leave the work uneven by %.1f%%",
                 100.0 * result->imbalance);
    }
done:
    eqp__new_map_free(&made);
    eqp__owners_free(&owners);
    free(base);
    return code;
}

/* methods without work units do not count them */
static void note_totals(eqp_balancer *b, const eqp_map_made *made)
{
    b->totals = made->totals.interactions > 0 ? made->totals : b->totals;
}

int eqp__make_by_method(eqp_balancer *b, const eqp_names *home, eqp_map_options *options, eqp_new_map *found,
                        int64_t *bytes, eqp_message *message)
{
    eqp_owners owners = {.n = 0};
    double *base = NULL;
    int code;

    EQP_TRY(eqp__line_up(b, home, options, &base, &owners, bytes));
    options->base = base;
    EQP_TRY(eqp__assignment_make(b->comm, options, &owners, b->run.has_map ? b->map : NULL, home->n, &found->map,
                                 &found->placement, &found->made, message));
    note_totals(b, &found->made);
done:
    eqp__owners_free(&owners);
    free(base);
    return code;
}

/* Refuses a map that does not fit into memory. */
static int check_memory(eqp_balancer *b, const eqp_whatif_state *state, const eqp_auto_result *answer,
                        eqp_message *message)
{
    const eqp_evaluated *is = &answer->row.evaluated;

    b->run.memory_made = fmax(is->memory_use, answer->keep ? b->now.memory_use : 0.0);
    if (eqp__row_fits(&answer->row)) {
        return EQP_OK;
    }
    if (state->misfit.text[0] != '\0') {
        *message = state->misfit;
    } else {
        eqp_message_set(
            message,
            "no map was found that fits into memory: the best needs %.4g of a rank's capacity, %.4g bytes at "
            "most, %.4g in the mean; no lower bound proves that there is none",
            is->memory_use, is->memory_max, is->memory_mean);
    }
    return EQP_ERR_CAPACITY;
}

static int trace_again(const eqp_balancer *b, const eqp_names *home, eqp_whatif_state *state,
                       const eqp_auto_input *question, bool present, const eqp_trial *made, eqp_compared *row,
                       eqp_message *message)
{
    eqp_trial given = {.nparts = b->nparts,
                       .map = present ? b->map : made->map,
                       .placements = present ? home->present : made->placements};
    const int code = eqp__whatif_try(state, 1, &given, &question->network, message);

    *row = given.row;
    return code;
}

/* Traces the chosen map again, because the memory that making maps takes is known only now. If it does not fit, the
 * present map stays, provided that it does. */
static int judge_memory(const eqp_balancer *b, const eqp_names *home, eqp_whatif_state *state,
                        const eqp_auto_input *question, eqp_auto_result *answer, eqp_message *message)
{
    eqp_compared row;

    EQP__CHECK(trace_again(b, home, state, question, answer->keep, &answer->trial, &row, message));
    answer->row.evaluated.memory_max = row.evaluated.memory_max;
    answer->row.evaluated.memory_mean = row.evaluated.memory_mean;
    answer->row.evaluated.memory_use = row.evaluated.memory_use;
    if (!eqp__row_fits(&row) && !answer->keep && b->run.has_map) {
        EQP__CHECK(trace_again(b, home, state, question, true, NULL, &row, message));
        if (eqp__row_fits(&row)) {
            eqp__trials_free(1, &answer->trial);
            *answer = (eqp_auto_result){.keep = true, .row = row, .cost = answer->cost};
            snprintf(answer->why, sizeof answer->why, "the present map is kept: no new one fits into memory");
        }
    }
    return EQP_OK;
}

/* Chooses a map by trials: for `auto`, and for methods whose maps are traced before use. */
static int choose(eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, const eqp_lives *lives,
                  eqp_auto_result *answer, eqp_message *message)
{
    const eqp_trial present = {.nparts = b->nparts, .map = b->map, .placements = home->present};
    const eqp_whatif what = {.comm = b->comm,
                             .problem = &b->problem,
                             .model = b->model,
                             .costs = &b->costs,
                             .overhead = eqp__overheads_now(&b->overheads),
                             .plan = b->options.plan_auto ? NULL : &b->plan,
                             .speeds = options->speeds,
                             .old = b->run.has_map ? b->map : NULL,
                             .in_run = b->nparts == b->nranks && b->memory.idle == 0,
                             .options = *options,
                             .nhome = home->n,
                             .key = home->key,
                             .clock = b->options.clock,
                             .counted = b->costs.fixed};
    eqp_auto_input question = {.nparts = b->nparts, .lives = *lives, .memory = &b->memory};
    const int64_t kind = b->memory.kind; /* of the present map */
    eqp_whatif_state state;
    int code;

    eqp__whatif_open(&what, &state);
    /* stored, since ranks that only make maps cannot measure it */
    EQP_TRY(b->options.network_measure ? eqp_network_measure(b->comm, &b->options.network) : EQP_OK);
    question.network = b->options.network;
    EQP_TRY(eqp__auto_choose(&state, &question, b->run.has_map ? &present : NULL, answer, message));
    b->own_bytes = b->bounds.known ? state.own : 0.0;
    EQP_TRY(b->bounds.known && eqp__memory_is_capped(&b->bounds) && state.ntraced > 1
                ? judge_memory(b, home, &state, &question, answer, message)
                : EQP_OK);
    b->memory.kind = answer->keep ? kind : b->memory.kind;
    EQP_TRY(check_memory(b, &state, answer, message));
done:
    eqp__whatif_close(&state);
    return code;
}

/* The best map at the present granularity, among all methods in use. home: the owners. */
static int try_maps(eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, const eqp_lives *lives,
                    eqp_auto_result *answer, eqp_message *message)
{
    eqp_map_options opened = *options;
    int code = eqp__open_problem(b, true, &opened);

    code = code == EQP_OK ? choose(b, home, &opened, lives, answer, message) : code;
    eqp__close_problem(b);
    return code;
}

/* Expected cost of making a map in a trial, as a multiple of making it without one. */
#define TRIAL 3.0

/* Uses the clock of all trials. */
static double begin_trial(const eqp_balancer *b)
{
    const eqp_whatif what = {.clock = b->options.clock};

    return eqp__whatif_now(&(eqp_whatif_state){.what = &what});
}

/* Seconds of the trial behind a row, on the slowest rank. Collective. */
static int trial_seconds(const eqp_balancer *b, const eqp_method *method, double begin, const eqp_compared *row,
                         double *seconds)
{
    const eqp_whatif what = {.clock = b->options.clock};

    if (b->costs.fixed) {
        *seconds = eqp__nominal_trial(method, row->evaluated.step_seconds_ideal);
        return EQP_OK;
    }
    const double own = eqp__whatif_since(&(eqp_whatif_state){.what = &what}, begin);

    return EQP__MPI(MPI_Allreduce(&own, seconds, 1, MPI_DOUBLE, MPI_MAX, b->comm));
}

/* Choice of granularity: the best method at the present granularity is tried at every other one. */
typedef struct grain_trials {
    eqp_balancer *b;
    eqp_names *home;
    const eqp_lives *lives;
    eqp_choice choice;       /* the method */
    eqp_map_options options; /* its options */
    eqp_auto_result *best;
    int taken;     /* its granularity */
    double price;  /* expected seconds of the next trial */
    double paid;   /* seconds spent on making the best map, in a trial; 0: it is the present map */
    double beyond; /* seconds of trials beyond that */
    int ntried;
} grain_trials;

/* If the present map is the best, its method was the last winner. */
static int open_grain_trials(grain_trials *g, const eqp_map_options *options, eqp_message *message)
{
    const eqp_auto_result *best = g->best;

    g->options = *options;
    g->ntried = 1;
    g->taken = (int)g->b->run.grain;
    g->price = options->method == &eqp__method_auto ? TRIAL * best->row.balance_seconds : g->b->memory.curve;
    g->paid = best->keep ? 0.0 : best->row.balance_seconds;
    if (best->keep) {
        EQP__CHECK(eqp__auto_last(&g->b->memory, g->b->problem.own, &options->how, &g->choice, message));
    } else {
        g->choice = best->choice;
    }
    if (options->method == &eqp__method_auto) {
        g->options = eqp__map_options_with(options, &g->choice);
    }
    return EQP_OK;
}

static void take_answer(grain_trials *g, eqp_auto_result *answer)
{
    eqp__trials_free(1, &g->best->trial);
    *g->best = *answer;
    g->best->choice = g->choice;
    g->best->trial.choice = &g->best->choice;
    g->taken = (int)g->b->run.grain;
    g->beyond += g->paid - answer->row.balance_seconds;
    g->paid = answer->row.balance_seconds;
    *answer = (eqp_auto_result){.keep = false};
}

static int try_grain(grain_trials *g, int grain, eqp_message *message)
{
    const double begin = begin_trial(g->b);
    eqp_auto_result answer = {.keep = false};
    double seconds;
    int code;

    EQP_TRY(eqp__take_grain(g->b, grain, g->home));
    EQP_TRY(try_maps(g->b, g->home, &g->options, g->lives, &answer, message));
    EQP_TRY(trial_seconds(g->b, g->options.method, begin, &answer.row, &seconds));
    g->ntried++;
    g->price = seconds;
    g->beyond += seconds;
    if (answer.cost < g->best->cost) {
        take_answer(g, &answer);
    }
done:
    eqp__trials_free(1, &answer.trial);
    return code;
}

static void conclude_grain_trials(const grain_trials *g, int began, double step, bool automatic)
{
    eqp_balancer *const b = g->b;
    eqp_auto_result *best = g->best;

    if (g->ntried > 1) {
        b->run.grain_lost = g->taken != began ? 0 : b->run.grain_lost + (b->run.grain_lost < EQP__GRAIN_LOST);
        b->run.grain_rest = (1 << b->run.grain_lost) - 1;
    }
    if (g->taken != began) {
        if (automatic) { /* a different map; the time spent on choosing stays */
            const double beyond = b->memory.beyond;
            eqp__auto_take(&b->memory, g->choice.word);
            b->memory.beyond = beyond;
        }
        snprintf(best->why, sizeof best->why,
                 "%.40s in granularity %d: %.3g s a step modelled, %.3g s in %d; %d granularities tried",
                 g->choice.word, g->taken, best->row.evaluated.step_seconds, step, began, g->ntried);
    }
    eqp__auto_spend(&b->memory, g->beyond);
}

/* Tries granularities from the present one outward, as long as another trial is affordable. */
static int try_grains(eqp_balancer *b, eqp_names *home, const eqp_map_options *options, const eqp_lives *lives,
                      eqp_auto_result *best, eqp_message *message)
{
    grain_trials g = {.b = b, .home = home, .lives = lives, .best = best};
    const int began = (int)b->run.grain, n = b->problem.ngrains;
    const double step = best->row.evaluated.step_seconds;
    int code;

    EQP_TRY(open_grain_trials(&g, options, message));
    for (int k = 1; k < 2 * n; k++) {
        const int grain = k % 2 != 0 ? began + (k + 1) / 2 : began - k / 2;
        if (grain >= 0 && grain < n && eqp__auto_left(&b->memory, lives, step) - g.beyond >= g.price) {
            EQP_TRY(try_grain(&g, grain, message));
        }
    }
    EQP_TRY(g.taken != b->run.grain ? eqp__take_grain(b, g.taken, home) : EQP_OK);
    conclude_grain_trials(&g, began, step, options->method == &eqp__method_auto);
done:
    if (code != EQP_OK && b->run.grain != began) {
        (void)eqp__take_grain(b, began, home); /* the first error is reported */
    }
    return code;
}

/* True if other granularities should be tried now. Ranks that only make maps know one granularity, and where work is
 * handed out the map hardly matters. */
static bool offers_grains(const eqp_balancer *b)
{
    return b->problem.ngrains > 1 && b->run.grain_rest == 0 && b->options.lazy == NULL && !b->options.handed_out;
}

/* Records the trial of a run with a fixed method; `auto` records its own. */
static int note_trial(eqp_balancer *b, const eqp_map_options *options, double begin, const eqp_compared *row)
{
    double seconds = 0.0;

    if (options->method == b->options.method.method && options->method != &eqp__method_auto) {
        EQP__CHECK(trial_seconds(b, options->method, begin, row, &seconds));
        b->memory.curve = seconds;
        b->memory.beyond = 0.0;
        eqp__auto_spend(&b->memory, seconds - row->balance_seconds);
    }
    return EQP_OK;
}

static int make_by_trial(eqp_balancer *b, eqp_names *home, eqp_map_options *options, const eqp_lives *lives,
                         eqp_new_map *found, eqp_message *message)
{
    const bool automatic = options->method == &eqp__method_auto;
    const double begin = begin_trial(b);
    eqp_auto_result answer = {.keep = false};
    int code;

    if (b->surveyed && b->problem.ngrains > 1) { /* taken before it was known that maps would be tried */
        eqp__balancer_forget(b, &b->survey);
        b->surveyed = false;
    }
    EQP_TRY(try_maps(b, home, options, lives, &answer, message));
    if (b->problem.ngrains > 1) {
        EQP_TRY(note_trial(b, options, begin, &answer.row));
        EQP_TRY(offers_grains(b) ? try_grains(b, home, options, lives, &answer, message) : EQP_OK);
    }
    if (b->options.plan_auto) {
        eqp_exchange_plan plan = answer.row.evaluated.plan;
        EQP_TRY(eqp_route_fit(b->comm, &plan));
        b->plan = plan;
    }
    found->made = answer.trial.made;
    note_totals(b, &found->made);
    found->made.result.imbalance = answer.row.evaluated.imbalance;
    found->map = answer.trial.map;
    found->placement = answer.trial.placements;
    answer.trial.map = NULL;
    answer.trial.placements = NULL;
    if (!answer.keep && automatic) {
        memcpy(b->now.chosen, answer.choice.word, sizeof b->now.chosen);
    }
    memcpy(b->now.why, answer.why, sizeof b->now.why);
done:
    eqp__trials_free(1, &answer.trial);
    return code;
}

/* True for `auto` and for maps that are traced before they are used. */
bool eqp__map_options_by_trial(const eqp_map_options *options)
{
    return !eqp_method_assigns(options->method) || eqp__map_options_wants_trial(options);
}

/* True if a map by a method that needs only the survey is tried in several granularities: the first one, which shows
 * how long steps are, and later ones whenever two trials are affordable. */
static bool tries_grains(const eqp_balancer *b, const eqp_map_options *options, const eqp_lives *lives)
{
    const eqp_auto_memory *memory = &b->memory;
    const double trial = memory->curve > 0.0 ? memory->curve : TRIAL * memory->made;

    return offers_grains(b) && eqp__method_weighs(options->method) && b->feedback == NULL &&
           (!b->run.has_map || eqp__auto_left(memory, lives, memory->step) >= 2.0 * trial);
}

bool eqp__tries(const eqp_balancer *b, const eqp_map_options *options, const eqp_lives *lives)
{
    return eqp__map_options_by_trial(options) || tries_grains(b, options, lives);
}

bool eqp__makes_again(const eqp_balancer *b, const eqp_lives *lives)
{
    const bool only = !b->run.has_map && !lives->by_loss && lives->usual >= lives->most; /* the only map of the run:
                                                                                        worth the trials */

    return b->options.method.method == &eqp__method_auto && !only && !eqp__auto_may_try(&b->memory, lives);
}

/* Trials have used up their share of the run: repeat the last winner without any. */
static int make_again(eqp_balancer *b, eqp_names *home, eqp_map_options *options, const eqp_lives *lives,
                      eqp_new_map *found, int64_t *bytes, eqp_message *message)
{
    eqp_map_options run = *options;
    eqp_choice choice;

    EQP__CHECK(eqp__auto_last(&b->memory, b->problem.own, &options->how, &choice, message));
    run = eqp__map_options_with(options, &choice);
    EQP__CHECK(eqp__map_options_by_trial(&run) ? make_by_trial(b, home, &run, lives, found, message)
                                               : eqp__make_by_method(b, home, &run, found, bytes, message));
    eqp__auto_again(&b->memory);
    eqp__auto_take(&b->memory, choice.word);
    memcpy(b->now.chosen, choice.word, sizeof b->now.chosen);
    snprintf(b->now.why, sizeof b->now.why, "%.40s, not tried: trials have taken %.2g%% of the run", choice.word,
             b->memory.run > 0.0 ? 100.0 * b->memory.spent / b->memory.run : 0.0);
    return EQP_OK;
}

int eqp__make_new(eqp_balancer *b, eqp_names *home, eqp_map_options *options, const eqp_lives *lives,
                  eqp_new_map *found, int64_t *bytes, eqp_message *message)
{
    const bool rests = b->run.grain_rest > 0;
    int code;

    if (eqp__makes_again(b, lives)) {
        code = make_again(b, home, options, lives, found, bytes, message);
    } else {
        code = eqp__tries(b, options, lives) ? make_by_trial(b, home, options, lives, found, message)
                                             : eqp__make_by_method(b, home, options, found, bytes, message);
    }
    b->run.grain_rest -= rests && code == EQP_OK;
    return code;
}
