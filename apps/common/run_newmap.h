/* SPDX-License-Identifier: BSD-3-Clause */
/* A new map: select work units of lined up owners, assign them, tell the owners' homes (Pearce 2014, Algorithm 8, steps
 * 1 to 5). */
#ifndef APP_RUN_NEWMAP_H
#define APP_RUN_NEWMAP_H

#include "map.h"
#include "run_units.h"

typedef struct app_rebalanced {
    eqp_balance_result result;
    int64_t units;           /* items that were assigned, over all ranks */
    int64_t split_owners;    /* owners that several ranks share */
    eqp_sizes sizes;         /* of the units, of all ranks; empty where owners were assigned */
    eqp_units_totals totals; /* of all owners, in the quanta of the units */
} app_rebalanced;

/* What an owner's home is told: who computes it (see map.h) and where it should live. */
typedef struct app_verdict {
    int64_t tag;
    int home;
} app_verdict;

/* Makes a map from lined up owners, into options->nparts parts. old: the map by which they are computed now, or NULL:
 * as little as possible is to move. verdicts: one for each of the nhome owners whose home is this rank, in the order of
 * their numbers (at_home), which the caller frees. The new map goes to *made, which holds nothing. Collective; on error
 * neither is made. */
int app_newmap_make(MPI_Comm comm, const app_rebalance_options *options, app_owners *owners, const app_map *old,
                    int64_t nhome, app_map *made, app_verdict **verdicts, app_rebalanced *rebalanced,
                    eqp_message *message);

/* The same for owners [owners->n] whose parts are known, and that nobody splits. Collective. */
int app_newmap_of_owners(MPI_Comm comm, const app_owners *owners, const int *part, int64_t nhome, app_map *made,
                         app_verdict **verdicts);

#endif
