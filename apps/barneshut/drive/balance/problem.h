/* SPDX-License-Identifier: BSD-3-Clause */
/* Gravity as the balancer sees it (<equipoise/problem.h>): owners are groups, and their pins are opened cells. */
#ifndef BH_PROBLEM_H
#define BH_PROBLEM_H

#include "../forces/evaluate.h"

#include "../../physics/defaults.h"
#include "../../physics/motion.h"

#include <equipoise/balancer.h>

/* ---- trace.c ---- */

/* Traces a force evaluation in one phase (motion.h) by an assumed map on any number of parts: each part's work, and its
 * messages in each phase of the exchange, as evaluate.c would send them. */

/* Groups at home, with their essential trees. */
typedef struct bh_trace {
    const bh_domain *domain;
    const bh_mac *mac;
    const eqp_cost_fit *costs;
    int64_t first_group; /* groups of lower ranks */
    int phase;           /* particles on earlier rungs are not active */
    bool overlaps;       /* tasks that need no ghosts are computed while the essential trees are sent */
} bh_trace;

/* Adds loads, blocks and needs of the phases BH_PHASE_... to the evaluation, or its loads alone. placement [groups] of
 * this rank's groups. Collective. */
int bh_trace_map(const bh_trace *trace, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation);

/* ---- problem.c ---- */

/* Set what is borrowed and zero the rest; must not move while its balancer lives. */
typedef struct bh_problem {
    bh_domain *domain;
    bh_evaluator *evaluator;
    eqp_balancer *balancer; /* its costs are used and learnt */
    const double *dt;       /* of the next step */
    const bh_rungs *rungs;
    const double *on_rung; /* [n of the rungs] particles on each, of all ranks */
    int64_t bytes;         /* sent for surveys; whoever reads it clears it */
    double *first; /* [4][particles] forces that the first lists were made with, for comparisons: bh_forces_keep(),
                      owned by the simulation; NULL: the present ones */
    /* If groups come in several sizes: */
    int ngrains; /* 0: one size */
    int size[BH_NGROUP_SIZES];
    bh_homes homes;    /* of the last step, while sizes are tried; n 0: none */
    bh_particles kept; /* state before they moved, while has_kept, and the box of their keys */
    bh_box box;
    bool has_kept, drifted; /* bh_domain.drifted */
    /* Between open and close: */
    bh_trace trace;
    bh_tasks tasks;
    bool has_first; /* the particles' forces and `first` are swapped */
    bool moved;
    int64_t nbefore; /* groups at home before anything moved */
    uint64_t *key;   /* [nbefore] of these groups */
    int64_t *before; /* [groups now] number of each among those of all ranks */
} bh_problem;

/* The balancer's callbacks. Opening the problem for a trace assigns all groups to their homes: tags and grafted cells
 * change, so the tree must be rebuilt before the next evaluation. */
eqp_problem bh_problem_functions(bh_problem *problem);

/* Call after a map was made: frees the state kept while sizes of groups were tried. Local. */
void bh_problem_forget(bh_problem *problem);

#endif
