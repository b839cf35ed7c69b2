/* SPDX-License-Identifier: BSD-3-Clause */
#include "whatif/automatic.h"

#include "base/internal.h"
#include "methods/frame/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The candidates, from the cheapest up. effort: expected cost of a trial including its trace, as a multiple of the
 * curve's trial. The curve is always tried. A hypergraph of all pins costs 10 times as much where pins are few, and
 * 100 times where owners need most owners. wants: features of the problem that the candidate requires. In a
 * study of cycles, `pieces` never had the shortest step, and a map of one part with `homes=curve` once, by 1 %. */
static const struct {
    const char *word;
    double effort;
    unsigned wants;
} candidates[] = {{"sfc", 0, 0},
                  {"levelled", 1, EQP__AUTO_CYCLES},
                  {"sfc:maps=phase", 1, EQP__AUTO_CYCLES | EQP__AUTO_APART},
                  {"rcb", 1, 0},
                  {"rib", 1, 0},
                  {"metis", 10, EQP__AUTO_CYCLES},
                  {"sfc:split", 3, 0},
                  {"jagged", 3, 0},
                  {"tiles", 3, 0},
                  {"interaction", 10, 0},
                  {"hypergraph", 100, 0}};
#define NCANDIDATES ((int)(sizeof candidates / sizeof candidates[0]))
_Static_assert(sizeof candidates / sizeof candidates[0] == EQP__AUTO_CANDIDATES, "a memory of each");

/* A candidate has lost if it costs this much more than the best. */
#define LOSS 0.02
#define MOST_LOST 6
_Static_assert((1 << MOST_LOST) - 1 == EQP__AUTO_REST, "the longest rest");

/* Cost of evening out the steps of the best candidate, as a multiple of its own trial. */
#define EVEN_EFFORT 6.0

/* Most pins of whole owners on a rank, for a method that the user has not named. */
#define MOST_PINS 33554432.0

/* Expected cost of the curve's first trial, as a multiple of the cost of a map. */
#define TRIAL 3.0

/* Cost of a map along the curve, as a fraction of an even step: barneshut, 20,000 particles on three ranks. */
#define NOMINAL_MAP 0.1

static bool wants_all_pins(const eqp_method *method)
{
    return (method->flags & EQP_NEEDS_PINS) && !(method->flags & EQP_NEEDS_UNITS);
}

double eqp__nominal_map(const eqp_method *method, double even_step)
{
    const bool units = (method->flags & (EQP_NEEDS_UNITS | EQP_NEEDS_PINS)) != 0;
    const double effort = wants_all_pins(method) ? 100.0 : units ? 10.0 : 1.0; /* as for the candidates */

    return NOMINAL_MAP * effort * even_step;
}

double eqp__nominal_trial(const eqp_method *method, double even_step)
{
    return TRIAL * eqp__nominal_map(method, even_step);
}

bool eqp__auto_holds(const eqp_method *method, double pins)
{
    return !wants_all_pins(method) || pins <= MOST_PINS;
}

bool eqp__auto_is_candidate(int i, unsigned offers)
{
    return (candidates[i].wants & ~offers) == 0 && eqp__method_lacking_find(candidates[i].word) == NULL;
}

int eqp__auto_missing(const eqp_methods *own, unsigned offers, double pins, const eqp_choice_options *usual, int n,
                      const eqp_choice *choice, int *nmissing, eqp_choice **missing, eqp_message *message)
{
    eqp_choice *made = NULL;
    int count = 0, code = eqp_array_create(&made, NCANDIDATES, sizeof *made);

    for (int i = 0; i < NCANDIDATES && code == EQP_OK; i++) {
        int k = 0;
        while (k < n && strcmp(choice[k].word, candidates[i].word) != 0) {
            k++;
        }
        if (k == n && eqp__auto_is_candidate(i, offers)) {
            code = eqp_choice_parse(own, usual, candidates[i].word, &made[count], message);
            count += code == EQP_OK && eqp__auto_holds(made[count].method, pins);
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

/* Kind of a candidate's word, with or without even steps; -1: not a candidate. */
static int kind_of(const char *word)
{
    static const char even[] = "even=step";
    const size_t letters = strlen(word), tail = sizeof even - 1;
    const bool evened = letters > tail && strcmp(word + letters - tail, even) == 0;
    const size_t stem = evened ? letters - tail - 1 : letters;

    for (int i = 0; i < NCANDIDATES; i++) {
        if (strlen(candidates[i].word) == stem && strncmp(candidates[i].word, word, stem) == 0) {
            return evened ? NCANDIDATES + i : i;
        }
    }
    return -1;
}

static const eqp_ageing none = {{0.0}, {0.0}};

static const eqp_ageing *ageing_of(const eqp_auto_memory *memory, int kind)
{
    return memory != NULL && kind >= 0 ? &memory->ageing[kind] : &none;
}

/* Expectation for a map made now and renewed once it has lost its price. */
static eqp_prospect new_map(const eqp_auto_input *question, const char *word, const eqp_compared *row)
{
    return (eqp_prospect){.step = row->evaluated.step_seconds,
                          .even = row->evaluated.step_seconds_ideal,
                          .paid = row->balance_seconds,
                          .price = row->balance_seconds,
                          .ageing = ageing_of(question->memory, kind_of(word))};
}

/* The present map costs nothing, and is kept while its next step is shorter than the mean step with a new map. */
static eqp_prospect present_map(const eqp_auto_input *question, const eqp_compared *row)
{
    const eqp_auto_memory *memory = question->memory;

    return (eqp_prospect){.step = row->evaluated.step_seconds,
                          .even = row->evaluated.step_seconds_ideal,
                          .age = memory != NULL ? memory->age : 0,
                          .ageing = ageing_of(memory, memory != NULL ? (int)memory->kind - 1 : -1)};
}

/* Fraction of the loss that a method may save at best. */
#define HOPE 0.25

/* seconds: of the curve's trial. The gain counts for all remaining steps. */
static bool is_worth_trying(const eqp_auto_input *question, double effort, double seconds, const eqp_compared *best)
{
    const double gain = best->evaluated.step_seconds - best->evaluated.step_seconds_ideal;

    return HOPE * gain * question->lives.most > effort * seconds;
}

void eqp__auto_record(eqp_auto_memory *memory, bool fresh, double uneven, double step, double made)
{
    memory->step = step;
    memory->uneven = uneven;
    memory->run += step + made;
    if (fresh) {
        memory->age = 0;
        memory->fresh = uneven;
        memory->made = memory->beyond > 0.0 ? memory->made : made;
        return;
    }
    memory->age++;
    if (memory->kind > 0) {
        eqp__ageing_learn(&memory->ageing[memory->kind - 1], memory->age, uneven - memory->fresh);
        eqp__ageing_learn(&memory->usual, memory->age, uneven - memory->fresh);
    }
}

static double effort_of(const eqp_auto_memory *memory, int i)
{
    return memory != NULL && memory->effort[i] > 0.0 ? memory->effort[i] : candidates[i].effort;
}

static double allowance(const eqp_auto_memory *memory, double life)
{
    return memory == NULL || memory->idle ? INFINITY : eqp__trials_left(memory->run, life, memory->spent);
}

/* A choice always tries the curve, the present map and the last winner; its price is that of these trials and of the
 * cheapest candidate due. */
bool eqp__auto_may_try(const eqp_auto_memory *memory, const eqp_lives *lives)
{
    const double curve = memory->curve > 0.0 ? memory->curve : TRIAL * memory->made;
    const double life = fmin(lives->usual, lives->most) * memory->step;
    const int won = memory->kind > 0 ? (int)(memory->kind - 1) % NCANDIDATES : 0;
    double least = INFINITY;

    for (int i = 1; i < NCANDIDATES; i++) {
        const bool due = memory->rest[i] == 0 && i != won && eqp__auto_is_candidate(i, (unsigned)memory->offers);
        least = due ? fmin(least, effort_of(memory, i)) : least;
    }
    const double price = (2.0 + least + (won > 0 ? effort_of(memory, won) : 0.0)) * curve;
    return memory->idle || (curve > 0.0 && allowance(memory, life) >= price &&
                            HOPE * memory->uneven * memory->step * lives->most > price);
}

int eqp__auto_last(const eqp_auto_memory *memory, const eqp_methods *own, const eqp_choice_options *usual,
                   eqp_choice *choice, eqp_message *message)
{
    const int kind = memory->kind > 0 ? (int)memory->kind - 1 : 0;
    eqp_choice made;

    EQP__CHECK(eqp_choice_parse(own, usual, candidates[kind % NCANDIDATES].word, &made, message));
    *choice = made;
    if (kind >= NCANDIDATES) {
        eqp__even_word(&made, choice);
    }
    return EQP_OK;
}

void eqp__auto_again(eqp_auto_memory *memory)
{
    for (int i = 1; i < NCANDIDATES; i++) {
        memory->rest[i] -= memory->rest[i] > 0;
    }
    memory->beyond = 0.0;
}

static bool can_be_ageing(const eqp_ageing *of)
{
    bool can_be = true;

    for (int b = 0; b < EQP__AGES; b++) {
        can_be = can_be && isfinite(of->rise[b]) && isfinite(of->weight[b]) && of->weight[b] >= 0.0;
    }
    return can_be;
}

bool eqp__auto_can_be(const eqp_auto_memory *m)
{
    const double amount[] = {m->fresh + 1.0, m->uneven + 1.0, m->made, m->curve, m->step, m->run, m->spent, m->beyond};
    bool can_be = can_be_ageing(&m->usual) && m->kind >= 0 && m->kind <= EQP__AUTO_KINDS && m->age >= 0 &&
                  m->age < INT64_MAX / 2 && m->idle >= 0 && m->idle <= 1 && m->offers >= 0 &&
                  m->offers <= (EQP__AUTO_CYCLES | EQP__AUTO_APART);

    for (size_t i = 0; i < sizeof amount / sizeof amount[0]; i++) {
        can_be = can_be && isfinite(amount[i]) && amount[i] >= 0.0;
    }
    for (int i = 0; i < NCANDIDATES; i++) {
        can_be = can_be && isfinite(m->effort[i]) && m->effort[i] >= 0.0 && m->lost[i] >= 0 &&
                 m->lost[i] <= MOST_LOST && m->rest[i] >= 0 && m->rest[i] <= EQP__AUTO_REST;
    }
    for (int i = 0; i < EQP__AUTO_KINDS; i++) {
        can_be = can_be && can_be_ageing(&m->ageing[i]);
    }
    return can_be;
}

double eqp__auto_left(const eqp_auto_memory *memory, const eqp_lives *lives, double step)
{
    return allowance(memory, fmin(lives->usual, lives->most) * step);
}

void eqp__auto_spend(eqp_auto_memory *memory, double seconds)
{
    memory->beyond = fmax(memory->beyond + seconds, 0.0);
    memory->spent = fmax(memory->spent + seconds, 0.0);
}

void eqp__auto_take(eqp_auto_memory *memory, const char *word)
{
    memory->kind = 1 + kind_of(word);
    memory->beyond = 0.0;
}

/* Mean seconds of a step, by which maps are compared. */
static double cost_of(const eqp_auto_input *question, const eqp_prospect *prospect, const eqp_compared *row)
{
    return eqp__fitting_seconds(row, eqp__prospect_cost(&question->lives, prospect));
}

/* Seconds of a trial on the slowest rank: by the clock since `begin`, or modelled; also stores the map's price in
 * the row. */
static int trial_seconds(const eqp_whatif_state *state, const eqp_method *method, double begin, eqp_compared *row,
                         double *seconds)
{
    const double even = row->evaluated.step_seconds_ideal;

    if (state->what->counted) {
        row->balance_seconds = eqp__nominal_map(method, even);
        *seconds = eqp__nominal_trial(method, even);
        return EQP_OK;
    }
    *seconds = eqp__whatif_since(state, begin);
    return EQP__MPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE, MPI_MAX, state->comm));
}

/* Tries one method and keeps its map if it is the best so far. seconds: of the trial. */
static int try_one(eqp_whatif_state *state, const eqp_auto_input *question, const eqp_choice *choice, double *cost,
                   eqp_auto_result *answer, eqp_compared *row, double *seconds, eqp_message *message)
{
    const double begin = eqp__whatif_now(state);
    eqp_trial trial = {.choice = choice, .nparts = question->nparts};
    eqp_prospect prospect;
    int code;

    EQP_TRY(eqp__whatif_try(state, 1, &trial, &question->network, message));
    EQP_TRY(trial_seconds(state, choice->method, begin, &trial.row, seconds));
    *row = trial.row;
    prospect = new_map(question, choice->word, row);
    const double expected = cost_of(question, &prospect, row);
    if (expected < *cost || (answer->trial.choice == NULL && !answer->keep)) {
        *cost = expected;
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

typedef struct choosing {
    eqp_whatif_state *state;
    const eqp_auto_input *question;
    const eqp_compared *present; /* or NULL */
    eqp_auto_result *answer;
    double cost;         /* of the best map so far: mean seconds of a step */
    double curve_effort; /* CPU seconds of the curve's trial */
    double best_effort;  /* seconds of the trial of the best new map */
    eqp_compared curve;
    int ntried;
    double spent;                              /* of all trials */
    double cost_of_each[EQP__AUTO_CANDIDATES]; /* 0: not tried */
    eqp_message *message;
} choosing;

static const eqp_compared *best_so_far(const choosing *c)
{
    return c->answer->keep ? c->present : &c->answer->trial.row;
}

static double left_to_try(const choosing *c)
{
    return eqp__auto_left(c->question->memory, &c->question->lives, c->curve.evaluated.step_seconds) - c->spent;
}

/* True if candidate i is skipped because it has lost before or would take too long. The last winner is always tried,
 * even before other candidates had a turn. */
static bool passes(const choosing *c, int i)
{
    const eqp_auto_memory *memory = c->question->memory;
    const double effort = effort_of(memory, i);

    if (!eqp__auto_is_candidate(i, eqp__auto_offers(c->state->what->problem, c->state->phases.n))) {
        return true;
    }
    if (i == 0 || (memory != NULL && memory->kind > 0 && (memory->kind - 1) % NCANDIDATES == i)) {
        return false;
    }
    return (memory != NULL && memory->rest[i] > 0) || effort * c->curve_effort > left_to_try(c) ||
           !is_worth_trying(c->question, effort, c->curve_effort, best_so_far(c));
}

/* Candidates that lost to another new map are skipped for a while. */
static void remember(const choosing *c)
{
    eqp_auto_memory *memory = c->question->memory;
    double least = INFINITY;

    for (int i = 0; i < NCANDIDATES; i++) {
        least = c->cost_of_each[i] > 0.0 ? fmin(least, c->cost_of_each[i]) : least;
    }
    for (int i = 1; i < NCANDIDATES && memory != NULL; i++) {
        if (c->cost_of_each[i] > 0.0) {
            const bool lost = c->cost_of_each[i] > (1.0 + LOSS) * least;
            memory->lost[i] = !lost ? 0 : memory->lost[i] < MOST_LOST ? memory->lost[i] + 1 : MOST_LOST;
            memory->rest[i] = (1 << memory->lost[i]) - 1;
        } else if (memory->rest[i] > 0) {
            memory->rest[i]--;
        }
    }
}

/* Tries candidate i, unless its pins do not fit into memory. */
static int try_candidate(choosing *c, int i)
{
    eqp_auto_memory *memory = c->question->memory;
    const eqp_whatif_state *state = c->state;
    eqp_choice choice;
    eqp_compared row;
    double seconds, pins = 0.0;

    EQP__CHECK(eqp_choice_parse(state->what->problem->own, &state->what->options.how, candidates[i].word, &choice,
                                c->message));
    if (wants_all_pins(choice.method)) {
        EQP__CHECK(eqp__whatif_count_pins(state, &pins));
    }
    if (!eqp__auto_holds(choice.method, pins)) {
        return EQP_OK;
    }
    EQP__CHECK(try_one(c->state, c->question, &choice, &c->cost, c->answer, &row, &seconds, c->message));
    if (i == 0) {
        c->curve = row;
        c->curve_effort = seconds;
    }
    const eqp_prospect prospect = new_map(c->question, candidates[i].word, &row);
    c->cost_of_each[i] = cost_of(c->question, &prospect, &row);
    c->spent += seconds;
    c->ntried++;
    if (memory != NULL && c->curve_effort > 0.0) {
        memory->effort[i] = seconds / c->curve_effort;
    }
    if (c->answer->trial.choice != NULL && strcmp(c->answer->choice.word, choice.word) == 0) {
        c->best_effort = seconds;
    }
    return EQP_OK;
}

static int try_candidates(choosing *c)
{
    int code = EQP_OK;

    for (int i = 0; i < NCANDIDATES && code == EQP_OK; i++) {
        code = passes(c, i) ? EQP_OK : try_candidate(c, i);
    }
    if (code == EQP_OK) {
        remember(c);
    }
    return code;
}

static int try_even(choosing *c)
{
    eqp_choice even;
    eqp_compared row;
    double seconds = 0.0;

    if (c->answer->keep || !eqp__can_even(&c->answer->choice) || EVEN_EFFORT * c->best_effort > left_to_try(c) ||
        !is_worth_trying(c->question, EVEN_EFFORT, c->best_effort, best_so_far(c))) {
        return EQP_OK;
    }
    eqp__even_word(&c->answer->choice, &even);
    c->ntried++;
    const int code = try_one(c->state, c->question, &even, &c->cost, c->answer, &row, &seconds, c->message);
    c->spent += seconds;
    return code;
}

static int try_only(choosing *c)
{
    const eqp_map_options *options = &c->state->what->options;
    eqp_choice choice = {.method = options->method, .options = options->how, .settings = options->settings};
    eqp_compared row;
    double seconds = 0.0;

    snprintf(choice.word, sizeof choice.word, "%s", choice.method->name);
    return try_one(c->state, c->question, &choice, &c->cost, c->answer, &row, &seconds, c->message);
}

static int try_present(choosing *c, const eqp_trial *present, eqp_compared *row)
{
    const double begin = eqp__whatif_now(c->state);
    eqp_trial given = *present;
    double seconds;

    EQP__CHECK(eqp__whatif_try(c->state, 1, &given, &c->question->network, c->message));
    EQP__CHECK(trial_seconds(c->state, c->state->what->options.method, begin, &given.row, &seconds));
    given.row.balance_seconds = 0.0; /* it already exists */
    *row = given.row;
    const eqp_prospect prospect = present_map(c->question, row);
    c->spent += seconds;
    c->present = row;
    c->cost = cost_of(c->question, &prospect, row);
    c->answer->keep = true;
    return EQP_OK;
}

/* If the new map does not fit into memory, keeps the present one if that fits or needs less. */
static int keep_what_fits(choosing *c, const eqp_trial *present, eqp_compared *row)
{
    const double cost = c->cost;

    EQP__CHECK(try_present(c, present, row));
    c->answer->keep = c->cost < cost;
    if (c->answer->keep) {
        eqp__trials_free(1, &c->answer->trial);
        c->answer->trial = (eqp_trial){.choice = NULL};
        snprintf(c->answer->why, sizeof c->answer->why, "the present map is kept: no new one fits into memory");
    }
    return EQP_OK;
}

/* Describes the choice in one line: modelled step and expected life. */
static void explain(const choosing *c, double life)
{
    eqp_auto_result *answer = c->answer;
    char against[64] = "";

    if (c->present != NULL && !answer->keep) {
        snprintf(against, sizeof against, ", %.3g s with the present map", c->present->evaluated.step_seconds);
    }
    snprintf(answer->why, sizeof answer->why,
             "%.40s: %.3g s a step modelled, %.3g s with sfc%s; %d tried, for %.0f steps of %.3g s as they age",
             answer->keep ? "the present map" : answer->choice.word, best_so_far(c)->evaluated.step_seconds,
             c->curve.evaluated.step_seconds, against, c->ntried, life, c->cost);
}

/* Stores the results for the next choice and for the policy: a map's price is that of making the best one; the rest
 * was spent on choosing. */
static void conclude(const choosing *c)
{
    eqp_auto_memory *memory = c->question->memory;
    const eqp_auto_result *answer = c->answer;
    const bool made = !answer->keep;
    const eqp_compared *best = best_so_far(c);
    const eqp_prospect prospect =
        made ? new_map(c->question, answer->choice.word, best) : present_map(c->question, best);

    explain(c, eqp__prospect_life(&c->question->lives, &prospect));
    if (memory == NULL) {
        return;
    }
    if (made) {
        eqp__auto_take(memory, answer->choice.word);
    }
    memory->beyond = fmax(c->spent - (made ? best : &c->curve)->balance_seconds, 0.0);
    memory->spent += made ? memory->beyond : c->spent;
    memory->curve = c->curve_effort;
}

int eqp__auto_choose(eqp_whatif_state *state, const eqp_auto_input *asked, const eqp_trial *present,
                     eqp_auto_result *answer, eqp_message *message)
{
    eqp_auto_input question = *asked;
    choosing c = {.state = state, .question = &question, .answer = answer, .cost = INFINITY, .message = message};
    const bool automatic = state->what->options.method == &eqp__method_auto;
    eqp_compared now = {.method = NULL};
    int code = EQP_OK;

    question.lives.known = question.memory != NULL ? &question.memory->usual : NULL;
    *answer = (eqp_auto_result){.keep = false};
    if (present != NULL && automatic) {
        EQP_TRY(try_present(&c, present, &now));
    }
    EQP_TRY(automatic ? try_candidates(&c) : try_only(&c));
    if (automatic) {
        EQP_TRY(try_even(&c));
    } else if (present != NULL && !eqp__row_fits(&answer->trial.row)) {
        EQP_TRY(keep_what_fits(&c, present, &now));
    }
done:
    if (code != EQP_OK) {
        eqp__trials_free(1, &answer->trial);
        *answer = (eqp_auto_result){.keep = false};
        return code;
    }
    answer->row = answer->keep ? now : answer->trial.row;
    answer->cost = c.cost;
    if (automatic) {
        conclude(&c);
    }
    return EQP_OK;
}
