/* SPDX-License-Identifier: BSD-3-Clause */
/* `auto`: tries candidates from the cheapest up, traces them exactly and evaluates them with the measured costs and
 * the network. The map with the lowest cost per step over its expected life, ageing included, wins. The weighted
 * curve and the present map are always among the candidates. Trials may take a small fraction of the run; once that
 * is spent, maps are made by the last winner without trials. */
#ifndef WHATIF_AUTOMATIC_H
#define WHATIF_AUTOMATIC_H

#include "decide/outlook.h"
#include "whatif/whatif.h"

/* True if the method's pins fit into memory: at most 2^25 pins per rank, of some 80 bytes each in a partitioner. A
 * method named by the user has no limit. pins: mean per rank. Local. */
bool eqp__auto_holds(const eqp_method *method, double pins);

/* The candidates of `auto` for these features that fit into memory and are not in choice [n], with the default
 * options of words. *missing: owned by the caller, free(). EQP_OK, EQP_ERR_MEMORY or a code of eqp_choice_parse().
 * Local. */
int eqp__auto_missing(const eqp_methods *own, unsigned offers, double pins, const eqp_choice_options *usual, int n,
                      const eqp_choice *choice, int *nmissing, eqp_choice **missing, eqp_message *message);

/* Features of a problem that some candidates require: cycles of several phases; owners that need not live on the
 * rank that computes them. */
enum { EQP__AUTO_CYCLES = 1, EQP__AUTO_APART = 2 };

static inline unsigned eqp__auto_offers(const eqp_problem *problem, int nphases)
{
    return (nphases > 1 ? EQP__AUTO_CYCLES : 0u) | (problem->apart ? EQP__AUTO_APART : 0u);
}

/* True if candidate i < EQP__AUTO_CANDIDATES exists in this build and suits these features. Local. */
bool eqp__auto_is_candidate(int i, unsigned offers);

/* True if the choice can get `even=step` and does not have it: its parts must have shares of weighted items. */
bool eqp__can_even(const eqp_choice *choice);

/* The same choice with even steps, under its own word. Local. */
void eqp__even_word(const eqp_choice *choice, eqp_choice *even);

/* A candidate has two kinds of maps: without and with even steps. */
enum { EQP__AUTO_CANDIDATES = 11, EQP__AUTO_KINDS = 2 * EQP__AUTO_CANDIDATES, EQP__AUTO_REST = 63 };

/* Results of a run's choices and steps, by candidate; zeros at first. A candidate that has lost n times in a row is
 * skipped for 2^n - 1 choices, EQP__AUTO_REST at most; the curve never is. Plain data, the same on all ranks. */
typedef struct eqp_auto_memory {
    double effort[EQP__AUTO_CANDIDATES]; /* of the last trial, relative to the curve's; 0: not tried */
    int lost[EQP__AUTO_CANDIDATES];      /* consecutive trials lost by more than a little */
    int rest[EQP__AUTO_CANDIDATES];      /* remaining choices in which to skip it */
    eqp_ageing ageing[EQP__AUTO_KINDS];  /* of maps in use */
    eqp_ageing usual;                    /* of all kinds */
    int64_t kind;                        /* 1 + kind of the present map; 0: unknown */
    int64_t age;                         /* steps since the map was made */
    double fresh, uneven;                /* imbalance of its first step, and of the last one */
    double made;                         /* seconds of the last map made without a trial; 0: none */
    double curve;                        /* seconds of the curve's last trial; 0: none */
    double step;                         /* seconds of the last step */
    double run;                          /* seconds of all steps so far, including maps */
    double spent;                        /* part of `run`: spent on choices, without making the chosen maps */
    double beyond;                       /* part of `spent`: the last choice */
    int64_t idle;                        /* 1: trials cost the run no time */
    int64_t offers;                      /* features of the problem */
} eqp_auto_memory;

/* Records a step. fresh: a map was made before it. uneven: imbalance by counts, messages included. step, made:
 * seconds of the step, and of making that map. */
void eqp__auto_record(eqp_auto_memory *memory, bool fresh, double uneven, double step, double made);

/* True if a choice pays now: its trials are affordable and could save more in the remaining steps. False before the
 * first map, whose cost is unknown, unless trials are free. */
bool eqp__auto_may_try(const eqp_auto_memory *memory, const eqp_lives *lives);

/* The last winner, initially the curve. EQP_OK or a code of eqp_choice_parse(). */
int eqp__auto_last(const eqp_auto_memory *memory, const eqp_methods *own, const eqp_choice_options *usual,
                   eqp_choice *choice, eqp_message *message);

/* Records a map by the last winner, made without trials. */
void eqp__auto_again(eqp_auto_memory *memory);

/* Seconds left for trials if a map made now has steps of this length. */
double eqp__auto_left(const eqp_auto_memory *memory, const eqp_lives *lives, double step);

/* Adds seconds of trials beyond the cost of the chosen map; may be negative. */
void eqp__auto_spend(eqp_auto_memory *memory, double seconds);

/* Sets the present map's kind from its word, for maps chosen elsewhere. */
void eqp__auto_take(eqp_auto_memory *memory, const char *word);

/* Modelled seconds of making a map, a multiple of an even step: for decisions that must not depend on a clock.
 * Local. */
double eqp__nominal_map(const eqp_method *method, double even_step);

/* The same for a trial: a map and its trace. */
double eqp__nominal_trial(const eqp_method *method, double even_step);

/* True if the bytes are a valid memory: all numbers finite and in range. */
bool eqp__auto_can_be(const eqp_auto_memory *memory);

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

/* Chooses a map. If the run has a fixed method (what->making.method, not `auto`), only that is tried and the present
 * map is not kept. present: the present map as a trial without a choice (map and placements borrowed), or NULL.
 * Collective. */
int eqp__auto_choose(eqp_whatif_state *state, const eqp_auto_input *question, const eqp_trial *present,
                     eqp_auto_result *answer, eqp_message *message);

#endif
