/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a repair, shared by its stages. */
#ifndef EQUIPOISE_METHODS_FRAME_REPAIR_H
#define EQUIPOISE_METHODS_FRAME_REPAIR_H

#include <equipoise/more/assign.h>

typedef struct eqp__repairing {
    int64_t n;
    const double *weight;
    eqp_hypergraph_view graph; /* nvertices == 0: none */
    int nparts;
    double *scale; /* [nparts] load that a part holds in perfect balance: total x share */
    double *room;  /* [nparts] the most that it may hold */
    double *load;  /* [nparts] */
    int64_t *count;
    int *part;                   /* [n] */
    int64_t *head, *next, *prev; /* each part's items as a list; -1 ends it */
    int64_t *member;             /* [n] work: the items of one part */
    int64_t *other;              /* [n] work: the items of another part */
} eqp__repairing;

/* Begins with these parts; n, weight, nparts are set. total: of the weights. Closed by the caller in any case. */
int eqp__repair_open(eqp__repairing *m, const double *share, double imbalance_tol, const int *part, double total);

void eqp__repair_close(eqp__repairing *m);

/* An item to be sorted by weight. */
typedef struct eqp__weighed {
    double weight;
    int64_t item;
} eqp__weighed;

/* For qsort: heavy ones first, equal ones by number. */
int eqp__by_falling_weight(const void *a, const void *b);

static inline double eqp__repair_relative(const eqp__repairing *m, int p)
{
    return m->scale[p] > 0 ? m->load[p] / m->scale[p] : 0;
}

/* Gives an item to another part. */
void eqp__repair_move(eqp__repairing *m, int64_t item, int to);

/* Copies the items of a part into list, ascending; returns their number. */
int64_t eqp__repair_members(const eqp__repairing *m, int p, int64_t *list);

/* First stage: an item for every empty part, as long as that makes no part worse than the worst. */
void eqp__repair_fill(eqp__repairing *m);

/* Second stage: the large items of overloaded parts find places where small ones can make room. Needs memory of its
 * own. */
int eqp__repair_heavy(eqp__repairing *m);

/* Third stage: overloaded parts give items to parts with room. Needs memory of its own. */
int eqp__repair_shed(eqp__repairing *m);

/* Last stage: moves and exchanges that lower the largest relative load, until it fits or none does. */
int eqp__repair_exchange(eqp__repairing *m);

#endif
