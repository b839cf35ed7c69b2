/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_whatif.h"

#include "run_auto.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct app_whatif_state {
    const app_whatif *what;
    MPI_Comm comm;
    int rank, nranks;
    int64_t nhome;
    uint64_t *key; /* [nhome] */
    /* owners as they are, with weights if they were wanted so far; and what it took to learn that */
    bool known, weighed;
    app_owners owners;
    eqp_units_totals totals; /* of all owners, roughly; known where they were weighed */
    double seconds[2];       /* without and with weights; 0: never done */
};

void app_trials_free(int n, app_trial *trials)
{
    for (int i = 0; i < n; i++) {
        app_map_free(&trials[i].map);
        free(trials[i].verdicts);
        trials[i].verdicts = NULL;
    }
}

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
    int code = eqp_agree(what->comm, eqp_array_create(&made, 1, sizeof *made), NULL);

    if (code == EQP_OK) {
        made->what = what;
        made->comm = what->comm;
        MPI_Comm_rank(what->comm, &made->rank);
        MPI_Comm_size(what->comm, &made->nranks);
        code = what->keys(what->user, &made->nhome, &made->key);
    }
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
    code = what->survey(what->user, weights, &survey);
    if (code == EQP_OK && totals != NULL) {
        code = app_survey_totals(state->comm, &survey, &model, totals);
    }
    if (code == EQP_OK) {
        code = app_owners_line_up(state->comm, &survey, &model, what->costs, state->nhome, state->key, owners, &bytes);
    }
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
    state->seconds[weights] = eqp_cpu_seconds() - begin;
    return code;
}

/* A method of the app's own. */
static int assign_own(app_whatif_state *state, app_trial *trial, app_rebalanced *rebalanced)
{
    const app_whatif *what = state->what;
    int *part = NULL;
    int code = eqp_agree(state->comm, eqp_array_create(&part, state->owners.n, sizeof *part), NULL);

    if (code == EQP_OK && what->assign == NULL) {
        code = EQP_ERR_ARGUMENT;
    }
    if (code == EQP_OK) {
        code = what->assign(what->user, trial->choice->method, trial->nparts, &state->owners, part);
    }
    if (code == EQP_OK) {
        code = app_newmap_of_owners(state->comm, &state->owners, part, state->nhome, &trial->map, &trial->verdicts);
    }
    if (code == EQP_OK) {
        code = eqp_scan_int64(state->comm, state->owners.n, NULL, &rebalanced->units);
    }
    free(part);
    return code;
}

/* Methods of an app weigh all the same. */
static bool wants_weights(const eqp_method *method)
{
    return method->assign == NULL || (method->needs & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS)) != 0;
}

static int make_map(app_whatif_state *state, app_trial *trial, app_rebalanced *rebalanced, eqp_message *message)
{
    app_rebalance_options options = trial->choice->options;
    const unsigned needs = trial->choice->method->needs;
    const bool own = trial->choice->method->assign == NULL;
    const app_whatif *what = state->what;
    app_owners detailed = {.n = 0};
    double *base = NULL;
    int code = know(state, wants_weights(trial->choice->method));

    if (code == EQP_OK && own) {
        return assign_own(state, trial, rebalanced);
    }
    if (code == EQP_OK && what->base != NULL) {
        code = eqp_agree(state->comm, eqp_array_create(&base, trial->nparts, sizeof *base), NULL);
    }
    if (code == EQP_OK && what->base != NULL) {
        what->base(what->user, trial->nparts, base);
    }
    options.base = base;
    options.method = trial->choice->method;
    options.nparts = trial->nparts;
    if (code == EQP_OK && (needs & EQP_NEEDS_UNITS)) {
        const app_survey_detail detail = app_rebalance_detail(&options, trial->nparts, &state->totals);
        code = learn(state, true, &detail, &detailed, NULL);
    }
    if (code == EQP_OK) {
        code = app_newmap_make(state->comm, &options, (needs & EQP_NEEDS_UNITS) ? &detailed : &state->owners, NULL,
                               state->nhome, &trial->map, &trial->verdicts, rebalanced, message);
    }
    app_owners_free(&detailed);
    free(base);
    return code;
}

/* The map of a trial, and what is known of it without a trace. */
static int assign(app_whatif_state *state, app_trial *trial, eqp_message *message)
{
    app_rebalanced rebalanced = {.units = 0};
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
    weights = wants_weights(trial->choice->method);
    fresh = !state->known || (weights && !state->weighed);
    code = make_map(state, trial, &rebalanced, message);
    /* What was learnt for another method would have had to be learnt for this one. */
    seconds = eqp_cpu_seconds() - begin + (fresh ? 0.0 : state->seconds[weights]);
    if (code == EQP_OK &&
        MPI_Allreduce(&seconds, &trial->row.balance_seconds, 1, MPI_DOUBLE, MPI_MAX, state->comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    trial->row.units = rebalanced.units;
    trial->row.split_owners = rebalanced.split_owners;
    if ((trial->choice->method->needs & EQP_NEEDS_UNITS) && rebalanced.totals.interactions > 0) {
        trial->row.sample_rate = (double)rebalanced.units / (double)rebalanced.totals.interactions;
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s into %d parts: %s", trial->choice->name, trial->nparts, eqp_error_text(code));
    }
    return code;
}

static int create_evaluation(const app_whatif_state *state, int nparts, eqp_evaluation **evaluation)
{
    const app_whatif *what = state->what;

    return eqp_evaluation_create(nparts, what->nphases, what->back, what->ghosts, evaluation);
}

/* Adds up what the ranks have traced, on one of them. */
static int gather(const app_whatif_state *state, int root, eqp_evaluation *evaluation)
{
    void *out = NULL;
    char *in = NULL;
    size_t size = 0;
    int64_t *sent = NULL, *received = NULL, total = 0;
    int code = eqp_array_create(&sent, state->nranks, sizeof *sent);

    if (code == EQP_OK) {
        code = eqp_array_create(&received, state->nranks, sizeof *received);
    }
    if (code == EQP_OK && state->rank != root) {
        code = eqp_evaluation_pack(evaluation, &size, &out);
        sent[root] = (int64_t)size;
    }
    code = eqp_agree(state->comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_exchange_counts(state->comm, sent, received, &total);
    }
    if (code == EQP_OK) {
        code = eqp_agree(state->comm, eqp_array_create(&in, total, 1), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_exchange(state->comm, 1, sent, out, received, in);
    }
    if (code == EQP_OK) {
        const char *piece = in;
        for (int r = 0; r < state->nranks && code == EQP_OK; r++) {
            code = received[r] > 0 ? eqp_evaluation_merge(evaluation, (size_t)received[r], piece) : EQP_OK;
            piece += received[r];
        }
        code = eqp_agree(state->comm, code, NULL);
    }
    free(in);
    free(out);
    free(received);
    free(sent);
    return code;
}

/* The evaluation of a trial on the rank `root`; NULL elsewhere. */
static int trace(const app_whatif_state *state, const app_trial *trial, int root, eqp_evaluation **evaluation)
{
    const app_whatif *what = state->what;
    eqp_evaluation *made = NULL;
    int code = eqp_agree(state->comm, create_evaluation(state, trial->nparts, &made), NULL);

    if (code == EQP_OK) {
        code = what->trace(what->user, trial->nparts, &trial->map, trial->verdicts, false, made);
    }
    if (code == EQP_OK) {
        code = gather(state, root, made);
    }
    if (code == EQP_OK && state->rank == root) {
        *evaluation = made;
        made = NULL;
    }
    eqp_evaluation_free(made);
    return code;
}

/* By one plan, or the cheapest. */
static int evaluate(eqp_evaluation *evaluation, const eqp_network *network, const eqp_exchange_plan *plan,
                    eqp_evaluated *result)
{
    return plan == NULL ? eqp_evaluation_best(evaluation, network, result)
                        : eqp_evaluation_by_plan(evaluation, network, plan, NULL, result);
}

int app_whatif_try(app_whatif_state *state, int n, app_trial *trials, const eqp_network *network, eqp_message *message)
{
    eqp_evaluation **evaluation = NULL;
    int code = eqp_agree(state->comm, eqp_array_create(&evaluation, n, sizeof(eqp_evaluation *)), NULL);

    for (int i = 0; i < n && code == EQP_OK; i++) {
        code = assign(state, &trials[i], message);
        if (code == EQP_OK) {
            code = trace(state, &trials[i], i % state->nranks, &evaluation[i]);
        }
    }
    if (code == EQP_OK) {
        for (int i = state->rank; i < n && code == EQP_OK; i += state->nranks) {
            code = evaluate(evaluation[i], network, state->what->plan, &trials[i].row.evaluated);
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

/* The imbalance of an assignment made earlier, for the state as it is now. */
static int look_again(const app_whatif_state *state, const app_trial *trial, double *imbalance)
{
    const app_whatif *what = state->what;
    eqp_evaluation *evaluation = NULL;
    double *load = NULL, total = 0.0, most = 0.0;
    int code = create_evaluation(state, trial->nparts, &evaluation);

    if (code == EQP_OK) {
        code = eqp_array_create(&load, trial->nparts, sizeof *load);
    }
    code = eqp_agree(state->comm, code, NULL);
    if (code == EQP_OK) {
        code = what->trace(what->user, trial->nparts, &trial->map, trial->verdicts, true, evaluation);
    }
    if (code == EQP_OK) {
        memcpy(load, eqp_evaluation_loads(evaluation), (size_t)trial->nparts * sizeof *load);
        code = eqp_sum_double(state->comm, trial->nparts, load);
    }
    for (int p = 0; p < trial->nparts && code == EQP_OK; p++) {
        total += load[p];
        most = fmax(most, load[p]);
    }
    if (code == EQP_OK) {
        *imbalance = total > 0 ? most * trial->nparts / total - 1.0 : 0.0;
    }
    free(load);
    eqp_evaluation_free(evaluation);
    return code;
}

/* All trials on the positions of the next step. */
static int look_ahead(app_whatif_state *state, int n, app_trial *trials, eqp_message *message)
{
    const app_whatif *what = state->what;
    int code = EQP_OK;

    if (what->advance == NULL) {
        return EQP_OK;
    }
    code = what->advance(what->user, message);
    for (int i = 0; i < n && code == EQP_OK; i++) {
        code = look_again(state, &trials[i], &trials[i].row.imbalance_next);
    }
    return code;
}

/* A comparison: the methods that are tried are those asked for, without `auto`, and behind them those that it wants
 * beside. */
typedef struct comparison {
    int nasked, ntried;
    const app_method_choice *asked;  /* [nasked] */
    const app_method_choice **tried; /* [ntried] */
    app_method_choice *missing;      /* owned */
} comparison;

static int plan_comparison(const app_methods *own, int nchoices, const app_method_choice *choice, comparison *c,
                           eqp_message *message)
{
    const app_method_choice *automatic = NULL;
    int nmissing = 0, code = EQP_OK;

    *c = (comparison){.nasked = nchoices, .asked = choice};
    for (int i = 0; i < nchoices; i++) {
        automatic = choice[i].method == &app_method_auto ? &choice[i] : automatic;
    }
    if (automatic != NULL) {
        code = app_auto_missing(own, &automatic->options, nchoices, choice, &nmissing, &c->missing, message);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&c->tried, nchoices + nmissing, sizeof(const app_method_choice *));
    }
    for (int i = 0; i < nchoices && code == EQP_OK; i++) {
        if (choice[i].method != &app_method_auto) {
            c->tried[c->ntried++] = &choice[i];
        }
    }
    for (int i = 0; i < nmissing && code == EQP_OK; i++) {
        c->tried[c->ntried++] = &c->missing[i];
    }
    return code;
}

static void comparison_free(comparison *c)
{
    free(c->tried);
    free(c->missing);
}

/* Nobody should leave the curve for less than this part of a step. */
#define WORTHWHILE 0.01

/* What `auto` takes: the smallest step time, of equal ones the first; the curve, if nothing is worthwhile against it.
 * Its own cost is that of all. */
static app_compared choose(const comparison *c, const app_trial *trials, const app_method_choice *automatic)
{
    app_compared row;
    double seconds = 0.0;
    int best = 0;

    for (int i = 0; i < c->ntried; i++) {
        seconds += trials[i].row.balance_seconds;
        best = trials[i].row.evaluated.step_seconds < trials[best].row.evaluated.step_seconds ? i : best;
    }
    for (int i = 0; i < c->ntried; i++) {
        const bool curve = strcmp(trials[i].choice->name, "sfc") == 0;
        const double least = trials[best].row.evaluated.step_seconds;
        best = curve && trials[i].row.evaluated.step_seconds * (1.0 - WORTHWHILE) <= least ? i : best;
    }
    row = trials[best].row;
    row.chosen = trials[best].choice->method->name;
    for (int i = 0; i < c->nasked; i++) {
        row.chosen = trials[best].choice == &c->asked[i] ? c->asked[i].name : row.chosen;
    }
    row.method = automatic->name;
    row.balance_seconds = seconds;
    return row;
}

/* The rows that were asked for, from the trials of one number of parts. */
static void read_rows(const comparison *c, const app_trial *trials, app_compared *rows)
{
    int tried = 0;

    for (int i = 0; i < c->nasked; i++) {
        rows[i] = c->asked[i].method == &app_method_auto ? choose(c, trials, &c->asked[i]) : trials[tried++].row;
    }
}

int app_whatif_compare(const app_whatif *what, const app_methods *own, int nchoices, const app_method_choice *choice,
                       int ncounts, const int64_t *parts, const eqp_network *network, app_compared **rows,
                       void (*on_rows)(void *user, int n, const app_compared *rows), void *rows_user,
                       eqp_message *message)
{
    app_whatif_state *state = NULL;
    app_trial *trials = NULL;
    app_compared *made = NULL;
    comparison c;
    int code = plan_comparison(own, nchoices, choice, &c, message);

    if (code == EQP_OK) {
        code = eqp_array_create(&trials, (int64_t)c.ntried * ncounts, sizeof *trials);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&made, (int64_t)nchoices * ncounts, sizeof *made);
    }
    code = eqp_agree(what->comm, code, message);
    if (code == EQP_OK) {
        code = app_whatif_open(what, &state);
    }
    for (int k = 0; k < ncounts && code == EQP_OK; k++) {
        app_trial *here = trials + k * c.ntried;
        for (int m = 0; m < c.ntried; m++) {
            here[m].choice = c.tried[m];
            here[m].nparts = (int)parts[k];
        }
        code = app_whatif_try(state, c.ntried, here, network, message);
        if (code == EQP_OK) {
            read_rows(&c, here, made + k * nchoices);
        }
        if (code == EQP_OK && on_rows != NULL) {
            on_rows(rows_user, nchoices, made + k * nchoices);
        }
    }
    if (code == EQP_OK) {
        code = look_ahead(state, c.ntried * ncounts, trials, message);
    }
    for (int k = 0; k < ncounts && code == EQP_OK; k++) {
        read_rows(&c, trials + k * c.ntried, made + k * nchoices);
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "what-if: %s", eqp_error_text(code));
    }
    if (trials != NULL) {
        app_trials_free(c.ntried * ncounts, trials);
    }
    free(trials);
    comparison_free(&c);
    app_whatif_close(state);
    if (code == EQP_OK) {
        *rows = made;
        made = NULL;
    }
    free(made);
    return code;
}
