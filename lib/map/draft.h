/* SPDX-License-Identifier: BSD-3-Clause */
/* A new map: select work units of lined up owners, assign them, tell the owners' homes (Pearce 2014, Algorithm 8, steps
 * 1 to 5). What an assignment costs beside its items (exchange, what sharers do again) is known when it has been made,
 * so that one can be assigned again with what was learnt. */
#ifndef MAP_DRAFT_H
#define MAP_DRAFT_H

#include "map/placement.h"

typedef struct eqp_map_made {
    eqp_balance_result result; /* imbalance: with several phases that of a cycle, 1 / efficiency - 1 */
    int64_t units;             /* items that were assigned, over all ranks */
    int64_t split_owners;      /* owners that several ranks share */
    eqp_sizes sizes;           /* of the units, of all ranks; empty where owners were assigned */
    eqp_units_totals totals;   /* of all owners, in the quanta of the units */
} eqp_map_made;

/* Owners or units that are ready to be assigned, into options->nparts parts. */
typedef struct eqp_draft eqp_draft;

/* owners: lined up (borrowed). old: the map by which they are computed now (borrowed for the call), or NULL: as little
 * as possible is to move. Owned by the caller: eqp__draft_close(). Collective. */
int eqp__draft_open(MPI_Comm comm, const eqp_making *options, eqp_owners *owners, const eqp_map *old, eqp_draft **draft,
                    eqp_message *message);
void eqp__draft_close(eqp_draft *draft);

/* Tells what parts need in memory beside their items, for what is assigned from now on: [nparts] bytes (borrowed), or
 * NULL: nothing but what all need. capped: false: as if parts had any memory. Local. */
void eqp__draft_remember(eqp_draft *draft, const double *beside, bool capped);

/* Bytes of memory that the items of each part take, where that is known: [nparts], the same on all ranks. Collective.
 */
int eqp__draft_held(const eqp_draft *draft, double *bytes);

/* Parts for all items, none above its memory: EQP_ERR_CAPACITY, with the proof, where they do not fit. beside: [nparts]
 * seconds of what each part does or waits for beside its items, the same on all ranks: a part with more of it gets less
 * of them. NULL: nothing. Collective. */
int eqp__draft_assign(eqp_draft *draft, const double *beside, eqp_message *message);

/* Weighs the items anew, each by what is done for it where it was assigned last: factor [nparts] of its own seconds,
 * the same on all ranks. share: how much of the new weight counts against the one before, over 0 to 1. Collective. */
int eqp__draft_reweigh(eqp_draft *draft, const double *factor, double share);

/* Whether each phase was given a map of its own. Local. */
bool eqp__draft_is_phased(const eqp_draft *draft);

/* Of such a draft, until it is assigned again: phases in which all is computed where it lives, [phases]; by_work: that
 * is runs of the curve with equal work, not with equally many particles; another than before only where memory does not
 * matter. Collective. */
int eqp__draft_live(eqp_draft *draft, bool by_work, const bool *stays, eqp_message *message);

/* Seconds of the items that each part was given: [nparts], the same on all ranks. Collective. */
int eqp__draft_given(const eqp_draft *draft, double *seconds);

/* The map that was assigned last. loads: where shared owners live, see eqp__placements_make(). placements: one for each
 * of the nhome owners whose home is this rank, in the order of their numbers (at_home), which the caller frees. The new
 * map goes to *made, which holds nothing. Collective; on error neither is made. */
int eqp__draft_take(const eqp_draft *draft, const double *loads, int64_t nhome, eqp_map **made,
                    eqp_placement **placements, eqp_map_made *summary);

/* Tells a method of the cycle that the owners' loads are of, if items are weighed. Local. */
void eqp__draft_cycle(const eqp_owners *owners, bool weighed, eqp_balance_options *options);

/* All that at once, with options->base beside the items. Collective. */
int eqp__draft_make(MPI_Comm comm, const eqp_making *options, eqp_owners *owners, const eqp_map *old, int64_t nhome,
                    eqp_map **made, eqp_placement **placements, eqp_map_made *summary, eqp_message *message);

/* A map of owners [owners->n] whose parts are known, and that nobody splits. Collective. */
int eqp__draft_of_owners(MPI_Comm comm, const eqp_owners *owners, const int *part, int64_t nhome, eqp_map **made,
                         eqp_placement **placements);

/* What each part is to get of items that weigh `even` together, over 0 or not: what is left of its part of all there is
 * to do. beside: [nparts] as for eqp__draft_assign(), or NULL. share: [nparts], sum 1. Local. */
void eqp__draft_share_out(int nparts, double even, const double *beside, eqp_part_speeds speeds, double *share);

/* draft_alone.c: parts of all owners [owners->n], by a method that has `assign_alone`: what eqp__draft_assign() finds
 * where one rank has them all. Local. */
int eqp__draft_alone(const eqp_making *making, int nparts, const eqp_owners *owners, const eqp_map *old, int *part,
                     eqp_map_made *summary);

#endif
