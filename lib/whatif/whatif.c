/* SPDX-License-Identifier: BSD-3-Clause */
#include "whatif/whatif.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void eqp__whatif_open(const eqp_whatif *what, eqp_whatif_state *state)
{
    *state = (eqp_whatif_state){.what = what, .comm = what->comm, .phases = {1, {1.0}}};
    state->phases = what->model.phases.n > 1 ? what->model.phases : state->phases;
    MPI_Comm_rank(what->comm, &state->rank);
    MPI_Comm_size(what->comm, &state->nranks);
}

double eqp__whatif_now(const eqp_whatif_state *state)
{
    const eqp_clock *clock = &state->what->clock;

    return clock->seconds != NULL ? clock->seconds(clock->user) : eqp_cpu_seconds();
}

double eqp__whatif_since(const eqp_whatif_state *state, double begin)
{
    const double seconds = eqp__whatif_now(state) - begin;

    return isfinite(seconds) ? fmax(seconds, 0.0) : 0.0;
}

void eqp__whatif_close(eqp_whatif_state *state)
{
    eqp__owners_free(&state->owners);
    eqp__owners_free(&state->pinned);
}

/* survey: zeros; must be freed in any case. */
static int take_survey(const eqp_whatif_state *state, eqp_survey_kind kind, const eqp_survey_detail *detail,
                       const eqp_work_model *model, eqp_survey *survey)
{
    const eqp_whatif *what = state->what;
    eqp_survey_detail wanted = *detail;

    wanted.cost = model->nominal;
    eqp__survey_clear(survey, &what->model, &wanted);
    return eqp_agree(state->comm, what->problem->survey(what->problem->user, kind, survey), NULL);
}

int eqp__whatif_learn(const eqp_whatif_state *state, eqp_survey_kind kind, const eqp_survey_detail *detail,
                      eqp_owners *owners, eqp_units_totals *totals)
{
    const eqp_whatif *what = state->what;
    const eqp_work_model model = eqp__work_model_measured(&what->model, what->costs);
    eqp_survey survey = {.n = 0};
    int64_t bytes = 0;
    int code;

    EQP_TRY(take_survey(state, kind, detail, &model, &survey));
    if (totals != NULL) {
        EQP_TRY(eqp__survey_totals(state->comm, &survey, &model, totals));
    }
    EQP_TRY(eqp__owners_line_up(state->comm, &survey, &model, what->costs, what->nhome, what->key, owners, &bytes));
done:
    eqp__survey_release(&survey);
    return code;
}

int eqp__whatif_count_pins(const eqp_whatif_state *state, double *pins)
{
    const eqp_survey_detail all = {.heavy = INFINITY, .pin_below = UINT64_MAX, .count_pins = true};
    const eqp_work_model model = eqp__work_model_measured(&state->what->model, state->what->costs);
    eqp_survey survey = {.n = 0};
    int64_t count = 0;
    int code;

    EQP_TRY(take_survey(state, EQP_SURVEY_WORK, &all, &model, &survey));
    for (int64_t o = 0; o < survey.n; o++) {
        count += survey.owner[o].npins;
    }
    EQP_TRY(eqp_sum_int64(state->comm, 1, &count));
    *pins = (double)count / state->nranks;
done:
    eqp__survey_release(&survey);
    return code;
}

/* Surveys the owners without tiles, which suffices for most methods. */
static int know(eqp_whatif_state *state, bool weights)
{
    const eqp_survey_detail rough = {.heavy = INFINITY, .pin_below = 0};
    const double begin = eqp__whatif_now(state);
    int code;

    if (state->known && (state->weighed || !weights)) {
        return EQP_OK;
    }
    eqp__owners_free(&state->owners);
    state->owners = (eqp_owners){.n = 0};
    state->known = false;
    code = eqp__whatif_learn(state, weights ? EQP_SURVEY_WORK : EQP_SURVEY_NAMES, &rough, &state->owners,
                             weights ? &state->totals : NULL);
    state->known = code == EQP_OK;
    state->weighed = state->known && weights;
    state->seconds[weights] = eqp__whatif_since(state, begin);
    return code;
}

static int assign_own(eqp_whatif_state *state, eqp_trial *trial, eqp_map_made *made)
{
    const eqp_whatif *what = state->what;
    const eqp_owners *owners = &state->owners;
    int *part = NULL;
    double *centre = NULL, *speed = NULL;
    int code = what->problem->assign == NULL ? EQP_ERR_ARGUMENT : EQP_OK;

    code = code ? code : eqp_array_create(&part, owners->n, sizeof *part);
    code = code ? code : eqp_array_create(&centre, 3 * owners->n, sizeof *centre);
    code = code ? code : eqp_array_create(&speed, trial->nparts, sizeof *speed);
    EQP_TRY(eqp_agree(state->comm, code, NULL));
    for (int64_t o = 0; o < owners->n; o++) {
        memcpy(centre + 3 * o, owners->owner[o].centre, 3 * sizeof *centre);
    }
    for (int p = 0; p < trial->nparts; p++) {
        speed[p] = eqp_part_speed(what->speeds, p);
    }
    EQP_TRY(eqp_agree(state->comm,
                      what->problem->assign(what->problem->user, trial->choice->method, trial->nparts, speed, owners->n,
                                            centre, owners->seconds, part),
                      NULL));
    EQP_TRY(eqp__assignment_of_owners(state->comm, owners, part, what->nhome, &trial->map, &trial->placements));
    EQP_TRY(eqp_scan_int64(state->comm, owners->n, NULL, &made->units));
done:
    EQP__FREE(speed, centre, part);
    return code;
}

static eqp_map_options options_of(const eqp_whatif_state *state, const eqp_trial *trial)
{
    eqp_map_options options = eqp__map_options_with(&state->what->options, trial->choice);

    options.nparts = trial->nparts;
    options.speeds = state->what->speeds;
    return options;
}

/* methods of the problem always weigh */
static bool wants_weights(const eqp_map_options *options)
{
    return !eqp_method_assigns(options->method) || eqp__map_options_wants_units(options) ||
           (options->method->flags & EQP_NEEDS_WEIGHTS) != 0;
}

/* Owners that a trial assigns: the common ones, or *detailed with the tiles or pins that its units need. */
static int find_owners(eqp_whatif_state *state, const eqp_map_options *options, eqp_owners *detailed,
                       eqp_owners **owners)
{
    int code = EQP_OK;

    *owners = &state->owners;
    if (eqp__map_options_wants_units(options) || eqp__map_options_wants_pins(options)) {
        const eqp_survey_detail detail = eqp__map_options_detail(options, options->nparts, &state->totals);
        code = eqp__whatif_learn(state, EQP_SURVEY_WORK, &detail, detailed, NULL);
        *owners = detailed;
    }
    return code;
}

/* Seconds of every part that do not depend on the assignment, or NULL. */
static int make_base(const eqp_whatif_state *state, int nparts, double **base)
{
    int code = EQP_OK;

    if (state->what->problem->base != NULL) { /* the same on all ranks */
        code = eqp_agree(state->comm, eqp_array_create(base, nparts, sizeof **base), NULL);
    }
    if (code == EQP_OK && *base != NULL) {
        state->what->problem->base(state->what->problem->user, nparts, *base);
    }
    return code;
}

/* True if maps must fit into memory, which takes an evaluation. */
static bool is_capped(const eqp_whatif_state *state)
{
    const eqp_part_memory *memory = &state->what->options.memory;

    return memory->known && eqp__memory_is_capped(memory);
}

/* Assigns within the parts' memory if possible; otherwise without limits, so that the evaluation shows the excess. */
static int assign_within(eqp_whatif_state *state, eqp_assignment *assignment, const double *base, bool *hopeless,
                         eqp_message *message)
{
    int code = eqp__assignment_find(assignment, base, message);

    *hopeless = code == EQP_ERR_CAPACITY && is_capped(state);
    if (*hopeless) {
        state->misfit = *message;
        message->text[0] = '\0';
        eqp__assignment_remember(assignment, NULL, false);
        code = eqp__assignment_find(assignment, base, message);
    }
    return code;
}

/* Assigns and refines until the map is as even as requested and fits. */
static int assign_and_refine(eqp_whatif_state *state, eqp_assignment *assignment, const double *base,
                             const eqp_network *network, eqp_trial *trial, eqp_map_made *summary, eqp_message *message)
{
    const eqp_map_options options = options_of(state, trial);
    bool hopeless = false;

    EQP__CHECK(assign_within(state, assignment, base, &hopeless, message));
    EQP__CHECK(eqp__assignment_take(assignment, NULL, state->what->nhome, &trial->map, &trial->placements, summary));
    if (options.how.split || (options.method->flags & EQP_NEEDS_SOURCES) != 0) {
        EQP__CHECK(eqp__refine_loads(state, assignment, base, options.imbalance_tol, trial, summary, message));
    }
    if (options.how.even) {
        EQP__CHECK(eqp__refine_step(state, assignment, base, network, trial, summary, message));
    }
    if (is_capped(state) && !(options.how.even && eqp__row_fits(&trial->row))) {
        EQP__CHECK(eqp__refine_memory(state, assignment, base, network,
                                      (options.method->flags & EQP_NEEDS_WEIGHTS) != 0, hopeless, trial, summary,
                                      message));
    }
    return EQP_OK;
}

static int make_map(eqp_whatif_state *state, const eqp_network *network, eqp_trial *trial, eqp_map_made *summary,
                    eqp_message *message)
{
    const eqp_map_options options = options_of(state, trial);
    eqp_owners detailed = {.n = 0}, *owners = NULL;
    eqp_assignment *assignment = NULL;
    double *base = NULL;
    int code;

    EQP_TRY(know(state, wants_weights(&options)));
    if (!eqp_method_assigns(trial->choice->method)) {
        return assign_own(state, trial, summary);
    }
    EQP_TRY(make_base(state, trial->nparts, &base));
    EQP_TRY(find_owners(state, &options, &detailed, &owners));
    EQP_TRY(eqp__assignment_open(state->comm, &options, owners, state->what->old, &assignment, message));
    EQP_TRY(assign_and_refine(state, assignment, base, network, trial, summary, message));
done:
    eqp__assignment_close(assignment);
    eqp__owners_free(&detailed);
    free(base);
    return code;
}

/* True if making the trial's map also evaluates it. */
static bool comes_evaluated(const eqp_whatif_state *state, const eqp_trial *trial)
{
    return trial->choice != NULL &&
           (trial->choice->options.even || (is_capped(state) && eqp_method_assigns(trial->choice->method)));
}

/* Makes a trial's map, and the results that need no trace. */
static int assign(eqp_whatif_state *state, const eqp_network *network, eqp_trial *trial, eqp_message *message)
{
    eqp_map_made summary = {.units = 0};
    eqp_map_options options;
    const double begin = eqp__whatif_now(state);
    double seconds;
    bool weights, fresh;
    int code;

    trial->row = (eqp_compared){.method = trial->choice != NULL ? trial->choice->word : NULL,
                                .parts = trial->nparts,
                                .imbalance_next = NAN,
                                .step_next = NAN};
    if (trial->choice == NULL) {
        trial->row.split_owners = eqp_map_shared(trial->map) - eqp_map_phased(trial->map, NULL, NULL);
        return EQP_OK;
    }
    options = options_of(state, trial);
    weights = wants_weights(&options);
    fresh = !state->known || (weights && !state->weighed);
    code = make_map(state, network, trial, &summary, message);
    /* include the survey made for an earlier method: this one would have needed it too */
    seconds = eqp__whatif_since(state, begin) + (fresh ? 0.0 : state->seconds[weights]);
    if (code == EQP_OK &&
        MPI_Allreduce(&seconds, &trial->row.balance_seconds, 1, MPI_DOUBLE, MPI_MAX, state->comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    trial->made = summary;
    trial->row.units = summary.units;
    trial->row.split_owners = summary.split_owners;
    if (eqp__map_options_wants_units(&options) && summary.totals.interactions > 0) {
        trial->row.sample_rate = (double)summary.units / (double)summary.totals.interactions;
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s into %d parts: %s", trial->choice->word, trial->nparts, eqp_error_text(code));
    }
    return code;
}

int eqp__whatif_try(eqp_whatif_state *state, int n, eqp_trial *trials, const eqp_network *network, eqp_message *message)
{
    eqp__traced *traced = NULL;
    int code = eqp_agree(state->comm, eqp_array_create(&traced, n, sizeof *traced), NULL);

    for (int i = 0; i < n && code == EQP_OK; i++) {
        code = assign(state, network, &trials[i], message);
        if (code == EQP_OK && !comes_evaluated(state, &trials[i])) {
            code = eqp__whatif_trace(state, &trials[i], i % state->nranks, &traced[i]);
        }
    }
    if (code == EQP_OK) {
        for (int i = state->rank; i < n && code == EQP_OK; i += state->nranks) {
            if (!comes_evaluated(state, &trials[i])) {
                code = eqp__whatif_evaluate(state, &traced[i], network, &trials[i].row);
            }
        }
        code = eqp_agree(state->comm, code, NULL);
    }
    for (int i = 0; i < n && code == EQP_OK; i++) {
        code = comes_evaluated(state, &trials[i]) ? EQP_OK : eqp__whatif_tell(state, i % state->nranks, &trials[i].row);
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "what-if: %s", eqp_error_text(code));
    }
    for (int i = 0; i < n && traced != NULL; i++) {
        eqp__traced_free(&traced[i]);
    }
    free(traced);
    return code;
}
