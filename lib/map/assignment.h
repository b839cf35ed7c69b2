/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a new map: choose work units of the owners in curve order, assign them, tell the owners' homes (Pearce
 * 2014, Algorithm 8, steps 1 to 5). The overhead of an assignment (exchange, work repeated by sharers) is known only
 * afterwards, so it can be repeated with that overhead. */
#ifndef MAP_ASSIGNMENT_H
#define MAP_ASSIGNMENT_H

#include "map/placement.h"

typedef struct eqp_map_made {
    eqp_balance_result result; /* imbalance: of a cycle if there are phases, 1 / efficiency - 1 */
    int64_t units;             /* items assigned, over all ranks */
    int64_t split_owners;      /* owners that several ranks share */
    eqp_sizes sizes;           /* of the units of all ranks; empty if owners were assigned */
    eqp_units_totals totals;   /* of all owners, in the quanta of the units */
} eqp_map_made;

/* Owners or units to be assigned to options->nparts parts. */
typedef struct eqp_assignment eqp_assignment;

/* Opens an assignment of owners in curve order (borrowed). old: present map (borrowed for the call), from which as
 * little as possible should move, or NULL. Owned by the caller: eqp__assignment_close(). Collective. */
int eqp__assignment_open(MPI_Comm comm, const eqp_map_options *options, eqp_owners *owners, const eqp_map *old,
                         eqp_assignment **assignment, eqp_message *message);
void eqp__assignment_close(eqp_assignment *assignment);

/* Sets the memory that parts need besides their items, for the next assignments: [nparts] bytes (borrowed), or NULL:
 * only the need common to all parts. capped: false: memory is unlimited. Local. */
void eqp__assignment_remember(eqp_assignment *assignment, const double *overhead, bool capped);

/* Bytes of memory of each part's items, as far as known: [nparts], the same on all ranks. Collective. */
int eqp__assignment_held(const eqp_assignment *assignment, double *bytes);

/* Assigns all items within the memory of the parts; EQP_ERR_CAPACITY, with a proof, if they do not fit. overhead:
 * [nparts] seconds, the same on all ranks: a part with more overhead gets fewer items. NULL: none. Collective. */
int eqp__assignment_find(eqp_assignment *assignment, const double *overhead, eqp_message *message);

/* Scales the weights of the items by their last part: factor [nparts] of the items' seconds, the same on all ranks.
 * share: weight of the new value against the old one, > 0 to 1. Collective. */
int eqp__assignment_reweigh(eqp_assignment *assignment, const double *factor, double share);

/* True if each phase has its own map. Local. */
bool eqp__assignment_is_phased(const eqp_assignment *assignment);

/* For a phased assignment, until it is assigned again: phases computed where the owners live, [phases]. by_work: in
 * runs of the curve with equal work instead of equal numbers of particles; may change only if memory is unlimited.
 * Collective. */
int eqp__assignment_live(eqp_assignment *assignment, bool by_work, const bool *stays, eqp_message *message);

/* Seconds of the items of each part: [nparts], the same on all ranks. Collective. */
int eqp__assignment_given(const eqp_assignment *assignment, double *seconds);

/* Takes the map assigned last. loads: decides where shared owners live, see eqp__placements_make(). placements:
 * [nhome] of the owners at home on this rank, in the order of at_home, owned by the caller. *made: the new map;
 * empty before. Collective; on error neither is made. */
int eqp__assignment_take(const eqp_assignment *assignment, const double *loads, int64_t nhome, eqp_map **made,
                         eqp_placement **placements, eqp_map_made *summary);

/* What a map asks of a method, without shares and capacities. weighed: the cycle of the owners' loads counts. Local. */
eqp_balance_options eqp__assignment_wanted(const eqp_map_options *options, int nparts, const eqp_owners *owners,
                                           bool weighed);

/* All of the above in one call, with options->base as overhead. Collective. */
int eqp__assignment_make(MPI_Comm comm, const eqp_map_options *options, eqp_owners *owners, const eqp_map *old,
                         int64_t nhome, eqp_map **made, eqp_placement **placements, eqp_map_made *summary,
                         eqp_message *message);

/* A map of owners [owners->n] whose parts are known and that are not split. Collective. */
int eqp__assignment_of_owners(MPI_Comm comm, const eqp_owners *owners, const int *part, int64_t nhome, eqp_map **made,
                              eqp_placement **placements);

/* Shares of items whose weights sum to `even` (may be 0): each part's share of all work minus its overhead.
 * overhead: [nparts] as for eqp__assignment_find(), or NULL. share: [nparts], sum 1. Local. */
void eqp__assignment_share_out(int nparts, double even, const double *overhead, eqp_part_speeds speeds, double *share);

/* assign_alone.c: parts of all owners [owners->n] by a method with `assign_alone`; the same as eqp__assignment_find()
 * on one rank. Local. */
int eqp__assign_alone(const eqp_map_options *options, int nparts, const eqp_owners *owners, const eqp_map *old,
                      int *part, eqp_map_made *summary);

#endif
