/* SPDX-License-Identifier: BSD-3-Clause */
/* A new map: select work units of lined up owners, assign them, tell the owners' homes (Pearce 2014, Algorithm 8, steps
 * 1 to 5). */
#ifndef APP_RUN_NEWMAP_H
#define APP_RUN_NEWMAP_H

#include "map.h"
#include "run_owners.h"
#include "run_settings.h"

typedef struct app_rebalance_options {
    const eqp_method *method;
    double imbalance_tol;
    eqp_sample_strategy strategy;
    double sample_rate;      /* units per interaction (tile); 0: follows from the tolerance */
    double sample_threshold; /* over how many times the target weight a unit is split again */
    uint64_t seed;
} app_rebalance_options;

/* What a run's settings say. */
app_rebalance_options app_rebalance_of(const app_run_settings *run);

typedef struct app_rebalanced {
    eqp_balance_result result;
    int64_t units;           /* items that were assigned, over all ranks */
    int64_t split_owners;    /* owners that several ranks share */
    eqp_sizes sizes;         /* of the units, of all ranks; empty where owners were assigned */
    eqp_units_totals totals; /* of all owners, in the quanta of the units */
} app_rebalanced;

/* How much a survey for the next map is to keep; last: totals when the last map was made. Local. */
app_survey_detail app_rebalance_detail(const app_rebalance_options *options, int nparts, const eqp_units_totals *last);

/* Totals of a survey over all ranks, roughly: an owner that ranks share counts more than once. Collective. */
int app_survey_totals(MPI_Comm comm, const app_survey *survey, const app_work_model *model, eqp_units_totals *all);

/* What an owner's home is told: who computes it (see map.h) and where it should live. */
typedef struct app_verdict {
    int64_t at_home, tag, home;
} app_verdict;

/* Makes a map from lined up owners. old: the map by which they are computed now, or NULL: as little as possible is to
 * move. The owners' homes get their verdicts, which the caller frees; the new map goes to *made, which holds nothing.
 * Collective; on error neither is made. */
int app_newmap_make(MPI_Comm comm, const app_rebalance_options *options, app_owners *owners, const app_map *old,
                    app_map *made, int64_t *nverdicts, app_verdict **verdicts, app_rebalanced *rebalanced,
                    eqp_message *message);

#endif
