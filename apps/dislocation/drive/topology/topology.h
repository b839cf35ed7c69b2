/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of the network's topology in a step, on all ranks. */
#ifndef DD_TOPOLOGY_H
#define DD_TOPOLOGY_H

#include "close.h"

#include "../../physics/motion/mobility.h"
#include "../../physics/network/operations.h"

/* In the order in which they are tried. */
enum {
    DD_TOPOLOGY_SPLIT,      /* a node of four arms or more becomes two */
    DD_TOPOLOGY_CROSS_SLIP, /* a screw changes its plane */
    DD_TOPOLOGY_COLLIDE,    /* two segments touch */
    DD_TOPOLOGY_ZIP,        /* two arms of a node close */
    DD_TOPOLOGY_COARSEN,    /* a node is removed */
    DD_TOPOLOGY_REFINE,     /* a segment is cut */
    DD_TOPOLOGY_KINDS
};
extern const char *const dd_topology_names[DD_TOPOLOGY_KINDS];

/* Over all ranks. */
typedef struct dd_topology_counts {
    int64_t done[DD_TOPOLOGY_KINDS];
    int64_t created, deleted; /* nodes */
    int64_t lost;             /* operations that lost their nodes to other operations, until the next step */
} dd_topology_counts;

/* Motion of nodes after a split, and the medium (both borrowed while the mover is in use). noise: speed that counts as
 * zero. */
dd_mover dd_topology_mover(const dd_mobility *mobility, const dd_medium *medium, double noise);

/* Splits, cross slip, collisions, then remeshing: coarsening, then refining; each in a few rounds until no operation
 * loses. The resulting network has the same bits whatever the ranks and the nodes' homes. Uses the present positions
 * and velocities, and the arms' forces, which must belong to these positions; recompute forces afterwards. If anything
 * was done nodes are sorted by tag, else they keep their places. mover: NULL: no splits and no cross slip. split: true
 * if nodes may split in this step, the same on all ranks. step: its number, the same on all ranks. closes: candidates
 * for collisions, from dd_close_find() for this network (borrowed); NULL: no collisions and no zips. code: of this rank
 * so far; all ranks return the code of a rank that failed. sum: [nsums] of this rank, then of all ranks; nsums <=
 * EQP_MEET_SUMS - 5. counts: unchanged on error. area: swept by the operations of all ranks, see dd_slip_end(); the
 * same for any ranks up to rounding. Errors as of dd_transact(). Collective: without candidates the ranks meet once. */
int dd_topology_step(dd_domain *domain, int code, const dd_rules *rules, const dd_mover *mover, bool split,
                     int64_t step, const dd_closes *closes, int nsums, double *sum, dd_topology_counts *counts,
                     double area[9], eqp_message *message);

#endif
