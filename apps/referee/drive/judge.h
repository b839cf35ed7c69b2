/* SPDX-License-Identifier: BSD-3-Clause */
/* Judgements beyond the library's comparison: the map of the trace, and the performance of maps in all later phases. */
#ifndef RF_JUDGE_H
#define RF_JUDGE_H

#include "problem.h"

#include <equipoise/balancer.h>

/* A map over the phases after the one that it was made of. */
typedef struct rf_later {
    double mean, most; /* imbalance of the phases */
    double seconds;    /* sum of the largest loads */
    int64_t moved;     /* items whose part is another one than the rank that had them; -1: not known */
} rf_later;

/* The row of the map of the run, and what each map comes to; all on rank 0 only. */
typedef struct rf_judged {
    int n, room;      /* rows of the comparison so far, in its order */
    rf_later *later;  /* [n] */
    int **part;       /* [n][items] or NULL where maps are not kept */
    bool keep;        /* maps are wanted */
    eqp_compared run; /* the map of the run; parts 0: the trace has none */
    rf_later run_later;
} rf_judged;

/* Takes the next row's map in: problem->part. Local. */
int rf_judge_map(const rf_problem *problem, int nparts, rf_judged *judged);

/* The map that the trace came with, as if it had stayed; and in later phases as it was. network: scaled. plan: NULL:
 * the cheapest. Local; leaves problem->part, begin and now changed. */
int rf_judge_run(rf_problem *problem, const eqp_network *network, const eqp_exchange_plan *plan, rf_judged *judged);

void rf_judged_free(rf_judged *judged);

#endif
