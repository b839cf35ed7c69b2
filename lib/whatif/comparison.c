/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"
#include "decide/outlook.h"
#include "methods/frame/frame.h"
#include "whatif/automatic.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of best choices that `auto` also tries with even=step. */
#define EVENED 2

/* Trials for each number of parts: the requested methods without `auto`, then the additional candidates of `auto`,
 * then the best of all these with even steps. */
typedef struct comparison {
    int nasked, ntried, neven;
    const eqp_choice *asked;     /* [nasked] */
    const eqp_choice *automatic; /* the `auto` among them, or NULL */
    const eqp_choice **tried;    /* [ntried] */
    eqp_choice *missing;         /* owned */
    eqp_choice *even;            /* [counts][EVENED], owned */
    double *step;                /* [2][ntried + neven] scratch, owned */
} comparison;

/* Collective if `auto` is among the choices; returns this rank's code. */
static int plan_comparison(eqp_whatif_state *state, int nchoices, const eqp_choice *choice, int ncounts, comparison *c,
                           eqp_message *message)
{
    double pins;
    int nmissing = 0;

    *c = (comparison){.nasked = nchoices, .asked = choice};
    for (int i = 0; i < nchoices; i++) {
        if (choice[i].method == &eqp__method_auto) {
            EQP_CHECK(c->automatic != NULL
                          ? EQP__SAY(message, EQP_ERR_ARGUMENT, "what-if: '%s' and '%s': one at a time",
                                     c->automatic->word, choice[i].word)
                          : EQP_OK);
            c->automatic = &choice[i];
        }
    }
    if (c->automatic != NULL) {
        c->neven = EVENED;
        EQP_CHECK(eqp__whatif_count_pins(state, &pins));
        EQP_CHECK(eqp__auto_missing(state->what->problem->own, eqp__auto_offers(state->what->problem, state->phases.n),
                                    pins, &c->automatic->options, nchoices, choice, &nmissing, &c->missing, message));
    }
    EQP_CHECK(EQP__ARRAYS({&c->tried, nchoices + nmissing, sizeof(const eqp_choice *)},
                          EQP__ARRAY(c->even, (int64_t)ncounts * c->neven)));
    for (int i = 0; i < nchoices; i++) {
        if (choice[i].method != &eqp__method_auto) {
            c->tried[c->ntried++] = &choice[i];
        }
    }
    for (int i = 0; i < nmissing; i++) {
        c->tried[c->ntried++] = &c->missing[i];
    }
    return eqp_array_create(&c->step, 2 * (int64_t)(c->ntried + c->neven), sizeof *c->step);
}

static double step_of(const eqp_trial *trial)
{
    return eqp__fitting_seconds(&trial->row, trial->row.evaluated.step_seconds);
}

/* Index of the trial with the shortest step that can still get even steps, or -1. done: [n] true for trials to skip;
 * updated. */
static int next_best(int n, const eqp_trial *trials, bool *done)
{
    int best = -1;

    for (int i = 0; i < n; i++) {
        if (!done[i] && eqp__can_even(trials[i].choice) && (best < 0 || step_of(&trials[i]) < step_of(&trials[best]))) {
            best = i;
        }
    }
    if (best >= 0) {
        done[best] = true;
    }
    return best;
}

static bool is_tried(const comparison *c, const eqp_choice *choice)
{
    int i = 0;

    while (i < c->ntried && strcmp(c->tried[i]->word, choice->word) != 0) {
        i++;
    }
    return i < c->ntried;
}

/* Tries the best methods with even steps, unless requested anyway. If there are fewer than EVENED, the last slots
 * stay empty. */
static int try_even(eqp_whatif_state *state, const comparison *c, eqp_trial *trials, eqp_choice *even,
                    const eqp_network *network, eqp_message *message)
{
    bool *done = NULL;
    int n = 0, code = eqp_agree(state->comm, eqp_array_create(&done, c->ntried, sizeof *done), NULL);

    while (n < c->neven && code == EQP_OK) {
        const int best = next_best(c->ntried, trials, done);
        if (best < 0) {
            break;
        }
        eqp__even_word(trials[best].choice, &even[n]);
        trials[c->ntried + n].choice = &even[n];
        n += !is_tried(c, &even[n]);
    }
    for (int i = n; i < c->neven; i++) {
        trials[c->ntried + i].choice = NULL;
    }
    free(done);
    return code == EQP_OK ? eqp__whatif_try(state, n, trials + c->ntried, network, message) : code;
}

/* The choice of `auto`: the shortest next step, or present step if the next is unknown. Its cost is the sum over all
 * trials. step, next: [ntried + neven] scratch. taken: index of the chosen trial. */
static eqp_compared choose(const comparison *c, const char *word, const eqp_trial *trials, double *step, double *next,
                           int *taken)
{
    eqp_compared row;
    double seconds = 0.0;
    int n = 0;

    for (; n < c->ntried + c->neven && trials[n].choice != NULL; n++) {
        seconds += trials[n].row.balance_seconds;
        step[n] = step_of(&trials[n]);
        next[n] = isnan(trials[n].row.step_next) ? NAN : eqp__fitting_seconds(&trials[n].row, trials[n].row.step_next);
    }
    const int best = eqp__outlook_pick(n, step, next);
    row = trials[best].row;
    *taken = best;
    snprintf(row.chosen, sizeof row.chosen, "%s", trials[best].choice->word);
    row.method = word;
    row.balance_seconds = seconds;
    return row;
}

/* Fills row i of the requested methods from the trials for one number of parts. tried: number of earlier rows
 * without `auto`; updated. Returns the trial. */
static int read_row(const comparison *c, const eqp_trial *trials, int i, int *tried, eqp_compared *row)
{
    const eqp_choice *asked = &c->asked[i];
    int taken = *tried;

    if (asked->method == &eqp__method_auto) {
        *row = choose(c, asked->word, trials, c->step, c->step + c->ntried + c->neven, &taken);
    } else {
        *row = trials[(*tried)++].row;
    }
    return taken;
}

/* maps: if not NULL, the rows' maps are needed as well. */
static int read_rows(const comparison *c, const eqp_trial *trials, const eqp__whatif_told *maps, eqp_compared *rows)
{
    int tried = 0, code = EQP_OK;

    for (int i = 0; i < c->nasked && code == EQP_OK; i++) {
        const eqp_trial *trial = &trials[read_row(c, trials, i, &tried, &rows[i])];
        code = maps != NULL && maps->on_map != NULL ? maps->on_map(maps->user, &rows[i], trial->map, trial->placements)
                                                    : EQP_OK;
    }
    return code;
}

static int look_again(eqp_whatif_state *state, int n, eqp_trial *trials, const eqp_network *network,
                      eqp_message *message)
{
    eqp_trial *there = NULL;
    int nthere = 0, code;

    EQP_TRY(eqp_agree(state->comm, eqp_array_create(&there, n, sizeof *there), NULL));
    for (int i = 0; i < n; i++) {
        if (trials[i].choice != NULL) {
            there[nthere] = trials[i];
            there[nthere++].choice = NULL;
        }
    }
    EQP_TRY(eqp__whatif_try(state, nthere, there, network, message));
    for (int i = 0, k = 0; i < n; i++) {
        if (trials[i].choice != NULL) {
            trials[i].row.imbalance_next = there[k].row.evaluated.imbalance;
            trials[i].row.step_next = there[k++].row.evaluated.step_seconds;
        }
    }
done:
    free(there); /* its maps belong to the trials */
    return code;
}

/* Traces all trials at the next positions; each: trials per number of parts. */
static int look_ahead(eqp_whatif_state *state, int each, int ncounts, eqp_trial *trials, const eqp_network *network,
                      eqp_message *message)
{
    const eqp_problem *problem = state->what->problem;
    int code = EQP_OK;

    if (problem->advance == NULL) {
        return EQP_OK;
    }
    code = eqp_agree(state->comm, problem->advance(problem->user, message), message);
    state->pinned_known = false; /* positions have changed */
    for (int k = 0; k < ncounts && code == EQP_OK; k++) {
        code = look_again(state, each, trials + k * each, network, message);
    }
    return code;
}

static int compare_one(eqp_whatif_state *state, const comparison *c, int nparts, eqp_trial *trials, eqp_choice *even,
                       const eqp_network *network, eqp_message *message)
{
    int code;

    for (int m = 0; m < c->ntried + c->neven; m++) {
        trials[m].choice = m < c->ntried ? c->tried[m] : NULL;
        trials[m].nparts = nparts;
    }
    code = eqp__whatif_try(state, c->ntried, trials, network, message);
    return code == EQP_OK && c->neven > 0 ? try_even(state, c, trials, even, network, message) : code;
}

int eqp__whatif_compare(const eqp_whatif *what, int nchoices, const eqp_choice *choice, int ncounts,
                        const int64_t *parts, const eqp_network *network, eqp_compared **rows,
                        const eqp__whatif_told *told, eqp_message *message)
{
    eqp_whatif_state state;
    eqp_trial *trials = NULL;
    eqp_compared *made = NULL;
    comparison c;
    int code;

    eqp__whatif_open(what, &state);
    code = plan_comparison(&state, nchoices, choice, ncounts, &c, message);
    const int each = c.ntried + c.neven;

    code = code ? code : eqp_array_create(&trials, (int64_t)each * ncounts, sizeof *trials);
    code = code ? code : eqp_array_create(&made, (int64_t)nchoices * ncounts, sizeof *made);
    EQP_TRY(eqp_agree(what->comm, code, message));
    for (int k = 0; k < ncounts; k++) {
        EQP_TRY(compare_one(&state, &c, (int)parts[k], trials + k * each, c.even + k * c.neven, network, message));
        (void)read_rows(&c, trials + k * each, NULL, made + k * nchoices);
        if (told != NULL && told->on_rows != NULL) {
            told->on_rows(told->user, nchoices, made + k * nchoices);
        }
    }
    EQP_TRY(look_ahead(&state, each, ncounts, trials, network, message));
    for (int k = 0; k < ncounts; k++) {
        EQP_TRY(read_rows(&c, trials + k * each, told, made + k * nchoices));
    }
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "what-if: %s", eqp_error_text(code));
    }
    if (trials != NULL) {
        eqp__trials_free(each * ncounts, trials);
    }
    EQP__FREE(trials, c.tried, c.missing, c.even, c.step);
    eqp__whatif_close(&state);
    if (code == EQP_OK) {
        *rows = made;
        made = NULL;
    }
    free(made);
    return code;
}
