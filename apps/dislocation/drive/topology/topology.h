/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of the network's topology in a step, on all ranks. */
#ifndef DD_TOPOLOGY_H
#define DD_TOPOLOGY_H

#include "close.h"

#include "../../physics/motion/mobility.h"
#include "../../physics/network/rules.h"
#include "../../physics/network/split.h"

/* In the order in which they are tried. */
enum {
    DD_TOPOLOGY_SPLIT,      /* a node of many arms becomes two */
    DD_TOPOLOGY_CROSS_SLIP, /* a screw changes its plane */
    DD_TOPOLOGY_COLLIDE,    /* two segments touch */
    DD_TOPOLOGY_ZIP,        /* two arms of a node close */
    DD_TOPOLOGY_COARSEN,    /* a node goes */
    DD_TOPOLOGY_REFINE,     /* a segment is cut */
    DD_TOPOLOGY_KINDS
};
extern const char *const dd_topology_names[DD_TOPOLOGY_KINDS];

/* Over all ranks. */
typedef struct dd_topology_counts {
    int64_t done[DD_TOPOLOGY_KINDS];
    int64_t created, deleted; /* nodes */
    int64_t lost;             /* operations that others went before, until the next step */
} dd_topology_counts;

/* How nodes that come apart would move, in which medium (both are borrowed as long as the mover is used); noise: speeds
 * that mean nothing. */
dd_mover dd_topology_mover(const dd_mobility *mobility, const dd_medium *medium, double noise);

/* Splits, cross slip, collisions, then remeshing: coarsens, then refines; each in a few rounds until none has lost. The
 * network that comes out, down to the last bit, does not depend on the ranks or on where nodes live. Uses positions,
 * velocities and the arms' forces as they are: forces must be those at the present positions, and are to be computed
 * anew afterwards. If anything was done nodes are sorted by tag afterwards, else they stay in their places. mover:
 * NULL: no splits and no cross slip. split: whether nodes may split in this step, the same on all ranks. step: its
 * number, the same on all ranks. closes: candidates for collisions, of dd_close_find() for this network (borrowed);
 * NULL: no collisions, zips neither. code: of this rank so far; all ranks return that of one that has failed. sum:
 * [nsums] of this rank, added up over the ranks on the way; nsums <= EQP_MEET_SUMS - 5. counts: unchanged on error.
 * area: swept by what was done, over all ranks: the sum of dd_slip_end(), to rounding the same for any ranks. Errors as
 * of dd_transact(). Collective: where nobody wants anything the ranks meet once. */
int dd_topology_step(dd_domain *domain, int code, const dd_rules *rules, const dd_mover *mover, bool split,
                     int64_t step, const dd_closes *closes, int nsums, double *sum, dd_topology_counts *counts,
                     double area[9], eqp_message *message);

#endif
