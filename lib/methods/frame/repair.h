/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a repair, shared by its stages. */
#ifndef EQUIPOISE_METHODS_FRAME_REPAIR_H
#define EQUIPOISE_METHODS_FRAME_REPAIR_H

#include "methods/frame/hypergraph.h"

#include <stdint.h>

typedef struct eqp_repair_result {
    double imbalance_before; /**< of the assignment as given */
    int64_t moved;           /**< items that changed part */
} eqp_repair_result;

/** Repairs an assignment: gives items to empty parts (if there are enough items) and moves few items until the
 * imbalance is at most `imbalance_tol`. An assignment without empty parts and within the tolerance is unchanged. Items
 * go first to the part of a neighbour along the curve, then to the part that shares most hyperedge weight, then to the
 * part with most room; if moves do not suffice, items are swapped. If every item weighs at most imbalance_tol x total x
 * the smallest share, the tolerance is always reached; otherwise the result is the best that this search finds. Local,
 * deterministic, about O(n + moved log n + pins) per overloaded part.
 * \param[in]     n              items, in curve order
 * \param[in]     weight         [n] finite, >= 0 (borrowed)
 * \param[in]     graph          hypergraph with the items as vertices, or NULL (borrowed)
 * \param[in]     nparts         >= 1
 * \param[in]     share          [nparts] as in eqp__cuts_from_shares(), or NULL (borrowed)
 * \param[in]     imbalance_tol  wanted imbalance, >= 0
 * \param[in,out] part           [n] 0 to nparts - 1; unchanged on error
 * \return EQP_OK (even if the tolerance is out of reach) or EQP_ERR_MEMORY */
int eqp__parts_repair(int64_t n, const double *weight, const eqp_hypergraph *graph, int nparts, const double *share,
                      double imbalance_tol, int *part, eqp_repair_result *result);

typedef struct eqp__repairing {
    int64_t n;
    const double *weight;
    eqp_hypergraph graph; /* borrowed; nvertices == 0: none */
    int nparts;
    double *scale; /* [nparts] load of the part in perfect balance: total x share */
    double *room;  /* [nparts] largest load within the tolerance */
    double *load;  /* [nparts] */
    int64_t *count;
    int *part;                   /* [n] */
    int64_t *head, *next, *prev; /* linked list of each part's items, ended by -1 */
    int64_t *member;             /* [n] work: the items of one part */
    int64_t *other;              /* [n] work: the items of another part */
} eqp__repairing;

/* Initializes the state from `part`; n, weight and nparts are set. total: sum of the weights. The caller closes m, also
 * after an error. */
int eqp__repair_open(eqp__repairing *m, const double *share, double imbalance_tol, const int *part, double total);

void eqp__repair_close(eqp__repairing *m);

/* An item to be sorted by weight. */
typedef struct eqp__weighed {
    double weight;
    int64_t item;
} eqp__weighed;

/* Comparison for qsort: by falling weight, then by item. */
int eqp__by_falling_weight(const void *a, const void *b);

static inline double eqp__repair_relative(const eqp__repairing *m, int p)
{
    return m->scale[p] > 0 ? m->load[p] / m->scale[p] : 0;
}

void eqp__repair_move(eqp__repairing *m, int64_t item, int to);

/* Copies a part's items into list, ascending; returns their number. */
int64_t eqp__repair_members(const eqp__repairing *m, int p, int64_t *list);

/* Second stage: moves large items of overloaded parts to parts where small items can make room. Allocates memory. */
int eqp__repair_heavy(eqp__repairing *m);

/* Third stage: moves items from overloaded parts to parts with room. Allocates memory. */
int eqp__repair_shed(eqp__repairing *m);

/* Last stage: moves and swaps that lower the largest relative load, until it is within the tolerance or no step helps.
 * Allocates memory. */
int eqp__repair_exchange(eqp__repairing *m);

#endif
