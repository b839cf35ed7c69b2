/* SPDX-License-Identifier: BSD-3-Clause */
/* A new map: select work units of lined up owners, assign them, tell the owners' homes (Pearce 2014, Algorithm 8, steps
 * 1 to 5). What an assignment costs beside its items (exchange, what sharers do again) is known when it has been made,
 * so that one can be assigned again with what was learnt. */
#ifndef APP_RUN_NEWMAP_H
#define APP_RUN_NEWMAP_H

#include "run_verdicts.h"

typedef struct app_rebalanced {
    eqp_balance_result result;
    int64_t units;           /* items that were assigned, over all ranks */
    int64_t split_owners;    /* owners that several ranks share */
    eqp_sizes sizes;         /* of the units, of all ranks; empty where owners were assigned */
    eqp_units_totals totals; /* of all owners, in the quanta of the units */
} app_rebalanced;

/* Owners or units that are ready to be assigned, into options->nparts parts. */
typedef struct app_newmap app_newmap;

/* owners: lined up (borrowed). old: the map by which they are computed now (borrowed for the call), or NULL: as little
 * as possible is to move. Owned by the caller: app_newmap_close(). Collective. */
int app_newmap_open(MPI_Comm comm, const app_rebalance_options *options, app_owners *owners, const app_map *old,
                    app_newmap **newmap, eqp_message *message);
void app_newmap_close(app_newmap *newmap);

/* Parts for all items. beside: [nparts] seconds of what each part does or waits for beside its items, the same on all
 * ranks: a part with more of it gets less of them. NULL: nothing. Collective. */
int app_newmap_assign(app_newmap *newmap, const double *beside, eqp_message *message);

/* Weighs the items anew, each by what is done for it where it was assigned last: factor [nparts] of its own seconds,
 * the same on all ranks. share: how much of the new weight counts against the one before, over 0 to 1. Local. */
void app_newmap_reweigh(app_newmap *newmap, const double *factor, double share);

/* Seconds of the items that each part was given: [nparts], the same on all ranks. Collective. */
int app_newmap_given(const app_newmap *newmap, double *seconds);

/* The map that was assigned last. burden: where shared owners live, see app_verdicts_make(). verdicts: one for each of
 * the nhome owners whose home is this rank, in the order of their numbers (at_home), which the caller frees. The new
 * map goes to *made, which holds nothing. Collective; on error neither is made. */
int app_newmap_take(const app_newmap *newmap, const double *burden, int64_t nhome, app_map *made,
                    app_verdict **verdicts, app_rebalanced *rebalanced);

/* All that at once, with options->base beside the items. Collective. */
int app_newmap_make(MPI_Comm comm, const app_rebalance_options *options, app_owners *owners, const app_map *old,
                    int64_t nhome, app_map *made, app_verdict **verdicts, app_rebalanced *rebalanced,
                    eqp_message *message);

/* A map of owners [owners->n] whose parts are known, and that nobody splits. Collective. */
int app_newmap_of_owners(MPI_Comm comm, const app_owners *owners, const int *part, int64_t nhome, app_map *made,
                         app_verdict **verdicts);

#endif
