/* SPDX-License-Identifier: BSD-3-Clause */
/* What if: the state at hand divided into any number of parts by any method, without a step: what --compare shows and
 * what `auto` chooses by. An app says what its owners are and what a map would make every part compute and fetch; the
 * rest is the same for all. */
#ifndef APP_RUN_WHATIF_H
#define APP_RUN_WHATIF_H

#include "run_newmap.h"

#include <equipoise/exchange.h>

/* An app's side. All functions are collective over comm and fail on all ranks or on none. */
typedef struct app_whatif {
    MPI_Comm comm; /* borrowed */
    void *user;    /* passed to the functions */
    const app_work_model *model;
    const app_costs *costs;        /* must be known (measured) when a comparison begins */
    int nphases;                   /* of an exchange: see eqp_evaluation_create() */
    const int *back, *ghosts;      /* [nphases] */
    const eqp_exchange_plan *plan; /* how data travel (borrowed); NULL: by the cheapest plan */
    app_speeds speeds;             /* of the parts: loads are seconds of work, which take a part its own time */
    const app_map *old; /* of a run whose map is to be renewed (borrowed): parts are ranks, and as little as possible is
                           to move; NULL: parts have nothing to do with where things are */

    /* This rank's owners at home, numbered as app_owner.at_home: how many, and their curve keys ascending (owned by the
     * caller: free()). */
    int (*keys)(void *user, int64_t *nhome, uint64_t **keys);

    /* Adds the seconds of what every part does whatever the assignment, [nparts]; the same on all ranks. NULL: nothing.
     * Local. */
    void (*base)(void *user, int nparts, double *seconds);

    /* Surveys the owners with that detail, into a survey that the caller has cleared for it. weights: false where
     * nothing but the owners' existence is wanted. */
    int (*survey)(void *user, bool weights, app_survey *survey);

    /* Walks all interactions, each once over all ranks, and says what an assignment into `nparts` parts makes of them:
     * whose load they are, which blocks which part needs. verdict [nhome] of this rank's owners; the map's ranks are
     * parts. Whatever the app does in a real step on nparts ranks with such a map must come out, message by message.
     * loads_only: eqp_evaluation_load() only. */
    int (*trace)(void *user, int nparts, const app_map *map, const app_verdict *verdict, bool loads_only,
                 eqp_evaluation *evaluation);

    /* Carries out a method of the app's own, whose row has no `assign`: owners in curve order (with `seconds`), a part
     * for each. NULL: there is none. */
    int (*assign)(void *user, const eqp_method *method, int nparts, app_speeds speeds, const app_owners *owners,
                  int *part);

    /* Moves everything on by one step without a new map; owners keep their numbers and homes, so that verdicts still
     * hold. NULL: not possible. */
    int (*advance)(void *user, eqp_message *message);
} app_whatif;

/* One row of a comparison: the keys of `compare` in report.json (docs/compare.md). */
typedef struct app_compared {
    const char *method;         /* as written (borrowed) */
    char chosen[EQP_WORD_SIZE]; /* by `auto`; "" for any other method */
    int parts;
    int64_t units, split_owners;
    double sample_rate;     /* units per interaction; 0: owners were assigned whole */
    double balance_seconds; /* CPU seconds of the rank that needed most, for survey, units, assignment, and the
                               traces by which a map was made again */
    double imbalance_next;  /* of the same assignment after the next step; NaN: not known */
    eqp_evaluated evaluated;
} app_compared;

/* An assignment that is being tried. */
typedef struct app_trial {
    const app_method_choice *choice; /* borrowed; NULL: the map and the verdicts are given */
    int nparts;
    app_map map;           /* owned: app_trials_free() */
    app_verdict *verdicts; /* [owners at home of this rank] owned: app_trials_free() */
    app_rebalanced made;   /* how, where there is a choice; imbalance: by the traces, if it took any */
    app_compared row;      /* the same on all ranks */
} app_trial;

void app_trials_free(int n, app_trial *trials);

/* What several trials of one state have in common: the owners and their weights, learnt once. */
typedef struct app_whatif_state app_whatif_state;

/* what: borrowed. Collective, cheap; owned by the caller: app_whatif_close(). */
int app_whatif_open(const app_whatif *what, app_whatif_state **state);
void app_whatif_close(app_whatif_state *state);

/* The communicator of what. Local. */
MPI_Comm app_whatif_comm(const app_whatif_state *state);

/* Makes the maps of trials (choice, nparts set, else zeros) that have a choice, traces all and evaluates each with the
 * cheapest plan for the network; each evaluation on a rank of its own, as far as there are ranks, but for those whose
 * steps are to be even. Memory on that rank: about 20 bytes for every block that a part needs. Collective. */
int app_whatif_try(app_whatif_state *state, int n, app_trial *trials, const eqp_network *network, eqp_message *message);

/* Every method at every number of parts, and the imbalance on the next positions. `auto` stands for the one with the
 * smallest step time among those that are compared and its own candidates (own: the app's rows, or NULL). rows:
 * [ncounts x nchoices] by parts, then by method, owned by the caller: free(). on_rows: called on all ranks after each
 * number of parts with its rows (progress), or NULL. Collective. */
int app_whatif_compare(const app_whatif *what, const eqp_methods *own, int nchoices, const app_method_choice *choice,
                       int ncounts, const int64_t *parts, const eqp_network *network, app_compared **rows,
                       void (*on_rows)(void *user, int n, const app_compared *rows), void *rows_user,
                       eqp_message *message);

#endif
