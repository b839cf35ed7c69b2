/* SPDX-License-Identifier: BSD-3-Clause */
#include "whatif/automatic.h"

#include "par/methods.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The candidates, from the cheapest up. effort: what trying one is expected to cost, its trace included, as a multiple
 * of what the curve's trial has cost. The curve is tried without a question. A hypergraph of all pins takes 10 times as
 * much where they are few, 100 times where everybody touches everything. */
static const struct {
    const char *word;
    double effort;
} candidates[] = {{"sfc", 0},    {"rcb", 1},   {"rib", 1},          {"sfc:split", 3},
                  {"jagged", 3}, {"tiles", 3}, {"interaction", 10}, {"hypergraph", 100}};
#define NCANDIDATES ((int)(sizeof candidates / sizeof candidates[0]))
_Static_assert(sizeof candidates / sizeof candidates[0] == EQP__AUTO_CANDIDATES, "a memory of each");

/* What costs so much more than the best has lost. */
#define LOSS 0.02

/* In a comparison, candidates that take more are tried only where they are asked for. */
#define MOST_UNASKED 10

/* What making the best one's steps even costs, as a multiple of what its own trial has cost. */
#define EVEN_EFFORT 6.0

int eqp__auto_missing(const eqp_methods *own, const eqp_choice_options *usual, int n, const eqp_choice *choice,
                      int *nmissing, eqp_choice **missing, eqp_message *message)
{
    eqp_choice *made = NULL;
    int count = 0, code = eqp_array_create(&made, NCANDIDATES, sizeof *made);

    for (int i = 0; i < NCANDIDATES && code == EQP_OK; i++) {
        int k = 0;
        while (k < n && strcmp(choice[k].word, candidates[i].word) != 0) {
            k++;
        }
        if (k == n && candidates[i].effort <= MOST_UNASKED) {
            code = eqp_choice_parse(own, usual, candidates[i].word, &made[count++], message);
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

bool eqp__can_even(const eqp_choice *choice)
{
    return (choice->method->flags & EQP_CAN_EVEN) && !choice->options.even;
}

void eqp__even_word(const eqp_choice *choice, eqp_choice *even)
{
    const char joint = strchr(choice->word, ':') == NULL ? ':' : ',';

    *even = *choice;
    even->options.even = 1;
    snprintf(even->word, sizeof even->word, "%.*s%ceven=step", EQP_WORD_LETTERS, choice->word, joint);
}

/* What a trial costs over the life of its map: its making, unless it is there already, and its steps. */
static double cost_of(const eqp_auto_question *question, const eqp_compared *row, bool is_present)
{
    const double step = row->evaluated.step_seconds;

    return step * question->life + (is_present ? 0.0 : row->balance_seconds);
}

/* No method saves all that is lost: this part of it, if things go well. */
#define HOPE 0.25

/* seconds: of the curve's trial. */
static bool is_worth_trying(const eqp_auto_question *question, double effort, double seconds, const eqp_compared *best)
{
    const double gain = best->evaluated.step_seconds - best->evaluated.step_seconds_ideal;

    return HOPE * gain * question->life > effort * seconds;
}

/* Tries one method, and keeps it if it is the best so far. seconds: CPU seconds of the rank that needed most. */
static int try_one(eqp_whatif_state *state, const eqp_auto_question *question, const eqp_choice *choice, double *cost,
                   eqp_auto_answer *answer, eqp_compared *row, double *seconds, eqp_message *message)
{
    const double begin = eqp_cpu_seconds();
    eqp_trial trial = {.choice = choice, .nparts = question->nparts};
    int code;

    EQP_TRY(eqp__whatif_try(state, 1, &trial, &question->network, message));
    *row = trial.row;
    *seconds = eqp_cpu_seconds_since(begin);
    if (MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, state->comm) != MPI_SUCCESS) {
        EQP_TRY(EQP_ERR_MPI);
    }
    if (cost_of(question, &trial.row, false) < *cost || (answer->trial.choice == NULL && !answer->keep)) {
        *cost = cost_of(question, &trial.row, false);
        eqp__trials_free(1, &answer->trial);
        answer->trial = trial;
        answer->choice = *choice;
        answer->trial.choice = &answer->choice;
        answer->trial.row.method = answer->choice.word;
        answer->keep = false;
        return EQP_OK;
    }
done:
    eqp__trials_free(1, &trial);
    return code;
}

static void explain(const eqp_auto_question *question, const eqp_compared *curve, const eqp_compared *present,
                    int ntried, eqp_auto_answer *answer)
{
    const eqp_compared *best = answer->keep ? present : &answer->trial.row;
    char against[96] = "";

    if (present != NULL && !answer->keep) {
        snprintf(against, sizeof against, ", %.4g s with the present map", present->evaluated.step_seconds);
    }
    snprintf(answer->why, sizeof answer->why,
             "%s: %.4g s a step modelled, %.4g s with sfc%s; %d tried, for %.0f steps on %d ranks",
             answer->keep ? "the present map" : answer->choice.word, best->evaluated.step_seconds,
             curve->evaluated.step_seconds, against, ntried, question->life, question->nparts);
}

/* What goes on while a choice is made. */
typedef struct choosing {
    eqp_whatif_state *state;
    const eqp_auto_question *question;
    const eqp_compared *present; /* or NULL */
    eqp_auto_answer *answer;
    double cost;         /* of what is the best so far */
    double curve_effort; /* CPU seconds of the curve's trial */
    double best_effort;  /* of that of the best new map */
    eqp_compared curve;
    int ntried;
    double cost_of_each[EQP__AUTO_CANDIDATES]; /* 0: not tried */
    eqp_message *message;
} choosing;

static const eqp_compared *best_so_far(const choosing *c)
{
    return c->answer->keep ? c->present : &c->answer->trial.row;
}

/* Whether candidate i is not tried now, as it has lost before or would take too long. */
static bool passes(const choosing *c, int i)
{
    const eqp_auto_memory *memory = c->question->memory;
    const double effort = memory != NULL && memory->effort[i] > 0.0 ? memory->effort[i] : candidates[i].effort;

    return i > 0 && ((memory != NULL && memory->rest[i] > 0) ||
                     !is_worth_trying(c->question, effort, c->curve_effort, best_so_far(c)));
}

/* After all trials: who has lost to another new map rests. */
static void remember(const choosing *c)
{
    eqp_auto_memory *memory = c->question->memory;
    double least = INFINITY;

    for (int i = 0; i < NCANDIDATES; i++) {
        least = c->cost_of_each[i] > 0.0 ? fmin(least, c->cost_of_each[i]) : least;
    }
    for (int i = 1; i < NCANDIDATES && memory != NULL; i++) {
        if (memory->rest[i] > 0) {
            memory->rest[i]--;
        } else if (c->cost_of_each[i] > 0.0) {
            const bool lost = c->cost_of_each[i] > (1.0 + LOSS) * least;
            memory->lost[i] = lost ? memory->lost[i] + 1 : 0;
            memory->rest[i] = memory->lost[i] < 6 ? (1 << memory->lost[i]) - 1 : EQP__AUTO_REST;
        }
    }
}

static int try_candidates(choosing *c)
{
    eqp_auto_memory *memory = c->question->memory;
    const eqp_whatif *what = c->state->what;
    int code = EQP_OK;

    for (int i = 0; i < NCANDIDATES && code == EQP_OK; i++) {
        eqp_choice choice;
        eqp_compared row;
        double seconds = 0.0;
        if (passes(c, i)) {
            continue;
        }
        code = eqp_choice_parse(what->problem->own, &what->making.how, candidates[i].word, &choice, c->message);
        if (code == EQP_OK) {
            code = try_one(c->state, c->question, &choice, &c->cost, c->answer, &row, &seconds, c->message);
        }
        if (code == EQP_OK && i == 0) {
            c->curve = row;
            c->curve_effort = seconds;
        }
        c->cost_of_each[i] = code == EQP_OK ? cost_of(c->question, &row, false) : 0.0;
        if (code == EQP_OK && memory != NULL && c->curve_effort > 0.0) {
            memory->effort[i] = seconds / c->curve_effort;
        }
        if (code == EQP_OK && c->answer->trial.choice != NULL && strcmp(c->answer->choice.word, choice.word) == 0) {
            c->best_effort = seconds;
        }
        c->ntried++;
    }
    if (code == EQP_OK) {
        remember(c);
    }
    return code;
}

/* The new map that was the best, with even steps. */
static int try_even(choosing *c)
{
    eqp_choice even;
    eqp_compared row;
    double seconds = 0.0;

    if (c->answer->keep || !eqp__can_even(&c->answer->choice) ||
        !is_worth_trying(c->question, EVEN_EFFORT, c->best_effort, best_so_far(c))) {
        return EQP_OK;
    }
    eqp__even_word(&c->answer->choice, &even);
    c->ntried++;
    return try_one(c->state, c->question, &even, &c->cost, c->answer, &row, &seconds, c->message);
}

/* The run's own method alone. */
static int try_only(choosing *c)
{
    const eqp_making *making = &c->state->what->making;
    eqp_choice choice = {.method = making->method, .options = making->how, .settings = making->settings};
    eqp_compared row;
    double seconds = 0.0;

    snprintf(choice.word, sizeof choice.word, "%s", choice.method->name);
    return try_one(c->state, c->question, &choice, &c->cost, c->answer, &row, &seconds, c->message);
}

static int try_present(choosing *c, const eqp_trial *present, eqp_compared *row)
{
    eqp_trial given = *present;
    int code;

    EQP_TRY(eqp__whatif_try(c->state, 1, &given, &c->question->network, c->message));
    *row = given.row;
    c->present = row;
    c->cost = cost_of(c->question, row, true);
    c->answer->keep = true;
done:
    return code;
}

int eqp__auto_choose(eqp_whatif_state *state, const eqp_auto_question *question, const eqp_trial *present,
                     eqp_auto_answer *answer, eqp_message *message)
{
    choosing c = {.state = state, .question = question, .answer = answer, .cost = INFINITY, .message = message};
    const bool automatic = state->what->making.method == &eqp__method_auto;
    eqp_compared now = {.method = NULL};
    int code = EQP_OK;

    *answer = (eqp_auto_answer){.keep = false};
    if (present != NULL && automatic) {
        EQP_TRY(try_present(&c, present, &now));
    }
    EQP_TRY(automatic ? try_candidates(&c) : try_only(&c));
    if (automatic) {
        EQP_TRY(try_even(&c));
    }
done:
    if (code != EQP_OK) {
        eqp__trials_free(1, &answer->trial);
        *answer = (eqp_auto_answer){.keep = false};
        return code;
    }
    answer->row = answer->keep ? now : answer->trial.row;
    if (automatic) {
        explain(question, &c.curve, c.present, c.ntried, answer);
    }
    return EQP_OK;
}
