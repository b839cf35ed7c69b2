/* SPDX-License-Identifier: BSD-3-Clause */
/* Gravity as the balancer sees it (<equipoise/problem.h>): owners are groups, what they touch are opened cells. */
#ifndef BH_PROBLEM_H
#define BH_PROBLEM_H

#include "../forces/evaluate.h"
#include "trace.h"

#include "../../physics/defaults.h"
#include "../../physics/motion.h"

#include <equipoise/balancer.h>

/* Set what is borrowed, the rest is zero; must stay where it is while its balancer lives. */
typedef struct bh_problem {
    bh_domain *domain;
    bh_evaluator *evaluator;
    eqp_balancer *balancer; /* that asks; what costs are learnt by, too */
    const double *dt;       /* of the next step */
    const bh_rungs *rungs;
    const double *on_rung; /* [n of the rungs] particles on each, of all ranks */
    int64_t bytes;         /* sent for surveys; whoever reads it clears it */
    double *first;         /* [4][particles] what they had when the first lists were made, for comparisons of these:
                              bh_forces_keep(), owned by the simulation; NULL: what they have now */
    /* Where groups come in several sizes: */
    int ngrains; /* 0: in one */
    int size[BH_NGROUP_SIZES];
    bh_homes homes;    /* of the last step, while sizes are tried; n 0: none are */
    bh_particles kept; /* as they were before they moved, while has_kept, and the box that their keys are of */
    bh_box box;
    bool has_kept, drifted; /* bh_domain.drifted */
    /* Between open and close: */
    bh_trace trace;
    bh_tasks tasks;
    bool has_first; /* the particles have `first` for now, which has theirs */
    bool moved;
    int64_t nbefore; /* groups at home before anything moved */
    uint64_t *key;   /* [nbefore] theirs */
    int64_t *before; /* [groups now] number, over all ranks, that each had then */
} bh_problem;

/* The functions. To open it for a trace makes all groups computed at home, for the time being: the tags of the groups
 * and what was grafted onto the tree are others after that, and the tree must be grown again before the next
 * evaluation. */
eqp_problem bh_problem_functions(bh_problem *problem);

/* A map was made: what trying sizes of groups has kept is not needed any longer. Local. */
void bh_problem_forget(bh_problem *problem);

#endif
