/* SPDX-License-Identifier: BSD-3-Clause */
/* What an assignment of nodes to any number of parts makes of a force evaluation: who computes how much, which data
 * travel between whom. Nothing moves: the network stays where it is and every rank speaks for its own nodes. Real
 * ranks with such a map send the same messages and bytes. */
#ifndef DD_TRACE_H
#define DD_TRACE_H

#include "node_pairs.h"

#include <stdbool.h>

/* Of the phases of evaluate.h. */
extern const int dd_phase_back[DD_PHASES], dd_phase_ghosts[DD_PHASES];

/* Adds to the evaluation, on this rank, what its own nodes make of the assignment: loads by the costs, and, unless
 * loads_only, blocks and needs. placement: [own nodes]. Blocks that several ranks know of are declared on one of them.
 * Collective. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks. */
int dd_trace(dd_node_pairs *node_pairs, const eqp_cost_fit *costs, int nparts, const eqp_map *map,
             const eqp_placement *placement, bool loads_only, eqp_evaluation *evaluation);

#endif
