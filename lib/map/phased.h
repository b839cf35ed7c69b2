/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners that are computed by different parts in the phases of a cycle. */
#ifndef MAP_PHASED_H
#define MAP_PHASED_H

#include "map/items.h"

#include <stdint.h>

/* Adds n entries with one rank per phase to a map that has no such entries: rank [n][nphases]. Any number of owners may
 * share an entry. The tag of the i-th is -1 - i - eqp_map_shared() before the call. EQP_OK or EQP_ERR_MEMORY. */
int eqp__map_add_phased(eqp_map *map, int64_t n, int nphases, const int *rank);

/* Makes a map for each phase: items are cut by their loads in that phase, by the method and with the options of one
 * load. phased: [items][phases] parts; items->part: parts of the first phase. result: of the cycle. Collective. */
int eqp__phased_assign(MPI_Comm comm, const eqp_method *method, const eqp_items *items, const eqp_cycle_turns *phases,
                       const eqp_balance_options *usual, int *phased, eqp_balance_result *result);

/* Numbers the parts of each phase after the homes [items] that they share most work with. Collective. */
int eqp__phased_relabel(MPI_Comm comm, const eqp_items *items, int nphases, const int *home,
                        const eqp_balance_options *usual, int *phased);

/* Tags of owners whose part depends on the phase, and their entries in the map, which has none yet. part:
 * [n][nphases] of this rank's owners; placement: [n], tags set. Collective. EQP_OK, EQP_ERR_MEMORY or EQP_ERR_MPI on
 * all ranks. */
int eqp__phased_place(MPI_Comm comm, int64_t n, int nphases, const int *part, eqp_placement *placement, eqp_map *map);

#endif
