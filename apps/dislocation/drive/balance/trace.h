/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces a force evaluation under an assignment of nodes to any number of parts: loads, and data between parts. Nothing
 * moves: every rank speaks for its own nodes. Real ranks with such a map send the same messages and bytes. */
#ifndef DD_TRACE_H
#define DD_TRACE_H

#include "node_pairs.h"

#include <stdbool.h>

/* For the phases of evaluate.h: forces travel back, segments are ghosts. */
extern const int dd_phase_back[DD_PHASES], dd_phase_ghosts[DD_PHASES];

/* Adds loads by the costs and, unless loads_only, blocks and needs of this rank's nodes to the evaluation. placement:
 * [own nodes]. A block known to several ranks is declared by one of them. Collective. EQP_OK, EQP_ERR_MEMORY,
 * EQP_ERR_MPI on all ranks. */
int dd_trace(dd_node_pairs *node_pairs, const eqp_cost_fit *costs, int nparts, const eqp_map *map,
             const eqp_placement *placement, bool loads_only, eqp_evaluation *evaluation);

#endif
