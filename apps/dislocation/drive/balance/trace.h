/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces a force evaluation under an assignment of nodes to any number of parts: loads, and data between parts. Nothing
 * moves: every rank speaks for its own nodes. Real ranks with such a map send the same messages and bytes. */
#ifndef DD_TRACE_H
#define DD_TRACE_H

#include "node_pairs.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* For the phases of evaluate.h: forces travel back, segments are ghosts. */
extern const int dd_phase_back[DD_PHASES], dd_phase_ghosts[DD_PHASES];

/* Adds loads by the costs and, unless loads_only, blocks and needs of this rank's nodes to the evaluation. placement:
 * [own nodes]. A block known to several ranks is declared by one of them. Collective. EQP_OK, EQP_ERR_MEMORY,
 * EQP_ERR_MPI on all ranks. */
int dd_trace(dd_node_pairs *node_pairs, const eqp_cost_fit *costs, int nparts, const eqp_map *map,
             const eqp_placement *placement, bool loads_only, eqp_evaluation *evaluation);

/* An amount, and the number of nodes that are ends in it. */
typedef struct dd_tally {
    int64_t number;
    int64_t amount, ends;
} dd_tally;

/* Zeroed: empty. */
typedef struct dd_tallies {
    int64_t n, room;
    dd_tally *of; /* owned: free() */
} dd_tallies;

/* A number made of a high part below 2^47 and a part of the map below 2^16. */
int64_t dd_tally_number(int64_t high, int part);
int64_t dd_tally_high(int64_t number);
int dd_tally_part(int64_t number);

/* Adds to the amount of a number. Amortised O(1). EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_tally_add(dd_tallies *list, int64_t number, int64_t amount, int64_t ends);

/* Sends each amount to one rank, the same rank for equal high parts, and adds amounts of equal numbers: each number
 * once, ascending. Collective. */
int dd_tallies_gather(MPI_Comm comm, dd_tallies *list);

#endif
