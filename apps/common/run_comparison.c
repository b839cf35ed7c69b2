/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_auto.h"
#include "run_whatif_state.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nobody should leave the curve for less than this part of a step. */
#define WORTHWHILE 0.01

/* So many of the shortest steps are made even beside, for `auto`. */
#define EVENED 2

/* A comparison. For every number of parts there are so many trials: the methods that were asked for, without `auto`;
 * behind them those that it wants beside; behind them the best of all these with even steps. */
typedef struct comparison {
    int nasked, ntried, neven;
    const app_method_choice *asked;     /* [nasked] */
    const app_method_choice *automatic; /* of those, or NULL */
    const app_method_choice **tried;    /* [ntried] */
    app_method_choice *missing;         /* owned */
    app_method_choice *even;            /* [counts][EVENED], owned */
} comparison;

static void comparison_free(comparison *c)
{
    free(c->tried);
    free(c->missing);
    free(c->even);
}

static int plan_comparison(const eqp_methods *own, int nchoices, const app_method_choice *choice, int ncounts,
                           comparison *c, eqp_message *message)
{
    int nmissing = 0, code = EQP_OK;

    *c = (comparison){.nasked = nchoices, .asked = choice};
    for (int i = 0; i < nchoices; i++) {
        c->automatic = choice[i].method == &app_method_auto ? &choice[i] : c->automatic;
    }
    if (c->automatic != NULL) {
        c->neven = EVENED;
        EQP_TRY(app_auto_missing(own, &c->automatic->options, nchoices, choice, &nmissing, &c->missing, message));
    }
    EQP_TRY(eqp_array_create(&c->tried, nchoices + nmissing, sizeof(const app_method_choice *)));
    EQP_TRY(eqp_array_create(&c->even, (int64_t)ncounts * c->neven, sizeof *c->even));
    for (int i = 0; i < nchoices; i++) {
        if (choice[i].method != &app_method_auto) {
            c->tried[c->ntried++] = &choice[i];
        }
    }
    for (int i = 0; i < nmissing; i++) {
        c->tried[c->ntried++] = &c->missing[i];
    }
done:
    return code;
}

static double step_of(const app_trial *trial)
{
    return trial->row.evaluated.step_seconds;
}

/* The trial with the shortest step among those that can be made even and were not yet: marked in done [n]. -1: none. */
static int next_best(int n, const app_trial *trials, bool *done)
{
    int best = -1;

    for (int i = 0; i < n; i++) {
        if (!done[i] && app_can_even(trials[i].choice) && (best < 0 || step_of(&trials[i]) < step_of(&trials[best]))) {
            best = i;
        }
    }
    if (best >= 0) {
        done[best] = true;
    }
    return best;
}

static bool is_tried(const comparison *c, const app_method_choice *choice)
{
    int i = 0;

    while (i < c->ntried && strcmp(c->tried[i]->name, choice->name) != 0) {
        i++;
    }
    return i < c->ntried;
}

/* Tries the best with even steps, unless they were asked for themselves. Where there are fewer than EVENED of them, the
 * last slots stay without a choice. */
static int try_even(app_whatif_state *state, const comparison *c, app_trial *trials, app_method_choice *even,
                    const eqp_network *network, eqp_message *message)
{
    bool *done = NULL;
    int n = 0, code = eqp_agree(state->comm, eqp_array_create(&done, c->ntried, sizeof *done), NULL);

    while (n < c->neven && code == EQP_OK) {
        const int best = next_best(c->ntried, trials, done);
        if (best < 0) {
            break;
        }
        app_even_word(trials[best].choice, &even[n]);
        trials[c->ntried + n].choice = &even[n];
        n += !is_tried(c, &even[n]);
    }
    for (int i = n; i < c->neven; i++) {
        trials[c->ntried + i].choice = NULL;
    }
    free(done);
    return code == EQP_OK ? app_whatif_try(state, n, trials + c->ntried, network, message) : code;
}

/* What `auto` takes: the smallest step time, of equal ones the first; the curve, if nothing is worthwhile against it.
 * Its own cost is that of all. */
static app_compared choose(const comparison *c, const app_trial *trials)
{
    app_compared row;
    double seconds = 0.0;
    int best = 0;

    for (int i = 0; i < c->ntried + c->neven && trials[i].choice != NULL; i++) {
        seconds += trials[i].row.balance_seconds;
        best = step_of(&trials[i]) < step_of(&trials[best]) ? i : best;
    }
    for (int i = 0; i < c->ntried; i++) {
        const bool curve = strcmp(trials[i].choice->name, "sfc") == 0;
        best = curve && step_of(&trials[i]) * (1.0 - WORTHWHILE) <= step_of(&trials[best]) ? i : best;
    }
    row = trials[best].row;
    snprintf(row.chosen, sizeof row.chosen, "%s", trials[best].choice->name);
    row.method = c->automatic->name;
    row.balance_seconds = seconds;
    return row;
}

/* The rows that were asked for, from the trials of one number of parts. */
static void read_rows(const comparison *c, const app_trial *trials, app_compared *rows)
{
    int tried = 0;

    for (int i = 0; i < c->nasked; i++) {
        rows[i] = c->asked[i].method == &app_method_auto ? choose(c, trials) : trials[tried++].row;
    }
}

/* The imbalance of an assignment made earlier, for the state as it is now. */
static int look_again(const app_whatif_state *state, const app_trial *trial, double *imbalance)
{
    double *load = NULL;
    int code;

    EQP_TRY(eqp_agree(state->comm, eqp_array_create(&load, trial->nparts, sizeof *load), NULL));
    EQP_TRY(app_whatif_loads(state, trial, load));
    *imbalance = app_speeds_imbalance(state->what->speeds, trial->nparts, load);
done:
    free(load);
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
        if (trials[i].choice != NULL) {
            code = look_again(state, &trials[i], &trials[i].row.imbalance_next);
        }
    }
    return code;
}

/* All methods into one number of parts. */
static int compare_one(app_whatif_state *state, const comparison *c, int nparts, app_trial *trials,
                       app_method_choice *even, const eqp_network *network, eqp_message *message)
{
    int code;

    for (int m = 0; m < c->ntried + c->neven; m++) {
        trials[m].choice = m < c->ntried ? c->tried[m] : NULL;
        trials[m].nparts = nparts;
    }
    code = app_whatif_try(state, c->ntried, trials, network, message);
    return code == EQP_OK && c->neven > 0 ? try_even(state, c, trials, even, network, message) : code;
}

int app_whatif_compare(const app_whatif *what, const eqp_methods *own, int nchoices, const app_method_choice *choice,
                       int ncounts, const int64_t *parts, const eqp_network *network, app_compared **rows,
                       void (*on_rows)(void *user, int n, const app_compared *rows), void *rows_user,
                       eqp_message *message)
{
    app_whatif_state *state = NULL;
    app_trial *trials = NULL;
    app_compared *made = NULL;
    comparison c;
    int code = plan_comparison(own, nchoices, choice, ncounts, &c, message);
    const int each = c.ntried + c.neven;

    if (code == EQP_OK) {
        code = eqp_array_create(&trials, (int64_t)each * ncounts, sizeof *trials);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&made, (int64_t)nchoices * ncounts, sizeof *made);
    }
    EQP_TRY(eqp_agree(what->comm, code, message));
    EQP_TRY(app_whatif_open(what, &state));
    for (int k = 0; k < ncounts; k++) {
        EQP_TRY(compare_one(state, &c, (int)parts[k], trials + k * each, c.even + k * c.neven, network, message));
        read_rows(&c, trials + k * each, made + k * nchoices);
        if (on_rows != NULL) {
            on_rows(rows_user, nchoices, made + k * nchoices);
        }
    }
    EQP_TRY(look_ahead(state, each * ncounts, trials, message));
    for (int k = 0; k < ncounts; k++) {
        read_rows(&c, trials + k * each, made + k * nchoices);
    }
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "what-if: %s", eqp_error_text(code));
    }
    if (trials != NULL) {
        app_trials_free(each * ncounts, trials);
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
