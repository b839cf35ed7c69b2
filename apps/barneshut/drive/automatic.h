/* SPDX-License-Identifier: BSD-3-Clause */
/* The map that `auto` takes. */
#ifndef BH_AUTOMATIC_H
#define BH_AUTOMATIC_H

#include "rebalance.h"
#include "settings.h"

/* What was found beside the map. */
typedef struct bh_automatic {
    bool kept;                  /* the present map is the best: nothing has changed */
    char chosen[EQP_WORD_SIZE]; /* the method */
    char why[192];              /* one line */
} bh_automatic;

/* Tries methods for the groups where they are, and makes the best one's map as bh_rebalance() does. speeds: of the
 * ranks; life: steps that it is expected to last; dt: of the next step. With --exchange auto the evaluator gets the
 * plan that is cheapest for the map. Learns what work costs if that is not known. The tree is grown anew, so that it
 * must be grown again before the next evaluation. Collective. */
int bh_rebalance_auto(bh_domain *domain, bh_evaluator *evaluator, const app_run_settings *run, app_speeds speeds,
                      bool has_map, double life, double dt, app_map *map, app_costs *costs, app_rebalanced *rebalanced,
                      bh_automatic *automatic, eqp_message *message);

#endif
