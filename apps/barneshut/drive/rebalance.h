/* SPDX-License-Identifier: BSD-3-Clause */
/* A new map: weigh the groups, select work units, assign them, write tags, choose homes (Pearce 2014, Algorithm 8,
 * steps 1 to 5). */
#ifndef BH_REBALANCE_H
#define BH_REBALANCE_H

#include "evaluate.h"
#include "lineup.h"

#include <equipoise/balance.h>
#include <equipoise/units.h>

typedef struct bh_rebalance_options {
    const eqp_method *method;
    double imbalance_tol;
    eqp_sample_strategy strategy;
    double sample_rate;      /* units per interaction tile; 0: follows from the tolerance */
    double sample_threshold; /* over how many times the target weight a unit is split again */
    uint64_t seed;
} bh_rebalance_options;

typedef struct bh_rebalanced {
    eqp_balance_result result;
    int64_t units;           /* items that were assigned, over all ranks */
    int64_t split_owners;    /* groups that several ranks share */
    eqp_sizes sizes;         /* of the units, of all ranks; empty where groups were assigned */
    int64_t bytes;           /* sent by this rank */
    eqp_units_totals totals; /* of all groups, in the quanta of the units */
} bh_rebalanced;

/* How much a survey for the next map is to keep. */
bh_survey_detail bh_rebalance_detail(const bh_rebalance_options *options, int nparts, const eqp_units_totals *last);

/* Makes a survey of a grown domain without computing forces, for a first map and where no evaluation has taken one, and
 * learns what work costs if that is not known. The essential trees are fetched unless the last evaluation with the same
 * tags and map has done so: grow again before the next one. Adds to *bytes. Collective. */
int bh_rebalance_survey(bh_domain *domain, bh_evaluator *evaluator, const bh_rebalance_options *options,
                        const bh_map *map, app_costs *costs, bh_survey *survey, int64_t *bytes);

/* Work units of lined up owners for so many parts; all: totals of all ranks. Collective. */
int bh_rebalance_units(MPI_Comm comm, const bh_rebalance_options *options, int nparts, bh_owners *owners,
                       eqp_units_totals *all, eqp_units **units);

/* Makes a new map from a survey of the domain's groups: sets the tags of particles and *map, and homes for the next
 * bh_domain_settle. has_map: the present tags mean something, and as little as possible is to move. Collective; after
 * an error the map is the old one. */
int bh_rebalance(bh_domain *domain, const bh_survey *survey, const bh_rebalance_options *options, bool has_map,
                 bh_map *map, const app_costs *costs, bh_rebalanced *rebalanced, eqp_message *message);

#endif
