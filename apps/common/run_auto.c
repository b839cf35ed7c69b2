/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_auto.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const eqp_method app_method_auto = {.name = "auto",
                                    .summary = "the cheapest of those that are worth a trial, by exact evaluation",
                                    .flags = EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS};

/* The candidates, from the cheapest up. effort: what trying one is expected to cost, its trace included, as a multiple
 * of what the curve's trial has cost. The curve is tried without a question. */
static const struct {
    const char *word;
    double effort;
} candidates[] = {{"sfc", 0}, {"rcb", 1}, {"sfc:split", 3}, {"jagged", 3}, {"tiles", 3}, {"interaction", 10}};
#define NCANDIDATES ((int)(sizeof candidates / sizeof candidates[0]))

/* What making the best one's steps even costs, as a multiple of what its own trial has cost. */
#define EVEN_EFFORT 6.0

int app_auto_missing(const eqp_methods *own, const app_rebalance_options *run, int n, const app_method_choice *choice,
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

bool app_can_even(const app_method_choice *choice)
{
    return (choice->method->flags & EQP_CAN_EVEN) && !choice->options.how.even;
}

void app_even_word(const app_method_choice *choice, app_method_choice *even)
{
    const char joint = strchr(choice->name, ':') == NULL ? ':' : ',';

    *even = *choice;
    even->options.how.even = 1;
    snprintf(even->name, sizeof even->name, "%.*s%ceven=step", EQP_WORD_LETTERS, choice->name, joint);
}

/* What a trial costs over the life of its map: its making, unless it is there already, and its steps. */
static double cost_of(const app_auto_question *question, const app_compared *row, bool is_present)
{
    const double step = row->evaluated.step_seconds;

    return step * question->life + (is_present ? 0.0 : row->balance_seconds);
}

/* No method saves all that is lost: this part of it, if things go well. */
#define HOPE 0.25

/* seconds: of the curve's trial. */
static bool is_worth_trying(const app_auto_question *question, double effort, double seconds, const app_compared *best)
{
    const double gain = best->evaluated.step_seconds - best->evaluated.step_seconds_ideal;

    return HOPE * gain * question->life > effort * seconds;
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
    EQP_TRY(eqp_agree(app_whatif_comm(state), code, message));
    EQP_TRY(app_whatif_try(state, 1, &trial, &question->network, message));
    *row = trial.row;
    *seconds = eqp_cpu_seconds_since(begin);
    if (MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, app_whatif_comm(state)) != MPI_SUCCESS) {
        EQP_TRY(EQP_ERR_MPI);
    }
    if (cost_of(question, &trial.row, false) < *cost || (answer->choice == NULL && !answer->keep)) {
        *cost = cost_of(question, &trial.row, false);
        app_trials_free(1, &answer->trial);
        free(answer->choice);
        answer->trial = trial;
        answer->choice = copy;
        answer->keep = false;
        return EQP_OK;
    }
done:
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

/* What goes on while a choice is made. */
typedef struct choosing {
    app_whatif_state *state;
    const app_auto_question *question;
    const app_compared *present; /* or NULL */
    app_auto_answer *answer;
    double cost;         /* of what is the best so far */
    double curve_effort; /* CPU seconds of the curve's trial */
    double best_effort;  /* of that of the best new map */
    app_compared curve;
    int ntried;
    eqp_message *message;
} choosing;

static const app_compared *best_so_far(const choosing *c)
{
    return c->answer->keep ? c->present : &c->answer->trial.row;
}

static int try_candidates(choosing *c)
{
    int code = EQP_OK;

    for (int i = 0; i < NCANDIDATES && code == EQP_OK; i++) {
        app_method_choice choice;
        app_compared row;
        double seconds = 0.0;
        if (i > 0 && !is_worth_trying(c->question, candidates[i].effort, c->curve_effort, best_so_far(c))) {
            continue;
        }
        code = app_word_parse(c->question->own, &c->question->options, candidates[i].word, &choice, c->message);
        if (code == EQP_OK) {
            code = try_one(c->state, c->question, &choice, &c->cost, c->answer, &row, &seconds, c->message);
        }
        if (code == EQP_OK && i == 0) {
            c->curve = row;
            c->curve_effort = seconds;
        }
        if (code == EQP_OK && c->answer->choice != NULL && strcmp(c->answer->choice->name, choice.name) == 0) {
            c->best_effort = seconds;
        }
        c->ntried++;
    }
    return code;
}

/* The new map that was the best, with even steps. */
static int try_even(choosing *c)
{
    app_method_choice even;
    app_compared row;
    double seconds = 0.0;

    if (c->answer->keep || !app_can_even(c->answer->choice) ||
        !is_worth_trying(c->question, EVEN_EFFORT, c->best_effort, best_so_far(c))) {
        return EQP_OK;
    }
    app_even_word(c->answer->choice, &even);
    c->ntried++;
    return try_one(c->state, c->question, &even, &c->cost, c->answer, &row, &seconds, c->message);
}

/* The run's own method alone. */
static int try_only(choosing *c)
{
    app_method_choice choice = {.method = c->question->options.method, .options = c->question->options};
    app_compared row;
    double seconds = 0.0;

    snprintf(choice.name, sizeof choice.name, "%s", choice.method->name);
    return try_one(c->state, c->question, &choice, &c->cost, c->answer, &row, &seconds, c->message);
}

static int try_present(choosing *c, const app_trial *present, app_compared *row)
{
    app_trial given = *present;
    int code;

    EQP_TRY(app_whatif_try(c->state, 1, &given, &c->question->network, c->message));
    *row = given.row;
    c->present = row;
    c->cost = cost_of(c->question, row, true);
    c->answer->keep = true;
done:
    return code;
}

int app_auto_choose(app_whatif_state *state, const app_auto_question *question, const app_trial *present,
                    app_auto_answer *answer, eqp_message *message)
{
    choosing c = {.state = state, .question = question, .answer = answer, .cost = INFINITY, .message = message};
    const bool automatic = question->options.method == &app_method_auto;
    app_compared now = {.method = NULL};
    int code = EQP_OK;

    *answer = (app_auto_answer){.keep = false};
    if (present != NULL && automatic) {
        EQP_TRY(try_present(&c, present, &now));
    }
    EQP_TRY(automatic ? try_candidates(&c) : try_only(&c));
    if (automatic) {
        EQP_TRY(try_even(&c));
    }
done:
    if (code != EQP_OK) {
        app_trials_free(1, &answer->trial);
        free(answer->choice);
        *answer = (app_auto_answer){.keep = false};
        return code;
    }
    answer->row = answer->keep ? now : answer->trial.row;
    if (automatic) {
        explain(question, &c.curve, c.present, c.ntried, answer);
    }
    return EQP_OK;
}
