/* SPDX-License-Identifier: BSD-3-Clause */
/* `auto`: the candidates are tried from the cheapest up, traced exactly and evaluated with the measured costs and the
 * network; what costs least over its expected life wins. The weighted curve is always among them, and so is the present
 * map. */
#ifndef WHATIF_AUTOMATIC_H
#define WHATIF_AUTOMATIC_H

#include "whatif/whatif.h"

/* Those of its candidates, with the usual options of words, that are not among choice [n]: *missing is owned by the
 * caller, free(). EQP_OK, EQP_ERR_MEMORY or a code of eqp_choice_parse(). Local. */
int eqp__auto_missing(const eqp_methods *own, const eqp_choice_options *usual, int n, const eqp_choice *choice,
                      int *nmissing, eqp_choice **missing, eqp_message *message);

/* Whether a choice can be had with even steps and has not got them: the parts must have shares in weighted items. */
bool eqp__can_even(const eqp_choice *choice);

/* The same choice with even steps, as a word of its own. Local. */
void eqp__even_word(const eqp_choice *choice, eqp_choice *even);

enum { EQP__AUTO_CANDIDATES = 8, EQP__AUTO_REST = 63 };

/* What the choices of a run have shown of the candidates. Zeros: nothing yet. One that has lost n times in a row rests
 * for 2^n - 1 choices, EQP__AUTO_REST at most; the curve never does. */
typedef struct eqp_auto_memory {
    double effort[EQP__AUTO_CANDIDATES]; /* of the last trial, as a multiple of that of the curve; 0: not tried */
    int lost[EQP__AUTO_CANDIDATES];      /* trials in a row that cost more than the best by more than a little */
    int rest[EQP__AUTO_CANDIDATES];      /* choices to come without it */
} eqp_auto_memory;

/* What is known when a choice is made. */
typedef struct eqp_auto_question {
    int nparts;
    double life; /* steps that a map is expected to last, > 0 */
    eqp_network network;
    eqp_auto_memory *memory; /* of the run, which goes on; NULL: none */
} eqp_auto_question;

/* What was chosen; the same on all ranks but for the trial's map and placements. */
typedef struct eqp_auto_answer {
    eqp_trial trial;   /* the best one: owned by the caller, eqp__trials_free(1, ...) */
    eqp_choice choice; /* of the trial */
    bool keep;         /* the present map is the best: trial is empty */
    eqp_compared row;  /* of the map that is to be used */
    char why[192];     /* one line for people */
} eqp_auto_answer;

/* Where the run has a method of its own (what->making.method, not `auto`) that one alone is tried, and the present
 * map is not kept. present: the map in use as a trial without a choice (map and placements borrowed), or NULL.
 * Collective. */
int eqp__auto_choose(eqp_whatif_state *state, const eqp_auto_question *question, const eqp_trial *present,
                     eqp_auto_answer *answer, eqp_message *message);

#endif
