/* SPDX-License-Identifier: BSD-3-Clause */
/* This app's side of what-if comparisons: see apps/common/run_whatif.h. */
#ifndef BH_WHATIF_H
#define BH_WHATIF_H

#include "simulation.h"
#include "trace.h"

#include "../../common/run_whatif.h"

typedef struct bh_whatif {
    app_whatif what; /* what app_whatif_open() takes: it points to this struct, which must stay where it is */
    bh_domain *domain;
    bh_evaluator *evaluator;
    double dt; /* of the next step */
    bh_trace trace;
    bh_works works;
    bool moved;
    int64_t nbefore; /* groups at home before anything moved */
    int64_t *before; /* [groups now] number, over all ranks, that each had then */
} bh_whatif;

/* Makes all groups computed at home, for the time being, and fetches what their lists need: the tags of the particles
 * and what was grafted onto the tree are others after that. costs must be known. Collective; *what is to be closed in
 * any case. */
int bh_whatif_open(bh_domain *domain, bh_evaluator *evaluator, const app_costs *costs, double dt, bh_whatif *what);
void bh_whatif_close(bh_whatif *what);

#endif
