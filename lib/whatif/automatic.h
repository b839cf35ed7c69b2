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

/* The candidates of `auto` for these features, with the default options of words, that fit into memory and are not in
 * choice [n]: *missing is owned by the caller, free(). EQP_OK, EQP_ERR_MEMORY or a code of eqp_choice_parse().
 * Local. */
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

/* The same choice with even steps, with its own word. Local. */
void eqp__even_word(const eqp_choice *choice, eqp_choice *even);

/* A candidate has two kinds of maps: without and with even steps. */
enum { EQP__AUTO_CANDIDATES = 11, EQP__AUTO_KINDS = 2 * EQP__AUTO_CANDIDATES, EQP__AUTO_REST = 63 };

/* Results of the choices and steps of a run, by candidate. Zero: nothing yet. A candidate that has lost n times in a
 * row is skipped for 2^n - 1 choices, EQP__AUTO_REST at most; the curve never is. Plain data, the same on all ranks. */
typedef struct eqp_auto_memory {
    double effort[EQP__AUTO_CANDIDATES]; /* of the last trial, relative to the curve's; 0: not tried */
    int lost[EQP__AUTO_CANDIDATES];      /* consecutive trials that lost by more than a little */
    int rest[EQP__AUTO_CANDIDATES];      /* choices to skip it for */
    eqp_ageing ageing[EQP__AUTO_KINDS];  /* of maps in use */
    eqp_ageing usual;                    /* of all kinds */
    int64_t kind;                        /* 1 + kind of the present map; 0: unknown */
    int64_t age;                         /* steps since the map was made */
    double fresh, uneven;                /* imbalance of its first step, and of the last one */
    double made;                         /* seconds of the last map made without a trial; 0: none */
    double curve;                        /* seconds of the curve's last trial; 0: none */
    double step;                         /* seconds of the last step */
    double run;                          /* seconds of all steps so far, including maps */
    double spent;                        /* part of run: spent on choices, without the maps that were chosen */
    double beyond;                       /* part of that: spent on the last choice */
    int64_t idle;                        /* 1: trials cost the run no time */
    int64_t offers;                      /* features of the problem */
} eqp_auto_memory;

/* Records a step. fresh: a map was made before it. uneven: imbalance by counts, messages included. step, made: seconds
 * of the step, and of making a map before it. */
void eqp__auto_record(eqp_auto_memory *memory, bool fresh, double uneven, double step, double made);

/* True if a choice is worthwhile now: its trials are affordable and could save more in the remaining steps. False
 * before the first map, since its cost is unknown, unless trials are free. */
bool eqp__auto_may_try(const eqp_auto_memory *memory, const eqp_lives *lives);

/* The last winner, initially the curve. EQP_OK or a code of eqp_choice_parse(). */
int eqp__auto_last(const eqp_auto_memory *memory, const eqp_methods *own, const eqp_choice_options *usual,
                   eqp_choice *choice, eqp_message *message);

/* Records a map by the last winner, made without trials. */
void eqp__auto_again(eqp_auto_memory *memory);

/* Seconds left for trials, if a map made now has steps of this length. */
double eqp__auto_left(const eqp_auto_memory *memory, const eqp_lives *lives, double step);

/* Adds seconds of trials beyond the cost of making the chosen map; negative: fewer were wasted. */
void eqp__auto_spend(eqp_auto_memory *memory, double seconds);

/* Sets the kind of a map chosen elsewhere, by its word. */
void eqp__auto_take(eqp_auto_memory *memory, const char *word);

/* Modelled seconds of making a map, for decisions that must not depend on a clock: a multiple of an even step.
 * Local. */
double eqp__nominal_map(const eqp_method *method, double even_step);

/* The same for a trial: making and tracing a map. */
double eqp__nominal_trial(const eqp_method *method, double even_step);

/* True if bytes of a file are a valid memory: all numbers are finite and in range. */
bool eqp__auto_can_be(const eqp_auto_memory *memory);

/* Input of a choice. */
typedef struct eqp_auto_input {
    int nparts;
    eqp_lives lives; /* `known` is set here */
    eqp_network network;
    eqp_auto_memory *memory; /* of the run, updated; NULL: none, and trials are unlimited */
} eqp_auto_input;

/* Result of a choice; the same on all ranks, except the trial's map and placements. */
typedef struct eqp_auto_result {
    eqp_trial trial;   /* the best one: owned by the caller, eqp__trials_free(1, ...) */
    eqp_choice choice; /* of the trial */
    bool keep;         /* the present map is the best: trial is empty */
    eqp_compared row;  /* of the map to use */
    double cost;       /* mean seconds of a step over its expected life, including the price of the map */
    char why[192];     /* one line of text */
} eqp_auto_result;

/* If the run has a fixed method (what->making.method, not `auto`), only that is tried, and the present map is not kept.
 * present: the present map as a trial without a choice (map and placements borrowed), or NULL. Collective. */
int eqp__auto_choose(eqp_whatif_state *state, const eqp_auto_input *question, const eqp_trial *present,
                     eqp_auto_result *answer, eqp_message *message);

#endif
