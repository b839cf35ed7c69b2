/* SPDX-License-Identifier: BSD-3-Clause */
/* What an assignment of dislocation nodes makes of a force evaluation, straight from the definitions: by double loops
 * over all segments, all of which are on one rank. */
#ifndef DD_DEFINITIONS_H
#define DD_DEFINITIONS_H

#include "simulation.h"

#include <stdbool.h>
#include <stdint.h>

/* A node as all ranks know it, with a placement that follows from its tag alone. */
typedef struct known_node {
    dd_tag tag;
    double x[3];
    int64_t cell;
    int narms;
    dd_tag arm[DD_MOST_ARMS];
    eqp_placement placement;
} known_node;

typedef struct known_segment {
    dd_tag owner, other;
    dd_segment at;
    int64_t node; /* the owner's place among the nodes */
    int64_t cell;
} known_segment;

/* A whole network, by tag, and a map. */
typedef struct known {
    int64_t n, nsegments;
    known_node *node;
    known_segment *segment; /* by cell, owner, other end */
    int nparts;
    const eqp_map *map; /* borrowed */
    eqp_map *own;       /* of known_assign() */
} known;

/* Gathers the network on all ranks of the simulation, with the placements and the map that it lives by, whose parts are
 * the ranks. Ends the program where that fails. */
void known_gather(const dd_simulation *sim, known *k);
void known_free(known *k);

/* Nodes to parts by their tags; some are shared. Every rank makes the same. */
void known_assign(known *k, int nparts, bool with_split, const dd_simulation *sim);

/* The placements of a rank's own nodes: owned by the caller. */
eqp_placement *known_placements(const known *k, const dd_simulation *sim);

/* The cell of an own node and its segments: that of the middle of the box around them. */
int64_t define_cell(const dd_simulation *sim, int64_t node);

/* What each part does: [nparts] zeros. */
void define_work(const known *k, const dd_simulation *sim, dd_counts *work);

/* The same exchange that a trace declares, of the phases whose bits are set. */
#define DD_ALL_PHASES ((1U << DD_PHASES) - 1)
void define_exchange(const known *k, const dd_simulation *sim, unsigned phases, eqp_evaluation *evaluation);

/* What is sent straight from part to part, [nparts][nparts]: messages and bytes of all phases. */
typedef struct direct {
    int64_t *messages, *bytes;
} direct;
void define_direct(const known *k, const dd_simulation *sim, direct *sent);

/* Halo, stage and forces anew, by the present map and the plan of the domain: after the problem was closed.
 * Collective. */
int compute_again(dd_simulation *sim);

#endif
