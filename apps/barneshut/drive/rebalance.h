/* SPDX-License-Identifier: BSD-3-Clause */
/* A new map: weigh the groups, have units of them assigned, write tags, choose homes (Pearce 2014, Algorithm 8, steps 1
 * to 5). */
#ifndef BH_REBALANCE_H
#define BH_REBALANCE_H

#include "evaluate.h"

#include "../../common/run_newmap.h"

/* Makes a survey of a grown domain without computing forces, for a first map and where no evaluation has taken one, and
 * learns what work costs if that is not known. The essential trees are fetched unless the last evaluation with the same
 * tags and map has done so: grow again before the next one. Adds to *bytes. Collective. */
int bh_rebalance_survey(bh_domain *domain, bh_evaluator *evaluator, const app_rebalance_options *options,
                        const app_map *map, app_costs *costs, bh_survey *survey, int64_t *bytes);

/* Makes a new map from a survey of the domain's groups: sets the tags of particles and *map, and homes for the next
 * bh_domain_settle. Adds to *bytes. has_map: the present tags mean something, and as little as possible is to move.
 * Collective; after an error the map is the old one. */
int bh_rebalance(bh_domain *domain, const bh_survey *survey, const app_rebalance_options *options, bool has_map,
                 app_map *map, const app_costs *costs, app_rebalanced *rebalanced, int64_t *bytes,
                 eqp_message *message);

/* Its pieces, for those who make a map in another way. Measures what a pair, a cell, a look cost, on a few of the
 * works, unless that is known. Collective. */
int bh_rebalance_learn(bh_domain *domain, bh_evaluator *evaluator, const app_map *map, bh_works *works,
                       app_costs *costs);

/* Tags to the particles, from a verdict for each group, and homes for the next bh_domain_settle(). Collective. */
int bh_rebalance_apply(bh_domain *domain, const app_verdict *verdict);

#endif
