/* SPDX-License-Identifier: BSD-3-Clause */
/* `auto`: the candidates are tried from the cheapest up, traced exactly and evaluated with the measured costs and the
 * network; what costs least over its expected life wins. The weighted curve is always among them, and so is the present
 * map. */
#ifndef APP_RUN_AUTO_H
#define APP_RUN_AUTO_H

#include "run_whatif.h"

/* The row of the table; apps carry it out with app_auto_choose(). */
extern const eqp_method app_method_auto;

/* Those of its candidates, with the options of `run`, that are not among choice [n]: *missing is owned by the caller,
 * free(). EQP_OK, EQP_ERR_MEMORY or a code of app_word_parse(). Local. */
int app_auto_missing(const eqp_methods *own, const app_rebalance_options *run, int n, const app_method_choice *choice,
                     int *nmissing, app_method_choice **missing, eqp_message *message);

/* Whether a choice can be had with even steps and has not got them: the parts must have shares in weighted items. */
bool app_can_even(const app_method_choice *choice);

/* The same choice with even steps, as a word of its own. Local. */
void app_even_word(const app_method_choice *choice, app_method_choice *even);

/* What is known when a choice is made. */
typedef struct app_auto_question {
    const eqp_methods *own;        /* the app's own rows (NULL: none) */
    app_rebalance_options options; /* of the run */
    int nparts;
    double life; /* steps that a map is expected to last, > 0 */
    eqp_network network;
} app_auto_question;

/* What was chosen; the same on all ranks but for the trial's map and verdicts. */
typedef struct app_auto_answer {
    app_trial trial;           /* the best one: owned by the caller, app_trials_free(1, ...) */
    app_method_choice *choice; /* of the trial; owned by the caller: free() */
    bool keep;                 /* the present map is the best: trial is empty */
    app_compared row;          /* of the map that is to be used */
    char why[192];             /* one line for people */
} app_auto_answer;

/* Where the run has a method of its own (question->options.method, not `auto`) that one alone is tried, and the present
 * map is not kept. present: the map in use as a trial without a choice (map and verdicts borrowed), or NULL.
 * Collective. */
int app_auto_choose(app_whatif_state *state, const app_auto_question *question, const app_trial *present,
                    app_auto_answer *answer, eqp_message *message);

#endif
