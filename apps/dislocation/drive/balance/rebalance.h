/* SPDX-License-Identifier: BSD-3-Clause */
/* A new map for the network: owners are nodes with the segments that they own, interactions are pairs of segments,
 * hyperedges are nodes. */
#ifndef DD_REBALANCE_H
#define DD_REBALANCE_H

#include "../../../common/run_newmap.h"
#include "survey.h"

/* Makes a new map of what the last evaluation has counted and moves the nodes to their new homes: the halo is void
 * then, and the stage freed as soon as it has been looked at, as making a map needs room. has_map: the present
 * one means something, and as little as possible is to move. totals: of the owners when the last map was made, zeros
 * for none; updated. migrated: nodes that left this rank. Collective; after an error the map is the old one. */
int dd_rebalance(dd_domain *domain, dd_stage *stage, const dd_evaluator *evaluator, const app_costs *costs,
                 const app_rebalance_options *options, bool has_map, app_map *map, eqp_units_totals *totals,
                 app_rebalanced *rebalanced, int64_t *migrated, int64_t *bytes, eqp_message *message);

/* Nodes go where they are computed; one that ranks share to the sharer that the verdict [own nodes] names. The halo and
 * the stage are void then. Collective. */
int dd_rebalance_apply(dd_domain *domain, const app_verdict *verdict, int64_t *migrated);

#endif
