/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace as a balancer sees it: items that may move are owners, those that may not are work that every map has. */
#ifndef RF_PROBLEM_H
#define RF_PROBLEM_H

#include "../trace/trace.h"

#include <equipoise/balancer.h>
#include <equipoise/problem.h>

#include <mpi.h>

/* Every rank has the whole trace; it is home to a piece of the curve. */
typedef struct rf_problem {
    MPI_Comm comm; /* borrowed */
    int rank, nranks;
    const rf_trace *trace; /* borrowed */
    int64_t at;            /* index of the phase that maps are made of, or of the first one of a cycle */
    int ncycle;            /* phases of the cycle, each of which all parts end together; 1: none */
    int64_t begin;         /* index of the phase that the cycle begins with by which they are judged */
    int64_t now;           /* index of the present phase in it */
    int64_t nmoving;       /* items that may move */
    int64_t *item;         /* [nmoving] along the curve */
    int64_t *place;        /* [trace->n] along the curve, or -1 */
    uint64_t *key;         /* [nmoving] ascending */
    int64_t first, count;  /* piece of this rank */
    int64_t *pin_first;    /* [nmoving + 1] into pin */
    int64_t *pin;          /* places of the items that send to it, in phase `at` or its cycle */
    bool *sends;           /* [trace->n] it sends its own bytes to somebody, in phase `now` */
    double scale;   /* a power of two: the balancer sees loads and messages times this, as it counts in nanoseconds */
    double quantum; /* seconds of a unit of work, scaled */
    int *part;      /* [trace->n] of each item, as far as known */
    uint64_t seed;
    bool measured;             /* what parts need in memory is known and told */
    bool capped;               /* parts have no more than: */
    eqp_capacities capacities; /* borrowed */
} rf_problem;

/* at: index of a phase, with which ncycle phases of the trace begin, 1 to EQP_CYCLE_PHASES. capacities: of parts
 * (copied but for its array). Local; the trace stays where it is. */
int rf_problem_create(MPI_Comm comm, const rf_trace *trace, int64_t at, int ncycle, const eqp_capacities *capacities,
                      uint64_t seed, rf_problem *problem);
void rf_problem_free(rf_problem *problem);

/* Answers to the balancer. */
eqp_problem rf_problem_functions(rf_problem *problem);

/* Converts costs of messages to the balancer's scale, and results back from it. Local. */
eqp_network rf_problem_network(const rf_problem *problem, const eqp_network *network);
void rf_problem_unscale(const rf_problem *problem, eqp_compared *row);

/* The part of every item by a map: problem->part, on all ranks. Collective. */
int rf_problem_gather(rf_problem *problem, int nparts, const eqp_map *map, const eqp_placement *placement);

/* The part of an item that may not move. */
int rf_problem_fixed_part(const rf_trace *trace, int64_t phase, int64_t item, int nparts);

/* Looks at phase k of the cycle by which maps are judged: problem->now. Local. */
void rf_problem_turn(rf_problem *problem, int k);

/* The phases of a cycle: each comes once. */
eqp_cycle_turns rf_problem_cycle(const rf_problem *problem);

/* Says to an evaluation what parts have in memory. Local. */
int rf_problem_cap(const rf_problem *problem, int nparts, eqp_evaluation *evaluation);

/* Tells an evaluation what problem->part makes of the phase `now`: piece `piece` of `npieces` of it. Local. */
int rf_problem_tell(const rf_problem *problem, int nparts, int piece, int npieces, bool loads_only,
                    eqp_evaluation *evaluation);

#endif
