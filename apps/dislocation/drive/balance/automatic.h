/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps that are tried before they are used: what `auto` takes, and what methods make that share owners out. */
#ifndef DD_AUTOMATIC_H
#define DD_AUTOMATIC_H

#include "../../../common/run_whatif.h"
#include "../simulation.h"

typedef struct dd_automatic {
    bool kept;                  /* the present map is the best: nothing has changed */
    app_compared row;           /* of the map that is to be used */
    app_rebalanced made;        /* how, unless it was kept */
    char chosen[EQP_WORD_SIZE]; /* the method that `auto` took, unless it was kept */
    char why[192];
} dd_automatic;

/* Tries methods (or makes and traces a map by the one of the options) for the network as it was evaluated last, and
 * moves the nodes where the best map wants them; the stage is freed and the halo void then, as after dd_rebalance().
 * options: of the run; life: steps that the map is expected to last. Collective; after an error the map is the old one.
 */
int dd_rebalance_auto(dd_simulation *sim, const app_rebalance_options *options, double life, int64_t *migrated,
                      dd_automatic *automatic, eqp_message *message);

#endif
