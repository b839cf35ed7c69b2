/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_auto.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const eqp_method app_method_auto = {"auto", "the cheapest of those that are worth a trial, by exact evaluation",
                                    EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS, NULL};

/* The candidates, from the cheapest up. effort: what trying one is expected to cost, its trace included, as a multiple
 * of what the curve's trial has cost. The curve is tried without a question. */
static const struct {
    const char *word;
    double effort;
} candidates[] = {{"sfc", 0}, {"rcb", 1}, {"jagged", 1.5}, {"tiles", 1.5}, {"interaction", 10}};
#define NCANDIDATES ((int)(sizeof candidates / sizeof candidates[0]))

int app_auto_missing(const app_methods *own, const app_rebalance_options *run, int n, const app_method_choice *choice,
                     int *nmissing, app_method_choice **missing, eqp_message *message)
{
    app_method_choice *made = NULL;
    int count = 0, code = eqp_array_create(&made, NCANDIDATES, sizeof *made);

    for (int i = 0; i < NCANDIDATES && code == EQP_OK; i++) {
        int k = 0;
        while (k < n && strcmp(choice[k].name, candidates[i].word) != 0) {
            k++;
        }
        if (k == n) {
            code = app_word_parse(own, run, candidates[i].word, &made[count++], message);
        }
    }
    if (code != EQP_OK) {
        free(made);
        return code;
    }
    *nmissing = count;
    *missing = made;
    return EQP_OK;
}

/* What a trial costs over the life of its map. Moving counts as one exchange of all that changes its place; the present
 * map moves nothing. */
static double cost_of(const app_auto_question *question, const app_compared *row, bool is_present)
{
    const double step = row->evaluated.step_seconds;

    return step * question->life + (is_present ? 0.0 : row->balance_seconds);
}

/* No method saves all that is lost: this part of it, if things go well. */
#define HOPE 0.25

/* seconds: of the curve's trial. */
static bool is_worth_trying(const app_auto_question *question, int candidate, double seconds, const app_compared *best)
{
    const double gain = best->evaluated.step_seconds - best->evaluated.step_seconds_ideal;

    return candidate == 0 || HOPE * gain * question->life > candidates[candidate].effort * seconds;
}

/* Tries one method, and keeps it if it is the best so far. seconds: CPU seconds of the rank that needed most. */
static int try_one(app_whatif_state *state, const app_auto_question *question, const app_method_choice *choice,
                   double *cost, app_auto_answer *answer, app_compared *row, double *seconds, eqp_message *message)
{
    const double begin = eqp_cpu_seconds();
    app_method_choice *copy = NULL;
    app_trial trial = {.nparts = question->nparts};
    int code = eqp_array_create(&copy, 1, sizeof *copy);

    if (code == EQP_OK) {
        *copy = *choice;
        trial.choice = copy;
    }
    code = eqp_agree(app_whatif_comm(state), code, message);
    if (code == EQP_OK) {
        code = app_whatif_try(state, 1, &trial, &question->network, message);
    }
    if (code == EQP_OK) {
        *row = trial.row;
        *seconds = eqp_cpu_seconds() - begin;
        if (MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, app_whatif_comm(state)) != MPI_SUCCESS) {
            code = EQP_ERR_MPI;
        }
    }
    if (code == EQP_OK && (cost_of(question, &trial.row, false) < *cost || (answer->choice == NULL && !answer->keep))) {
        *cost = cost_of(question, &trial.row, false);
        app_trials_free(1, &answer->trial);
        free(answer->choice);
        answer->trial = trial;
        answer->choice = copy;
        answer->keep = false;
        return EQP_OK;
    }
    app_trials_free(1, &trial);
    free(copy);
    return code;
}

static void explain(const app_auto_question *question, const app_compared *curve, const app_compared *present,
                    int ntried, app_auto_answer *answer)
{
    const app_compared *best = answer->keep ? present : &answer->trial.row;
    char against[96] = "";

    if (present != NULL && !answer->keep) {
        snprintf(against, sizeof against, ", %.4g s with the present map", present->evaluated.step_seconds);
    }
    snprintf(answer->why, sizeof answer->why,
             "%s: %.4g s a step modelled, %.4g s with sfc%s; %d tried, for %.0f steps on %d ranks",
             answer->keep ? "the present map" : answer->choice->name, best->evaluated.step_seconds,
             curve->evaluated.step_seconds, against, ntried, question->life, question->nparts);
}

int app_auto_choose(app_whatif_state *state, const app_auto_question *question, const app_trial *present,
                    app_auto_answer *answer, eqp_message *message)
{
    app_compared curve = {.method = NULL}, now = {.method = NULL}, row;
    double cost = INFINITY, seconds = 0.0, of_curve = 0.0;
    int ntried = 0, code = EQP_OK;

    *answer = (app_auto_answer){.keep = false};
    if (present != NULL) {
        app_trial given = *present;
        code = app_whatif_try(state, 1, &given, &question->network, message);
        if (code == EQP_OK) {
            now = given.row;
            cost = cost_of(question, &now, true);
            answer->keep = true;
        }
    }
    for (int i = 0; i < NCANDIDATES && code == EQP_OK; i++) {
        app_method_choice choice;
        if (!is_worth_trying(question, i, of_curve, answer->keep ? &now : &answer->trial.row)) {
            continue;
        }
        code = app_word_parse(question->own, &question->options, candidates[i].word, &choice, message);
        if (code == EQP_OK) {
            code = try_one(state, question, &choice, &cost, answer, &row, &seconds, message);
        }
        if (code == EQP_OK && i == 0) {
            curve = row;
            of_curve = seconds;
        }
        ntried++;
    }
    if (code != EQP_OK) {
        app_trials_free(1, &answer->trial);
        free(answer->choice);
        *answer = (app_auto_answer){.keep = false};
        return code;
    }
    answer->row = answer->keep ? now : answer->trial.row;
    explain(question, &curve, present != NULL ? &now : NULL, ntried, answer);
    return EQP_OK;
}
