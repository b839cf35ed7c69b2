/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the trace and the output: the settings, a trace as the balancer sees it, the referee's own method, bounds and
 * judgements. */
#ifndef RF_PROBLEM_H
#define RF_PROBLEM_H

#include "../../shell/run_settings.h"
#include "../trace/trace.h"

#include <equipoise/balance.h>
#include <equipoise/balancer.h>
#include <equipoise/problem.h>

#include <mpi.h>

/* settings.c: the command line. */

/* Most files on the command line; for more, give their folder. */
#define RF_MOST_FILES 4096

/* At least the number of options. */
#define RF_SETTINGS_ROWS 64

typedef struct rf_settings {
    app_run_settings run; /* snapshot: the first file */
    const char *path[RF_MOST_FILES];
    const char *edges, *method;
    int64_t ranks; /* declared ranks of the run; else 0 */
    int64_t phase; /* that the map is made for, if given */
    int64_t cycle; /* number of phases, from that one on, that a map is made for */
    bool given[RF_SETTINGS_ROWS];
    int npaths;     /* derived */
    bool has_phase; /* derived */
} rf_settings;

const app_command_line *rf_settings_table(void);

/* Looks names of rf_settings up and checks its options against each other. EQP_OK, or a code with a message. */
int rf_settings_complete(void *settings, eqp_message *message);

/* memory.c: exact memory of parts: the bytes of their items, the largest working set of one item, each shared block
 * once, and the rank's own bytes. Local. */

/* True if the trace has the memory of items or, with a cap, at least their bytes. */
bool rf_memory_known(const rf_trace *trace, bool capped);

/* Bytes that an item holds on any part, and while it is computed; its shared block, or -1. */
double rf_memory_held(const rf_trace *trace, int64_t item);
double rf_memory_working(const rf_trace *trace, int64_t item);
int32_t rf_memory_block(const rf_trace *trace, int64_t item);

/* Bytes of each part without items: [nparts]. If nparts differs from the number of ranks, every part gets the largest
 * value of all ranks. */
void rf_memory_own(const rf_trace *trace, int nparts, double *bytes);

/* Bytes of each part. part: [n] of each item; bytes: [nparts]. EQP_OK, EQP_ERR_MEMORY. O(n + nparts). */
int rf_memory_of_parts(const rf_trace *trace, const int *part, int nparts, double *bytes);

/* Capacities of the parts: [nparts] bytes. A multiple of the mean refers to the least possible need, with each block in
 * one part. EQP_OK, EQP_ERR_MEMORY. */
int rf_memory_capacity(const rf_trace *trace, const eqp_capacities *capacities, int nparts, double *bytes);

/* Sets *proof to the lower bound that no map can meet; "" if there is none. EQP_OK, EQP_ERR_MEMORY. */
int rf_memory_prove(const rf_trace *trace, const eqp_capacities *capacities, int nparts, eqp_message *proof);

/* problem.c: a trace as the balancer sees it: movable items are owners, fixed items are work in every map. */

/* Every rank has the whole trace and is home to a piece of the curve. */
typedef struct rf_problem {
    MPI_Comm comm; /* borrowed */
    int rank, nranks;
    const rf_trace *trace; /* borrowed */
    int64_t at;            /* index of the phase, or first phase of the cycle, that maps are made for */
    int ncycle;            /* phases of the cycle, each of which all parts end together; 1: no cycle */
    int64_t begin;         /* index of the first phase of the cycle that judges maps */
    int64_t now;           /* index of the present phase within that cycle */
    int64_t nmoving;       /* movable items */
    int64_t *item;         /* [nmoving] along the curve */
    int64_t *place;        /* [trace->n] along the curve, or -1 */
    uint64_t *key;         /* [nmoving] ascending */
    int64_t first, count;  /* piece of this rank */
    int64_t *pin_first;    /* [nmoving + 1] into pin */
    int64_t *pin;          /* places of the items that send to it, in phase `at` or its cycle */
    bool *sends;           /* [trace->n] sends its own bytes in phase `now` */
    double
        scale; /* power of two by which loads and messages are scaled for the balancer, which counts in nanoseconds */
    double quantum; /* seconds of a unit of work, scaled */
    int *part;      /* [trace->n] of each item, as far as known */
    uint64_t seed;
    bool measured;             /* the memory of parts is known and declared */
    bool capped;               /* parts have these capacities: */
    eqp_capacities capacities; /* borrowed */
} rf_problem;

/* at: index of the first of ncycle phases, 1 to EQP_CYCLE_PHASES. capacities: of parts (copied except its array).
 * Local; the trace must not move. */
int rf_problem_create(MPI_Comm comm, const rf_trace *trace, int64_t at, int ncycle, const eqp_capacities *capacities,
                      uint64_t seed, rf_problem *problem);
void rf_problem_free(rf_problem *problem);

/* Callbacks for the balancer. */
eqp_problem rf_problem_functions(rf_problem *problem);

/* Scales costs of messages for the balancer, and its results back. Local. */
eqp_network rf_problem_network(const rf_problem *problem, const eqp_network *network);
void rf_problem_unscale(const rf_problem *problem, eqp_compared *row);

/* Sets problem->part to the part of every item by a map, on all ranks. Collective. */
int rf_problem_gather(rf_problem *problem, int nparts, const eqp_map *map, const eqp_placement *placement);

/* The part of a fixed item. */
int rf_problem_fixed_part(const rf_trace *trace, int64_t phase, int64_t item, int nparts);

/* Sets now to phase k of the cycle that judges maps, as eqp_problem.turn does. problem: an rf_problem. EQP_OK. Local.
 */
int rf_problem_turn(void *problem, int k);

/* The phases of a cycle, one turn each. */
eqp_cycle_turns rf_problem_cycle(const rf_problem *problem);

/* Declares the capacities of parts to an evaluation. Local. */
int rf_problem_cap(const rf_problem *problem, int nparts, eqp_evaluation *evaluation);

/* Adds phase `now` under problem->part to an evaluation: piece `piece` of `npieces`. Local. */
int rf_problem_tell(const rf_problem *problem, int nparts, int piece, int npieces, bool loads_only,
                    eqp_evaluation *evaluation);

/* greedy.c: the referee's own method. Maps cost nothing here, so it searches for the most even map that fits into
 * memory. */

extern const eqp_methods rf_methods;

typedef struct rf_packing {
    const rf_trace *trace;  /* its memory counts where capacity is not NULL */
    const double *load;     /* [n] >= 0, finite */
    const int *pinned;      /* [n] part of a fixed item, else -1 */
    int nparts;             /* >= 1 */
    const double *capacity; /* [nparts] bytes; NULL: ignores memory */
    double bound;           /* lower bound of the largest load: a map that reaches it is optimal */
    uint64_t seed;          /* of the search */
} rf_packing;

/* Assigns items to parts: the heaviest first to the least loaded part, with blocks together if memory matters. Then
 * moves and swaps items by simulated annealing with a fixed number of trials, until the largest load is at the bound.
 * If no map that fits is found, returns the closest one. Deterministic. Local; O(n log n + trials). part: [n]. EQP_OK,
 * EQP_ERR_MEMORY; unchanged on error. */
int rf_pack(const rf_packing *packing, int *part);

/* bounds.c: lower bounds of the largest load, and the closest method. */

typedef struct rf_bound {
    double load;     /* no map has a smaller largest load, summed over the phases of a cycle; in the trace's unit */
    const char *why; /* static: the reason */
} rf_bound;

/* EQP_OK, EQP_ERR_MEMORY. O(n log n + nparts log nparts) for each phase. */
int rf_bound_find(const rf_problem *problem, int nparts, rf_bound *bound);

/* eqp_problem.assign of the methods of rf_methods: every rank makes the same map and returns its piece. */
int rf_bound_assign(void *user, const eqp_method *method, int nparts, const double *speed, int64_t n,
                    const double *centre, const double *seconds, int *part);

/* judge.c: judgements beyond the library's comparison: the trace's own map, and all maps in later phases. */

/* A map in the phases after the phase it was made for. */
typedef struct rf_later {
    double mean, most; /* imbalance of the phases */
    double seconds;    /* sum of the largest loads */
    int64_t moved;     /* items assigned to another rank than the recorded one; -1: unknown */
} rf_later;

/* The row of the run's map, and the later results of each map; on rank 0 only. */
typedef struct rf_judged {
    int n, room;      /* rows of the comparison so far, in its order */
    rf_later *later;  /* [n] */
    int **part;       /* [n][items], NULL for maps that are not kept */
    bool keep;        /* maps are kept */
    eqp_compared run; /* map of the run; parts 0: the trace has none */
    rf_later run_later;
} rf_judged;

/* Adds the next row's map, problem->part. Local. */
int rf_judge_map(const rf_problem *problem, int nparts, rf_judged *judged);

/* Judges the trace's own map as if it had stayed; in later phases as recorded. network: scaled. plan: NULL: the
 * cheapest. Local; changes problem->part, begin and now. */
int rf_judge_run(rf_problem *problem, const eqp_network *network, const eqp_exchange_plan *plan, rf_judged *judged);

void rf_judged_free(rf_judged *judged);

#endif
