/* SPDX-License-Identifier: BSD-3-Clause */
/* From owners and their units to a new map: items for the balancer, parts back, tags and homes. */
#ifndef BH_NEWMAP_H
#define BH_NEWMAP_H

#include "rebalance.h"

/* units NULL: the owners themselves are assigned. Collective; see bh_rebalance. */
int bh_newmap_make(bh_domain *domain, const bh_owners *owners, const eqp_units *units,
                   const bh_rebalance_options *options, bool has_map, bh_map *map, bh_rebalanced *rebalanced,
                   eqp_message *message);

#endif
