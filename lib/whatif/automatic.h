/* SPDX-License-Identifier: BSD-3-Clause */
/* `auto`: the candidates are tried from the cheapest up, traced exactly and evaluated with the measured costs and the
 * network; what costs least a step over its expected life wins, ageing included. The weighted curve is always among
 * them, and so is the present map. Trials take a small part of a run: where they have had it, maps are made the way
 * that won last, untried. */
#ifndef WHATIF_AUTOMATIC_H
#define WHATIF_AUTOMATIC_H

#include "decide/outlook.h"
#include "whatif/whatif.h"

/* True if the method's pins fit into memory: all pins of whole owners, some 80 bytes each in a partitioner, limited to
 * 2^25 per rank. A method that the user names is used at any size. pins: of a rank, on average. Local. */
bool eqp__auto_holds(const eqp_method *method, double pins);

/* The candidates of `auto` for what is offered, with the usual options of words, that it can
 * hold and that are not among choice [n]: *missing is owned by the caller, free(). EQP_OK, EQP_ERR_MEMORY or a code of
 * eqp_choice_parse(). Local. */
int eqp__auto_missing(const eqp_methods *own, unsigned offers, double pins, const eqp_choice_options *usual, int n,
                      const eqp_choice *choice, int *nmissing, eqp_choice **missing, eqp_message *message);

/* Features of a problem that some candidates require: cycles of several phases; owners that need not live where they
 * are computed. */
enum { EQP__AUTO_CYCLES = 1, EQP__AUTO_APART = 2 };

static inline unsigned eqp__auto_offers(const eqp_problem *problem, int nphases)
{
    return (nphases > 1 ? EQP__AUTO_CYCLES : 0u) | (problem->apart ? EQP__AUTO_APART : 0u);
}

/* True if candidate i, of EQP__AUTO_CANDIDATES, exists in this build and for these features. Local. */
bool eqp__auto_is_candidate(int i, unsigned offers);

/* True if `even=step` applies to the choice and is not yet set: its parts must have shares of weighted items. */
bool eqp__can_even(const eqp_choice *choice);

/* The same choice with even steps, as a word of its own. Local. */
void eqp__even_word(const eqp_choice *choice, eqp_choice *even);

/* A candidate without even steps and with them are two kinds of maps. */
enum { EQP__AUTO_CANDIDATES = 11, EQP__AUTO_KINDS = 2 * EQP__AUTO_CANDIDATES, EQP__AUTO_REST = 63 };

/* Results of the choices and steps of a run, by candidate. Zero: nothing yet. A candidate that has lost n times in a
 * row is skipped for 2^n - 1 choices, EQP__AUTO_REST at most; the curve never is. Plain data, the same on all ranks. */
typedef struct eqp_auto_memory {
    double effort[EQP__AUTO_CANDIDATES]; /* of the last trial, as a multiple of that of the curve; 0: not tried */
    int lost[EQP__AUTO_CANDIDATES];      /* trials in a row that cost more than the best by more than a little */
    int rest[EQP__AUTO_CANDIDATES];      /* choices to come without it */
    eqp_ageing ageing[EQP__AUTO_KINDS];  /* of maps that were used */
    eqp_ageing usual;                    /* of all of them */
    int64_t kind;                        /* 1 + that of the present map; 0: not known */
    int64_t age;                         /* steps since it was fresh */
    double fresh, uneven;                /* how uneven its first step was, and the last one */
    double made;                         /* seconds that the last map took that was not tried; 0: there was none */
    double curve;                        /* seconds that the curve's last trial took; 0: it was not tried */
    double step;                         /* seconds of the last step */
    double run;                          /* of all steps so far, with what was made before them */
    double spent;                        /* part of run: spent on choices, without the maps that were chosen */
    double beyond;                       /* part of that: spent on the last choice */
    int64_t idle;                        /* 1: trials cost the run nothing */
    int64_t offers;                      /* of the problem */
} eqp_auto_memory;

/* Takes a step in. fresh: with a map that was made before it. uneven: largest over the ranks of seconds, those of
 * messages included, over the mean of seconds, - 1, by counts. step, made: seconds of it, and of making a map before.
 */
void eqp__auto_record(eqp_auto_memory *memory, bool fresh, double uneven, double step, double made);

/* True if a choice is worthwhile now: its trials are affordable and could save more in the remaining steps. False
 * before the first map, since its cost is unknown, unless trials are free. */
bool eqp__auto_may_try(const eqp_auto_memory *memory, const eqp_lives *lives);

/* The way that won last, at first the curve. EQP_OK or a code of eqp_choice_parse(). */
int eqp__auto_last(const eqp_auto_memory *memory, const eqp_methods *own, const eqp_choice_options *usual,
                   eqp_choice *choice, eqp_message *message);

/* Records a map by the last winner, made without trials. */
void eqp__auto_again(eqp_auto_memory *memory);

/* Seconds that trials may still take, if a map is made now with which steps are so long. */
double eqp__auto_left(const eqp_auto_memory *memory, const eqp_lives *lives, double step);

/* Adds seconds of trials beyond the cost of making the chosen map; negative: fewer were wasted. */
void eqp__auto_spend(eqp_auto_memory *memory, double seconds);

/* The kind of a map that somebody else has chosen, by its word. */
void eqp__auto_take(eqp_auto_memory *memory, const char *word);

/* Modelled seconds of making a map, where no clock may decide: a multiple of an even step. Local. */
double eqp__nominal_map(const eqp_method *method, double even_step);

/* The same of trying one: making and tracing it. */
double eqp__nominal_trial(const eqp_method *method, double even_step);

/* True if bytes of a file are a valid memory: all numbers are finite and in range. */
bool eqp__auto_can_be(const eqp_auto_memory *memory);

/* Input of a choice. */
typedef struct eqp_auto_input {
    int nparts;
    eqp_lives lives; /* of maps; `known` is set here */
    eqp_network network;
    eqp_auto_memory *memory; /* of the run, which goes on; NULL: none, and trials may take what they want */
} eqp_auto_input;

/* Result of a choice; the same on all ranks, except the trial's map and placements. */
typedef struct eqp_auto_result {
    eqp_trial trial;   /* the best one: owned by the caller, eqp__trials_free(1, ...) */
    eqp_choice choice; /* of the trial */
    bool keep;         /* the present map is the best: trial is empty */
    eqp_compared row;  /* of the map to use */
    double cost;       /* seconds of a step in the mean of its expected life, with what making it takes */
    char why[192];     /* one line for people */
} eqp_auto_result;

/* Where the run has a method of its own (what->making.method, not `auto`) that one alone is tried, and the present
 * map is not kept. present: the map in use as a trial without a choice (map and placements borrowed), or NULL.
 * Collective. */
int eqp__auto_choose(eqp_whatif_state *state, const eqp_auto_input *question, const eqp_trial *present,
                     eqp_auto_result *answer, eqp_message *message);

#endif
