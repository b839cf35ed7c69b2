/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_whatif_state.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void app_whatif_close(app_whatif_state *state)
{
    if (state != NULL) {
        app_owners_free(&state->owners);
        free(state->key);
        free(state);
    }
}

MPI_Comm app_whatif_comm(const app_whatif_state *state)
{
    return state->comm;
}

int app_whatif_open(const app_whatif *what, app_whatif_state **state)
{
    app_whatif_state *made = NULL;
    int code;

    EQP_TRY(eqp_agree(what->comm, eqp_array_create(&made, 1, sizeof *made), NULL));
    made->what = what;
    made->comm = what->comm;
    MPI_Comm_rank(what->comm, &made->rank);
    MPI_Comm_size(what->comm, &made->nranks);
    EQP_TRY(what->keys(what->user, &made->nhome, &made->key));
done:
    if (code != EQP_OK) {
        app_whatif_close(made);
        return code;
    }
    *state = made;
    return EQP_OK;
}

/* The owners with as much detail as asked for, lined up; totals: of all, or NULL where nobody wants them. */
static int learn(const app_whatif_state *state, bool weights, const app_survey_detail *detail, app_owners *owners,
                 eqp_units_totals *totals)
{
    const app_whatif *what = state->what;
    const app_work_model model = app_work_model_measured(what->model, what->costs);
    app_survey_detail wanted = *detail;
    app_survey survey = {.n = 0};
    int64_t bytes = 0;
    int code;

    wanted.cost = model.nominal;
    app_survey_clear(&survey, &wanted);
    EQP_TRY(what->survey(what->user, weights, &survey));
    if (totals != NULL) {
        EQP_TRY(app_survey_totals(state->comm, &survey, &model, totals));
    }
    EQP_TRY(app_owners_line_up(state->comm, &survey, &model, what->costs, state->nhome, state->key, owners, &bytes));
done:
    app_survey_free(&survey);
    return code;
}

/* Owners without their tiles: for every method at any number of parts. */
static int know(app_whatif_state *state, bool weights)
{
    const app_survey_detail rough = {.heavy = INFINITY, .pin_below = 0};
    const double begin = eqp_cpu_seconds();
    int code;

    if (state->known && (state->weighed || !weights)) {
        return EQP_OK;
    }
    app_owners_free(&state->owners);
    state->owners = (app_owners){.n = 0};
    state->known = false;
    code = learn(state, weights, &rough, &state->owners, weights ? &state->totals : NULL);
    state->known = code == EQP_OK;
    state->weighed = state->known && weights;
    state->seconds[weights] = eqp_cpu_seconds_since(begin);
    return code;
}

/* A method of the app's own. */
static int assign_own(app_whatif_state *state, app_trial *trial, app_rebalanced *rebalanced)
{
    const app_whatif *what = state->what;
    int *part = NULL;
    int code;

    EQP_TRY(eqp_agree(state->comm, eqp_array_create(&part, state->owners.n, sizeof *part), NULL));
    if (what->assign == NULL) {
        EQP_TRY(EQP_ERR_ARGUMENT);
    }
    EQP_TRY(what->assign(what->user, trial->choice->method, trial->nparts, what->speeds, &state->owners, part));
    EQP_TRY(app_newmap_of_owners(state->comm, &state->owners, part, state->nhome, &trial->map, &trial->verdicts));
    EQP_TRY(eqp_scan_int64(state->comm, state->owners.n, NULL, &rebalanced->units));
done:
    free(part);
    return code;
}

/* What a trial's choice says of it. */
static app_rebalance_options options_of(const app_whatif_state *state, const app_trial *trial)
{
    app_rebalance_options options = trial->choice->options;

    options.method = trial->choice->method;
    options.nparts = trial->nparts;
    options.speeds = state->what->speeds;
    return options;
}

/* Methods of an app weigh all the same. */
static bool wants_weights(const app_rebalance_options *options)
{
    return options->method->assign == NULL || app_wants_units(options) ||
           (options->method->flags & EQP_NEEDS_WEIGHTS) != 0;
}

/* The owners that a trial assigns: the common ones, or with the detail that its units want, which then are *detailed.
 */
static int find_owners(app_whatif_state *state, const app_rebalance_options *options, app_owners *detailed,
                       app_owners **owners)
{
    int code = EQP_OK;

    *owners = &state->owners;
    if (app_wants_units(options)) {
        const app_survey_detail detail = app_rebalance_detail(options, options->nparts, &state->totals);
        code = learn(state, true, &detail, detailed, NULL);
        *owners = detailed;
    }
    return code;
}

/* What every part does whatever the assignment, or NULL. */
static int make_base(const app_whatif_state *state, int nparts, double **base)
{
    int code = EQP_OK;

    if (state->what->base != NULL) { /* the same on all ranks */
        code = eqp_agree(state->comm, eqp_array_create(base, nparts, sizeof **base), NULL);
    }
    if (code == EQP_OK && *base != NULL) {
        state->what->base(state->what->user, nparts, *base);
    }
    return code;
}

/* Assigns, and assigns again until it is as even as the choice wants it. */
static int settle(const app_whatif_state *state, app_newmap *newmap, const double *base, const eqp_network *network,
                  app_trial *trial, app_rebalanced *rebalanced, eqp_message *message)
{
    const app_rebalance_options options = options_of(state, trial);
    int code;

    EQP_TRY(app_newmap_assign(newmap, base, message));
    EQP_TRY(app_newmap_take(newmap, NULL, state->nhome, &trial->map, &trial->verdicts, rebalanced));
    if (options.how.split || (options.method->flags & EQP_NEEDS_SOURCES) != 0) {
        EQP_TRY(app_whatif_settle_loads(state, newmap, base, options.imbalance_tol, trial, rebalanced, message));
    }
    if (options.how.even) {
        EQP_TRY(app_whatif_settle_step(state, newmap, base, network, trial, rebalanced, message));
    }
done:
    return code;
}

static int make_map(app_whatif_state *state, const eqp_network *network, app_trial *trial, app_rebalanced *rebalanced,
                    eqp_message *message)
{
    const app_rebalance_options options = options_of(state, trial);
    app_owners detailed = {.n = 0}, *owners = NULL;
    app_newmap *newmap = NULL;
    double *base = NULL;
    int code;

    EQP_TRY(know(state, wants_weights(&options)));
    if (trial->choice->method->assign == NULL) {
        return assign_own(state, trial, rebalanced);
    }
    EQP_TRY(make_base(state, trial->nparts, &base));
    EQP_TRY(find_owners(state, &options, &detailed, &owners));
    EQP_TRY(app_newmap_open(state->comm, &options, owners, state->what->old, &newmap, message));
    EQP_TRY(settle(state, newmap, base, network, trial, rebalanced, message));
done:
    app_newmap_close(newmap);
    app_owners_free(&detailed);
    free(base);
    return code;
}

/* Whether a trial's evaluation comes with its map. */
static bool settles_step(const app_trial *trial)
{
    return trial->choice != NULL && trial->choice->options.how.even;
}

/* The map of a trial, and what is known of it without a trace. */
static int assign(app_whatif_state *state, const eqp_network *network, app_trial *trial, eqp_message *message)
{
    app_rebalanced rebalanced = {.units = 0};
    app_rebalance_options options;
    const double begin = eqp_cpu_seconds();
    double seconds;
    bool weights, fresh;
    int code;

    trial->row = (app_compared){
        .method = trial->choice != NULL ? trial->choice->name : NULL, .parts = trial->nparts, .imbalance_next = NAN};
    if (trial->choice == NULL) {
        trial->row.split_owners = trial->map.nsplit;
        return EQP_OK;
    }
    options = options_of(state, trial);
    weights = wants_weights(&options);
    fresh = !state->known || (weights && !state->weighed);
    code = make_map(state, network, trial, &rebalanced, message);
    /* What was learnt for another method would have had to be learnt for this one. */
    seconds = eqp_cpu_seconds_since(begin) + (fresh ? 0.0 : state->seconds[weights]);
    if (code == EQP_OK &&
        MPI_Allreduce(&seconds, &trial->row.balance_seconds, 1, MPI_DOUBLE, MPI_MAX, state->comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    trial->made = rebalanced;
    trial->row.units = rebalanced.units;
    trial->row.split_owners = rebalanced.split_owners;
    if (app_wants_units(&options) && rebalanced.totals.interactions > 0) {
        trial->row.sample_rate = (double)rebalanced.units / (double)rebalanced.totals.interactions;
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s into %d parts: %s", trial->choice->name, trial->nparts, eqp_error_text(code));
    }
    return code;
}

int app_whatif_try(app_whatif_state *state, int n, app_trial *trials, const eqp_network *network, eqp_message *message)
{
    eqp_evaluation **evaluation = NULL;
    int code = eqp_agree(state->comm, eqp_array_create(&evaluation, n, sizeof(eqp_evaluation *)), NULL);

    for (int i = 0; i < n && code == EQP_OK; i++) {
        code = assign(state, network, &trials[i], message);
        if (code == EQP_OK && !settles_step(&trials[i])) {
            code = app_whatif_trace(state, &trials[i], i % state->nranks, &evaluation[i]);
        }
    }
    if (code == EQP_OK) {
        for (int i = state->rank; i < n && code == EQP_OK; i += state->nranks) {
            if (!settles_step(&trials[i])) {
                code = app_whatif_evaluate(state, evaluation[i], network, &trials[i].row.evaluated);
            }
        }
        code = eqp_agree(state->comm, code, NULL);
    }
    for (int i = 0; i < n && code == EQP_OK; i++) {
        if (MPI_Bcast(&trials[i].row.evaluated, (int)sizeof trials[i].row.evaluated, MPI_BYTE, i % state->nranks,
                      state->comm) != MPI_SUCCESS) {
            code = EQP_ERR_MPI;
        }
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "what-if: %s", eqp_error_text(code));
    }
    for (int i = 0; i < n && evaluation != NULL; i++) {
        eqp_evaluation_free(evaluation[i]);
    }
    free(evaluation);
    return code;
}
