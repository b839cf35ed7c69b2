/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of the network's topology in a step, on all ranks. */
#ifndef DD_TOPOLOGY_H
#define DD_TOPOLOGY_H

#include "../../physics/motion/mobility.h"
#include "../../physics/network/operations.h"
#include "../stage/stage.h"

/* ---- Pairs of segments so close that they may touch. */

/* Two segments without a common node, by the tags of their ends: the lower segment first, each with its owner first. */
typedef struct dd_close {
    dd_tag tag[4];
    int home[4]; /* of the four nodes */
} dd_close;

typedef struct dd_closes {
    int64_t n, room;
    dd_close *pair; /* owned */
} dd_closes;

void dd_closes_free(dd_closes *closes);

/* All pairs of near segments closer than reach, at the positions of the stage's last refresh; the topology must not
 * have changed since the stage was created. Sharers of an owner may each find the same pair. *closes: zeroed, or a
 * former list, which is replaced. O(near pairs). Collective; EQP_OK, or a code of this rank
 * alone. */
int dd_close_find(const dd_domain *domain, const dd_stage *stage, double reach, dd_closes *closes);

/* ---- Operations across ranks. An operation is a pure function of a patch: a few nodes with all of
 * their data. Patches travel to the ranks that run operations, results to the nodes' homes. Among operations that claim
 * the same node the one with the smallest key goes ahead, whoever asked and wherever the node lives, so the resulting
 * network does not depend on the ranks (the local-minimum rule of parallel independent sets: M. Luby, SIAM J. Comput.
 * 15 (1986) 1036). */

#define DD_OPERATION_BASES 4

/* Zero it before use: it is sent as bytes. */
typedef struct dd_operation {
    uint64_t key;                    /* random bits; the smallest goes ahead */
    dd_tag base[DD_OPERATION_BASES]; /* distinct nodes, in the operation's order; it runs at the home of base[0] */
    int home[DD_OPERATION_BASES];    /* their homes */
    int kind, phase;                 /* phase: 0 to 255; all of a phase precede those of the next one */
    int nbase;                       /* 1 to 4 */
    int nnew;                        /* new tags that it may use, 0 to DD_PATCH_NEW */
    bool neighbours;                 /* the base nodes are followed by all of their neighbours, in the order of arms */
} dd_operation;

/* Runs an operation. *done: false at first; if it stays false the patch is discarded. Arms need no homes. An error ends
 * the transaction on all ranks with this code. */
typedef int (*dd_operation_fn)(const dd_operation *operation, dd_patch *patch, void *context, bool *done);

typedef struct dd_transact_counts {
    bool failed;  /* on all ranks */
    bool changed; /* true if an operation of any rank has changed something, or has lost in all rounds */
    int phase;    /* the last phase that was carried out, the same on all ranks; -1: there are no operations */
    int64_t lost; /* operations of this rank that lost to other operations in all rounds */
} dd_transact_counts;

/* Carries out the first phase, or later ones as long as nothing changes. An operation that several ranks propose is
 * carried out once. In each round every operation that has all of its nodes is carried out; the rest compete again in
 * the next round, on the changed network. New nodes live where their operation ran. New tags go to operations by key,
 * and next_tag moves past all reserved ones, used or not. The order of the network's nodes changes; homes of other
 * nodes do not. wanted: [n] (borrowed), all that this rank knows of, including those that run elsewhere. rounds: at
 * most; >= 1, the same on all ranks. message: set on a rank at fault. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW (no tags
 * left, a patch that is too large), EQP_ERR_INTERNAL (an arm to a missing node), or an operation's code; after an error
 * the domain may only be freed. Collective, without a blocking call: the code may be this rank's alone and must go to
 * its next collective call; counts are set in any case. */
int dd_transact(dd_domain *domain, int code, int64_t n, const dd_operation *wanted, int rounds, dd_operation_fn run,
                void *context, dd_transact_counts *counts, eqp_message *message);

/* ---- All changes of a step. */

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
 * was done nodes are sorted by tag, else they keep their places. split: true if nodes may split in this step, the same
 * on all ranks. step: its number, the same on all ranks. closes: candidates for collisions, from dd_close_find() for
 * this network (borrowed). counts: unchanged on error. area: swept by the operations of all ranks, see dd_slip_end();
 * the same for any ranks up to rounding. alone: code of this rank so far; then one that the other ranks do not know.
 * message: set on a rank at fault. Errors as of dd_transact(), the same on all ranks. Collective: the ranks meet once
 * at the end if anything has changed. */
int dd_topology_step(dd_domain *domain, int *alone, const dd_rules *rules, const dd_mover *mover, bool split,
                     int64_t step, const dd_closes *closes, dd_topology_counts *counts, double area[9],
                     eqp_message *message);

#endif
