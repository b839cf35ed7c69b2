/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of a step: on this rank, and of all ranks as the record has it. */
#ifndef DD_BALANCE_WORK_H
#define DD_BALANCE_WORK_H

#include "../forces/evaluate.h"
#include "../topology/topology.h"

#include <equipoise/balancer.h>

/* One rank in one step. */
typedef struct dd_rank_row {
    eqp_rank_row common;    /* load: of all evaluations of the step */
    double count[DD_KINDS]; /* of the last evaluation */
    double segments, length;
} dd_rank_row;

/* One step over all ranks; the same on all of them. */
typedef struct dd_step {
    eqp_step common;         /* interactions: pairs of the last evaluation */
    int64_t count[DD_KINDS]; /* of the last evaluation */
    double dt;               /* s, of this step */
    int64_t evaluations;     /* of the forces */
    int64_t nodes, segments;
    double length;         /* of all segments, b */
    double strain, stress; /* plastic, applied (Pa), along the loading direction */
    dd_topology_counts topology;
} dd_step;

/* Work of this rank since the last step was recorded. */
typedef struct dd_work {
    dd_rank_row row;
    int64_t count[DD_KINDS];  /* of all evaluations */
    int64_t mapped[DD_KINDS]; /* the same, as the map assigns it */
    int64_t evaluations;
    dd_moved moved;
    double begin;     /* eqp_busy_seconds() at the start of the step, with its map; 0: not known */
    bool walls_moved; /* or are new */
} dd_work;

/* Adds the last evaluation of the forces. Local. */
void dd_work_add(dd_work *work, const dd_evaluator *evaluator);

#endif
