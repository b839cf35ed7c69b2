/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides the present state into any number of parts by any method, without a step. Comparisons show the results,
 * and `auto` chooses by them. The problem describes its owners, and the work and needs of each part. */
#ifndef WHATIF_WHATIF_H
#define WHATIF_WHATIF_H

#include "map/assignment.h"

#include <equipoise/balancer.h>
#include <equipoise/problem.h>

/* Input common to several trials of one state. Everything borrowed must outlive them. */
typedef struct eqp_whatif {
    MPI_Comm comm;
    const eqp_problem *problem;
    eqp_work_model model;
    const eqp_costs *costs;        /* must be known when a comparison begins */
    eqp_overhead overhead;         /* of a step, in addition to its loads */
    const eqp_exchange_plan *plan; /* data movement (borrowed); NULL: the cheapest plan */
    eqp_part_speeds speeds;        /* a part's time is its load divided by its speed */
    const eqp_map *old;            /* present map of a run (borrowed): parts are ranks, and little should move; NULL:
                                    * parts are unrelated to present places */
    bool in_run;                   /* parts are these ranks, and the map will be used */
    eqp_map_options options;       /* of the run, modified by choices */
    int64_t nhome;                 /* owners at home on this rank */
    const uint64_t *key;           /* [nhome] their curve keys, ascending (borrowed) */
    eqp_clock clock;               /* measures the time spent on maps; default: CPU seconds of the thread */
    bool counted;                  /* true: the price of maps is modelled, not measured */
} eqp_whatif;

/* Loads and needs of every part by a map, on one rank; NULLs elsewhere. */
typedef struct eqp__traced {
    eqp_evaluation *turn[EQP_CYCLE_PHASES]; /* [phases] one turn of each; owned: eqp__traced_free() */
} eqp__traced;

typedef struct eqp_trial {
    const eqp_choice *choice; /* borrowed; NULL: the map and the placements are given */
    int nparts;
    eqp_map *map;              /* owned: eqp__trials_free() */
    eqp_placement *placements; /* [owners at home of this rank] owned: eqp__trials_free() */
    eqp_map_made made;         /* details, if there is a choice; imbalance: from traces, if any */
    eqp_compared row;          /* the same on all ranks */
} eqp_trial;

void eqp__trials_free(int n, eqp_trial *trials);

typedef struct eqp_whatif_state {
    const eqp_whatif *what;
    MPI_Comm comm;
    int rank, nranks;
    eqp_cycle_turns phases; /* of the cycle that makes up a step */
    eqp_message misfit;     /* why no map fits into memory, if the last attempt proved that; else empty */
    /* the present owners, with weights if needed so far, and the time of the survey */
    bool known, weighed;
    eqp_owners owners;
    eqp_units_totals totals; /* of all owners, approximate; known if they were weighed */
    double seconds[2];       /* without and with weights; 0: never done */
    double own;              /* peak bytes of all that on this rank */
    bool keeps;              /* true: another map's trace is kept in memory */
    int ntraced;             /* maps so far */
    /* for evaluations by the survey: owners with all pins, and with their tiles */
    bool pinned_known, pinned_tiles, pinned_owners; /* pinned_owners: pins are owners */
    eqp_owners pinned;
} eqp_whatif_state;

/* what: borrowed. Local; free the contents by eqp__whatif_close(). */
void eqp__whatif_open(const eqp_whatif *what, eqp_whatif_state *state);

/* Clock reading for the time spent on maps, and seconds since a reading, never negative. Local. */
double eqp__whatif_now(const eqp_whatif_state *state);
double eqp__whatif_since(const eqp_whatif_state *state, double begin);
void eqp__whatif_close(eqp_whatif_state *state);

/* For trials with a choice and nparts set (else zeros): makes their maps, traces them and evaluates each with the
 * cheapest plan for the network. Evaluations are distributed over the ranks, except for trials with even steps.
 * Memory on an evaluating rank: about 20 bytes per block that a part needs. Collective. */
int eqp__whatif_try(eqp_whatif_state *state, int n, eqp_trial *trials, const eqp_network *network,
                    eqp_message *message);

typedef struct eqp__whatif_told {
    void (*on_rows)(void *user, int n, const eqp_compared *rows); /* called for each number of parts as it completes;
                                                                     or NULL */
    int (*on_map)(void *user, const eqp_compared *row, const eqp_map *map,
                  const eqp_placement *placement); /* called for each row at the end; or NULL. Fails on all ranks or on
                                                      none */
    void *user;
} eqp__whatif_told;

/* Evaluates every method at every number of parts, and the imbalance at the next positions. `auto` takes the
 * shortest next step among the compared methods and its own candidates. rows: [ncounts x nchoices] by parts, then by
 * method, owned by the caller: free(). told: NULL: no callbacks. Collective. */
int eqp__whatif_compare(const eqp_whatif *what, int nchoices, const eqp_choice *choice, int ncounts,
                        const int64_t *parts, const eqp_network *network, eqp_compared **rows,
                        const eqp__whatif_told *told, eqp_message *message);

/* Pins of all owners, mean per rank, from a survey that keeps none. Collective. */
int eqp__whatif_count_pins(const eqp_whatif_state *state, double *pins);

/* The owners in curve order with the requested detail (must be freed in any case); totals: of all owners, or NULL if
 * not needed. Collective. */
int eqp__whatif_learn(const eqp_whatif_state *state, eqp_survey_kind kind, const eqp_survey_detail *detail,
                      eqp_owners *owners, eqp_units_totals *totals);

/* Traces a turn of a phase from the pins, as problem->trace would. Collective; returns this rank's code. */
int eqp__trace_by_pins(eqp_whatif_state *state, const eqp_trial *trial, int phase, bool loads_only,
                       eqp_evaluation *evaluation);

/* trace.c. All are collective. */

/* The loads and needs of all parts, on the rank `root`. traced: zeros; must be freed in any case. */
int eqp__whatif_trace(eqp_whatif_state *state, const eqp_trial *trial, int root, eqp__traced *traced);
void eqp__traced_free(eqp__traced *traced); /* zeros again */

/* Loads of a whole cycle, on all ranks: [trial->nparts]. */
int eqp__whatif_loads(eqp_whatif_state *state, const eqp_trial *trial, double *loads);

/* Fills a row from a trace, by the run's plan, or the cheapest one. Local. */
int eqp__whatif_evaluate(const eqp_whatif_state *state, const eqp__traced *traced, const eqp_network *network,
                         eqp_compared *row);

/* The same by a given plan. Local. */
int eqp__whatif_evaluate_by(const eqp_whatif_state *state, const eqp__traced *traced, const eqp_network *network,
                            const eqp_exchange_plan *plan, eqp_compared *row);

/* Broadcasts an evaluation from one rank. Collective. */
int eqp__whatif_tell(const eqp_whatif_state *state, int root, eqp_compared *row);

/* refine.c: remaking a map with the overhead from its traces. Each function replaces the trial's map and placements
 * if it finds better ones, and updates made->result.imbalance. base: [parts] seconds of each part that do not depend
 * on the assignment, or NULL. */

/* Refines until the traced loads are within the tolerance: parts that share owners repeat some of their work. No
 * effect on maps without shared owners. */
int eqp__refine_loads(eqp_whatif_state *state, eqp_assignment *assignment, const double *base, double imbalance_tol,
                      eqp_trial *trial, eqp_map_made *made, eqp_message *message);

/* Refines until the longest step, including exchange, gets no shorter. Evaluates: trial->row.evaluated. */
int eqp__refine_step(eqp_whatif_state *state, eqp_assignment *assignment, const double *base,
                     const eqp_network *network, eqp_trial *trial, eqp_map_made *made, eqp_message *message);

/* Refines until the map fits into memory by exact evaluation: parts that need too much get fewer or lighter items.
 * weighs: the method uses weights; hopeless: proven that nothing fits. If no map fits, the nearest one is kept.
 * Evaluates: trial->row.evaluated. */
int eqp__refine_memory(eqp_whatif_state *state, eqp_assignment *assignment, const double *base,
                       const eqp_network *network, bool weighs, bool hopeless, eqp_trial *trial, eqp_map_made *made,
                       eqp_message *message);

/* True if the map fits into memory, as far as known. */
static inline bool eqp__row_fits(const eqp_compared *row)
{
    return row->evaluated.memory_use <= 1.0;
}

/* Seconds by which maps are compared: maps that do not fit rank after all maps that do, by their need. */
static inline double eqp__fitting_seconds(const eqp_compared *row, double seconds)
{
    return eqp__row_fits(row) ? seconds : 1e30 * row->evaluated.memory_use;
}

#endif
