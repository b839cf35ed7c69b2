/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the trace and the output: what a balancer sees of a trace, the referee's own method, bounds and judgements.
 */
#ifndef RF_PROBLEM_H
#define RF_PROBLEM_H

#include "../trace/trace.h"

#include <equipoise/balance.h>
#include <equipoise/balancer.h>
#include <equipoise/problem.h>

#include <mpi.h>

/* memory.c: The exact memory of parts: the bytes of their items, the largest working set of one item, each shared block
 * once, and the rank's own bytes. Local. */

/* True if the trace tells what items need, or, with a cap, at least their bytes. */
bool rf_memory_known(const rf_trace *trace, bool capped);

/* Bytes that an item holds on any part. */
double rf_memory_held(const rf_trace *trace, int64_t item);

/* Bytes of each part without items: [nparts]. If nparts differs from the number of ranks, every part gets the largest
 * value of a rank. */
void rf_memory_own(const rf_trace *trace, int nparts, double *bytes);

/* Bytes that each part needs. part: [n] of each item. bytes: [nparts] EQP_OK, EQP_ERR_MEMORY. O(n + nparts). */
int rf_memory_of_parts(const rf_trace *trace, const int *part, int nparts, double *bytes);

/* Capacities of the parts: [nparts] bytes. A multiple of the mean need is taken of the least possible need, with each
 * block in one part. EQP_OK, EQP_ERR_MEMORY. */
int rf_memory_capacity(const rf_trace *trace, const eqp_capacities *capacities, int nparts, double *bytes);

/* Sets *proof to the lower bound that no map can meet; "" if no bound is broken. EQP_OK, EQP_ERR_MEMORY. */
int rf_memory_prove(const rf_trace *trace, const eqp_capacities *capacities, int nparts, eqp_message *proof);

/* problem.c: A trace as a balancer sees it: items that may move are owners, those that may not are work that every map
 * has. */

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

/* greedy.c: The referee's own method: maps cost nothing here, so it searches for the most even map that fits into
 * memory. */

extern const eqp_methods rf_methods;

/* Items to be divided. */
typedef struct rf_packing {
    const rf_trace *trace;  /* its memory counts where capacity is not NULL */
    const double *load;     /* [n] >= 0, finite */
    const int *pinned;      /* [n] part of an item that may not move, else -1 */
    int nparts;             /* >= 1 */
    const double *capacity; /* [nparts] bytes; NULL: memory does not matter */
    double bound;           /* no largest load is below it: a map that reaches it is the best one */
    uint64_t seed;          /* of the search */
} rf_packing;

/* Gives each item a part: the heaviest first to the part with least, blocks together where memory matters; then moves
 * and exchanges, by simulated annealing with a fixed number of trials, until the largest load is at the bound, or as
 * low as is found. Where nothing that fits is found, the map that is nearest to it. Deterministic. Local; O(n log n +
 * trials). part: [n]. EQP_OK, EQP_ERR_MEMORY; unchanged on error. */
int rf_pack(const rf_packing *packing, int *part);

/* bounds.c: Lower bounds of the largest load, and the method that comes nearest to them. */

typedef struct rf_bound {
    double load;     /* no map has a smaller largest load, summed over the phases of a cycle; as the trace counts */
    const char *why; /* static: the reason */
} rf_bound;

/* EQP_OK, EQP_ERR_MEMORY. O(n log n + nparts log nparts) for each phase. */
int rf_bound_find(const rf_problem *problem, int nparts, rf_bound *bound);

/* eqp_problem.assign of the methods of rf_methods: every rank makes the same map and says its piece of it. */
int rf_bound_assign(void *user, const eqp_method *method, int nparts, const double *speed, int64_t n,
                    const double *centre, const double *seconds, int *part);

/* judge.c: Judgements beyond the library's comparison: the map of the trace, and the performance of maps in all later
 * phases. */

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
