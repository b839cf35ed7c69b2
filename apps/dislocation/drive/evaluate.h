/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces on all nodes: every pair of near segments once, on the rank that the map says; self forces, applied stress and
 * the far field where the segments live. */
#ifndef DD_EVALUATE_H
#define DD_EVALUATE_H

#include "../physics/elastic/pairs.h"
#include "stage/stage.h"
#include "work.h"

#include <equipoise/more/loops.h>

/* What travels in an evaluation. */
enum {
    DD_PHASE_NODES,    /* positions of neighbours */
    DD_PHASE_SEGMENTS, /* nodes in which segments end */
    DD_PHASE_MOMENTS,  /* of cells, to those who transform them */
    DD_PHASE_COLUMNS,  /* of their wave numbers, to those who multiply them with kernels */
    DD_PHASE_PLANES,   /* the products, back */
    DD_PHASE_FIELDS,   /* local expansions, to those who have segments in the cells */
    DD_PHASE_FORCES,   /* forces on them, back */
    DD_PHASE_ARMS,     /* forces on the ends that live elsewhere */
    DD_PHASES
};

typedef struct dd_evaluator {
    dd_medium medium;
    dd_pairs_fn pairs;
    double stress[6]; /* applied: xx yy zz yz zx xy */
    dd_waves *waves;  /* for the grid of the last evaluation; NULL before it, and where nothing is far */
    eqp_loop *loop;   /* hands out pairs: see stealing.h; NULL: all are computed where the map says (borrowed) */
    /* of the last evaluation */
    dd_counts total;    /* on this rank */
    dd_counts mapped;   /* what the map says of this rank, whoever has computed it */
    dd_counts *of_node; /* [of_nodes] on this rank for each own node; owned */
    int64_t of_nodes, node_room;
    dd_counts *of_share; /* [of_shares] on this rank for each of the stage's shares in nodes of others; owned */
    int64_t of_shares, share_room;
    double seconds;                      /* CPU seconds in forces on this rank */
    int64_t helped;                      /* iterations of others that this rank computed */
    double exchange_seconds;             /* CPU seconds in sending and receiving, waiting included */
    int64_t bytes;                       /* sent by this rank */
    int64_t handed_bytes;                /* of these, with what was handed out: no phase's */
    eqp_route_counts traffic[DD_PHASES]; /* of this rank */
    eqp_timings *timings;                /* batches of the work, of all evaluations since they were cleared; owned */
} dd_evaluator;

void dd_evaluator_init(dd_evaluator *evaluator, const dd_medium *medium, dd_pairs_fn pairs);
void dd_evaluator_free(dd_evaluator *evaluator);

/* Sets the force of every arm of the own nodes, for positions as they are: refreshes the halo and the stage first. What
 * needs own segments only is computed while the others travel, the rest while moments do; pairs that are handed out,
 * all of them then. The order of all sums follows from ranks, map and plan alone. code: of this rank so far; all ranks
 * return that of one that has failed. Collective. */
int dd_evaluate(dd_evaluator *evaluator, dd_domain *domain, dd_halo *halo, dd_stage *stage, int code);

/* Adds the seconds of the far field, which no map deals out, to those of all parts, [nparts]. Local. */
void dd_evaluator_base(const dd_grid *grid, const eqp_cost_fit *costs, int nparts, double *seconds);

/* Sum of the forces on a node's arms. Local. */
void dd_node_force(const dd_node *node, double force[3]);

#endif
