/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of the method table, and the helpers that the frame offers to methods. */
#ifndef EQUIPOISE_METHODS_FRAME_FRAME_H
#define EQUIPOISE_METHODS_FRAME_FRAME_H

#include "comm/agree.h"
#include "cost/costs.h"
#include "methods/frame/hypergraph.h"

#include <equipoise/balance.h>
#include <equipoise/problem.h>

#include <stdbool.h>
#include <stdint.h>

typedef int eqp__assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result);

#define EQP__ROW(name, folder, library) extern const eqp_method eqp__method_##name;
#include "methods/list.h"
#undef EQP__ROW

/* Methods outside the table. `repair` keeps the present parts of the items, but moves as few items as possible to reach
 * the tolerance: along the curve, to parts that share their pins, to the emptiest parts. Items whose part is unknown
 * start from the part of the curve cut; rank 0 makes the repair. */
extern const eqp_method eqp__method_auto, eqp__method_repair;

/* Sets one of a method's own real options unless it is already set: a program replaces the method's default with a
 * better value. EQP_ERR_UNKNOWN without such an option, EQP_ERR_ARGUMENT for a value out of range. Local. */
int eqp__method_suggest(const eqp_method *method, const char *name, double value, eqp_settings *settings);

/* The first row with this name; NULL: none. own: NULL allowed. */
const eqp_method *eqp__methods_find(const eqp_methods *own, const char *name);

/* Appends the names of the available methods to a message. */
void eqp__methods_add_all(eqp_message *message);

/* The library that a method needs; for messages about methods missing from this build. */
const char *eqp__method_library(const eqp_method *row);

/* The method missing from this build that a word, `NAME` or `NAME:...`, names; NULL: none. */
const eqp_method *eqp__method_lacking_find(const char *word);

/* eqp_balance() on a private communicator. code: this rank's code so far; message: not NULL. Collective. */
int eqp__balance_checked(MPI_Comm comm, int code, const eqp_method *method, const eqp_balance_items *items,
                         const eqp_balance_options *options, int *part, eqp_balance_result *result,
                         eqp_message *message);

/* The values of a method and its options that must agree on all ranks. Local. */
enum { EQP__BALANCE_SAME = 11 };
void eqp__balance_same(const eqp_method *method, const eqp_balance_options *options, eqp__same same[EQP__BALANCE_SAME]);

/* A caller's options in this version's layout: `here` filled, or NULL for a struct that cannot be read. Local. */
const eqp_balance_options *eqp__balance_options_known(const eqp_balance_options *options, eqp_balance_options *here);

/* EQP_ERR_ARGUMENT for an invalid method or invalid options. Local; message: not NULL. */
int eqp__balance_options_check(const eqp_method *method, const eqp_balance_options *options, eqp_message *message);

/* Helpers of several methods. eqp_balance() passes items with `id`, `weight` and `particles` set where n > 0. */

/* *known: true if every item of every rank has a present part in 0 to nparts - 1. Collective. */
int eqp__parts_are_known(MPI_Comm comm, const eqp_balance_items *items, int nparts, int *known);

/* The present parts; if any is unknown, the optimal cut of the weights along the curve. Collective. */
int eqp__present_parts(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part);

/* Cuts n ordered items into consecutive ranges that follow target shares: each cut falls where the running load is
 * nearest to its target. With equal shares and n >= nparts no range is empty. Loads that sum to zero count as 1 each.
 * load: [n]; share: [nparts] or NULL: equal; first: [nparts + 1] first item of each part. EQP_OK, EQP_ERR_MEMORY, or
 * EQP_ERR_ARGUMENT for an invalid load or share. Local, O(n + nparts log n), deterministic. */
int eqp__cuts_from_shares(int64_t n, const double *load, int nparts, const double *share, int64_t *first);

/* eqp_cuts_optimal() for parts that already have some load: minimizes the largest (have + load) / (nparts x share). At
 * the ideal positions every part has its share of the total, including `have`. Parts may stay without items. have:
 * [nparts] finite, >= 0; NULL: same as eqp_cuts_optimal(). */
int eqp__cuts_beside(int64_t n, const double *load, int nparts, const double *share, const double *have, int64_t *first,
                     double *bottleneck);

/* Parts by a cut along the curve: eqp_cuts_optimal() if `optimal`, else eqp__cuts_from_shares(). code: this rank's code
 * so far. Collective. */
int eqp__cut_curve(MPI_Comm comm, int code, int64_t n, const double *load, const eqp_balance_options *options,
                   int optimal, int *part);

/* Measures the cycle of parts from their loads [nparts][nphases], finite and >= 0. times: [nphases] occurrences of each
 * phase in a cycle, > 0, or NULL: once; share: [nparts] or NULL. *cycle: unchanged on error. EQP_ERR_OVERFLOW for loads
 * whose sum is not finite. Local, O(nparts x nphases). */
int eqp__cycle_of_parts(int nparts, const double *load, int nphases, const double *times, const double *share,
                        eqp_cycle *cycle);

/* The same for an assignment of n items with loads [n][nphases]. EQP_ERR_MEMORY or EQP_ERR_OVERFLOW. */
int eqp__cycle_measure(int64_t n, const double *load, const int *part, int nphases, const double *times, int nparts,
                       const double *share, eqp_cycle *cycle);

/* EQP_ERR_ARGUMENT unless nphases is 1 to EQP_CYCLE_PHASES and all times are finite and > 0. times: NULL: 1 each. */
int eqp__phases_check(int nphases, const double *times);

static inline double eqp__times(const double *times, int k)
{
    return times ? times[k] : 1.0;
}

/* Enforces options->capacity: if a part exceeds it, rank 0 runs eqp__capacity_repair() on the items of all ranks.
 * mend: items may move; if false, rank 0 only looks for a proof. Adds the moved items to result->repaired. Collective.
 * EQP_ERR_CAPACITY, with the proof in the message, if a part still exceeds its capacity. */
int eqp__capacity_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, bool mend,
                      int *part, eqp_balance_result *result);

/* eqp__parts_relabel() for distributed items: renumbers the parts in `part` so that much work keeps its part in `now`
 * ([n]; NULL on ranks without present parts). number: [nparts] new number of each part; NULL allowed. Collective. */
int eqp__relabel_all(MPI_Comm comm, const eqp_balance_items *items, const int *now, const eqp_balance_options *options,
                     int *part, int *number);

/* eqp__parts_repair() for distributed items. An assignment without empty parts and within imbalance_tol stays
 * unchanged. Gathers weights and parts on rank 0, and up to 2^26 pins. Sets the result's imbalance_unrepaired and
 * repaired. Collective. */
int eqp__repair_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                    double imbalance_tol, int *part, eqp_balance_result *result);

/* The same for items with loads in several phases, by eqp__levelled_repair(), without renumbering.
 * imbalance_unrepaired: that of the cycle, 1 / efficiency - 1. Collective. */
int eqp__repair_cycle(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                      eqp_balance_result *result);

/* Sorts pins by id and keeps the heaviest of each id; returns the number kept. Local. */
int64_t eqp__pins_unique(int64_t n, eqp__pin *pin);

typedef struct eqp_part_loads {
    double total;     /* sum of all loads */
    double max;       /* largest load / (nparts x share): with equal shares the largest load */
    double mean;      /* total / nparts */
    double imbalance; /* max / mean - 1; 0 if the total is 0 */
    int heaviest;     /* the part with the largest relative load (lowest number on a tie) */
    int empty;        /* parts without items */
} eqp_part_loads;

/* Sums an assignment's loads. weight, part: [n]; share: [nparts] or NULL: equal; load: [nparts] load of each part, or
 * NULL. EQP_OK or EQP_ERR_MEMORY. Local, O(n + nparts), deterministic. */
int eqp__parts_load(int64_t n, const double *weight, const int *part, int nparts, const double *share, double *load,
                    eqp_part_loads *loads);

/* The same for items that are spread over the ranks; every rank gets the same bits. Collective. */
int eqp__parts_load_all(MPI_Comm comm, int64_t n, const double *weight, const int *part, int nparts,
                        const double *share, eqp_part_loads *loads);

/* Weight of the items in part `fresh` of a new assignment and in part `now` of the present one. */
typedef struct eqp_overlap {
    int fresh, now;
    double weight;
} eqp_overlap;

/* Lists the overlaps of two assignments, ordered by (fresh, now), each pair once. Items whose present part is not in 0
 * to nparts - 1 are left out. fresh, now: [n]; weight: [n] or NULL: 1. *overlaps: [*noverlaps], owned by the caller;
 * NULL if there is none. EQP_OK or EQP_ERR_MEMORY. Local, O(n log n), deterministic. */
int eqp__overlaps_collect(int64_t n, const int *fresh, const int *now, const double *weight, int nparts,
                          int64_t *noverlaps, eqp_overlap **overlaps);

/* Renumbers the parts of a new assignment so that much weight stays in place. Overlaps are matched in falling order
 * (greedy: at least half of the largest weight that can stay), each part and each number once; remaining parts get the
 * remaining numbers in ascending order. Only parts of equal share change numbers. Several overlaps of one pair add up.
 * number: [nparts] present number for each new part, a permutation. EQP_OK or EQP_ERR_MEMORY. Local, O(m log m +
 * nparts) for m overlaps, deterministic. */
int eqp__parts_relabel(int nparts, const double *share, int64_t noverlaps, const eqp_overlap *overlaps, int *number);

void eqp__part_loads_finish(int nparts, const double *share, const double *load, const int64_t *count,
                            eqp_part_loads *loads);

/* Lower bound of the imbalance of any assignment: the largest item alone in the part with the largest share. */
double eqp__imbalance_floor(double largest_item, double mean, int nparts, const double *share);

/* Slack in comparisons of imbalances: loads are summed in varying order. */
#define EQP__IMBALANCE_SLACK 1e-9

/* EQP_ERR_ARGUMENT unless nparts >= 1 and the shares (NULL: equal) are > 0 with sum 1. */
int eqp__shares_check(int nparts, const double *share);

/* NULL if all shares are equal, so that explicit equal shares and NULL take the same path. */
const double *eqp__shares_reduce(int nparts, const double *share);

/* Share of part p times nparts: 1 for equal shares. */
static inline double eqp__share_scale(const double *share, int nparts, int p)
{
    return share ? share[p] * nparts : 1;
}

/* Columns of the items that rank 0 gathers in addition to weights. Weights of pins come with the pins if any rank has
 * them. */
enum eqp__columns {
    EQP__IDS = 1,
    EQP__PARTICLES = 2,
    EQP__POINTS = 4,
    EQP__SOURCES = 8,               /* if any rank has them */
    EQP__SIZES = 16,                /* if any rank has them */
    EQP__PHASES = 32,               /* if there are several phases */
    EQP__PINS = 64,                 /* up to 2^26 over all ranks; beyond that pin_first is NULL */
    EQP__POINTS_WITHOUT_PINS = 128, /* points, unless pins are gathered */
    EQP__PART_NOW = 256             /* part_now is set to the input values of `part` */
};

/* The function `assign_alone` of a row. Local. */
typedef int eqp__alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result);

/* Calls `alone` on rank 0 with the items of all ranks, in rank order. Its `part` starts as the ranks' parts; the new
 * parts return to the ranks, together with the result's repaired and imbalance_unrepaired. part: unchanged on error.
 * Collective. */
int eqp__gather_and_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                           unsigned columns, eqp__alone *alone, int *part, eqp_balance_result *result);

/* Builds the hypergraph of the items' pins; the weight of an edge is the largest among its pins. Without pins the graph
 * stays empty. The caller frees it, also after an error. Local. */
int eqp__items_graph(const eqp_balance_items *items, eqp_hypergraph *graph);

#endif
