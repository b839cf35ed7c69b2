/* SPDX-License-Identifier: BSD-3-Clause */
/* Repairs an assignment that a partitioner left with empty or overloaded parts. */
#include "methods/frame/repair.h"

#include "base/internal.h"
#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

#include <math.h>

static int ascending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

int eqp__by_falling_weight(const void *a, const void *b)
{
    const eqp__weighed *x = a, *y = b;

    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    return (x->item > y->item) - (x->item < y->item);
}

static void list_remove(eqp__repairing *m, int64_t item)
{
    int64_t before = m->prev[item], after = m->next[item];

    if (before >= 0) {
        m->next[before] = after;
    } else {
        m->head[m->part[item]] = after;
    }
    if (after >= 0) {
        m->prev[after] = before;
    }
}

static void list_add(eqp__repairing *m, int64_t item, int p)
{
    m->part[item] = p;
    m->prev[item] = -1;
    m->next[item] = m->head[p];
    if (m->head[p] >= 0) {
        m->prev[m->head[p]] = item;
    }
    m->head[p] = item;
}

void eqp__repair_move(eqp__repairing *m, int64_t item, int to)
{
    int from = m->part[item];

    list_remove(m, item);
    list_add(m, item, to);
    m->load[from] -= m->weight[item];
    m->load[to] += m->weight[item];
    m->count[from]--;
    m->count[to]++;
    if (m->count[from] == 0) {
        m->load[from] = 0; /* removes rounding errors */
    }
}

int64_t eqp__repair_members(const eqp__repairing *m, int p, int64_t *list)
{
    int64_t found = 0;
    int sorted = 1;

    for (int64_t i = m->head[p]; i >= 0; i = m->next[i]) {
        sorted = sorted && (found == 0 || list[found - 1] < i);
        list[found++] = i;
    }
    if (!sorted) {
        qsort(list, (size_t)found, sizeof *list, ascending);
    }
    return found;
}

/* The better gift for an empty part: the largest item that does not overload the part, else the smallest. */
static int64_t best_gift(const eqp__repairing *m, int64_t item, int to, int64_t best)
{
    if (best < 0) {
        return item;
    }
    double target = m->scale[to], w = m->weight[item], b = m->weight[best];
    if ((w <= target) != (b <= target)) {
        return w <= target ? item : best;
    }
    return (w <= target ? w > b : w < b) ? item : best;
}

/* The most loaded part that can spare an item; -1 if none can. */
static int find_donor(const eqp__repairing *m)
{
    int donor = -1;

    for (int p = 0; p < m->nparts; p++) {
        if (m->count[p] < 2) {
            continue;
        }
        double r = eqp__repair_relative(m, p), d = donor < 0 ? -1 : eqp__repair_relative(m, donor);
        if (r > d || (r == d && m->count[p] > m->count[donor])) {
            donor = p;
        }
    }
    return donor;
}

static double largest_relative(const eqp__repairing *m)
{
    double largest = 0;

    for (int p = 0; p < m->nparts; p++) {
        largest = fmax(largest, eqp__repair_relative(m, p));
    }
    return largest;
}

static int gift_fits(const eqp__repairing *m, int64_t item, int to, double worst)
{
    return m->weight[item] <= fmax(m->room[to], worst * m->scale[to]);
}

/* First stage: gives every empty part an item, unless the item would exceed both the part's room and the present
 * largest relative load. */
static void fill_empty(eqp__repairing *m)
{
    for (int q = 0; q < m->nparts; q++) {
        int donor = m->count[q] == 0 ? find_donor(m) : -1;
        int64_t gift = -1;
        double worst = donor >= 0 ? largest_relative(m) : 0;
        for (int64_t i = donor >= 0 ? m->head[donor] : -1; i >= 0; i = m->next[i]) {
            gift = best_gift(m, i, q, gift);
        }
        if (donor >= 0 && !gift_fits(m, gift, q, worst)) {
            /* Only with unequal shares: takes the smallest item of any part with at least two items. */
            for (int64_t i = 0; i < m->n; i++) {
                gift = m->count[m->part[i]] >= 2 && m->weight[i] < m->weight[gift] ? i : gift;
            }
        }
        if (donor >= 0 && gift_fits(m, gift, q, worst)) {
            eqp__repair_move(m, gift, q);
        }
    }
}

static int repair_allocate(eqp__repairing *m)
{
    int64_t has[5] = {0}; /* long arrays stay uninitialized */

    EQP__CHECK(EQP__ARRAYS({&m->scale, m->nparts, sizeof(double)}, {&m->room, m->nparts, sizeof(double)},
                           {&m->load, m->nparts, sizeof(double)}, {&m->count, m->nparts, sizeof(int64_t)},
                           {&m->head, m->nparts, sizeof(int64_t)}));
    EQP__CHECK(eqp_array_reserve(&m->part, &has[0], m->n, sizeof(int)));
    EQP__CHECK(eqp_array_reserve(&m->next, &has[1], m->n, sizeof(int64_t)));
    EQP__CHECK(eqp_array_reserve(&m->prev, &has[2], m->n, sizeof(int64_t)));
    EQP__CHECK(eqp_array_reserve(&m->member, &has[3], m->n, sizeof(int64_t)));
    EQP__CHECK(eqp_array_reserve(&m->other, &has[4], m->n, sizeof(int64_t)));
    return EQP_OK;
}

void eqp__repair_close(eqp__repairing *m)
{
    EQP__FREE(m->scale, m->room, m->load, m->count, m->head, m->part, m->next, m->prev, m->member, m->other);
}

int eqp__repair_open(eqp__repairing *m, const double *share, double imbalance_tol, const int *part, double total)
{
    EQP__CHECK(repair_allocate(m));
    for (int p = 0; p < m->nparts; p++) {
        m->scale[p] = total / m->nparts * eqp__share_scale(share, m->nparts, p);
        m->room[p] = m->scale[p] * (1 + imbalance_tol + EQP__IMBALANCE_SLACK);
        m->head[p] = -1;
    }
    for (int64_t i = m->n - 1; i >= 0; i--) {
        list_add(m, i, part[i]);
        m->load[part[i]] += m->weight[i];
        m->count[part[i]]++;
    }
    return EQP_OK;
}

static int run_stages(eqp__repairing *m)
{
    fill_empty(m);
    EQP__CHECK(eqp__repair_heavy(m));
    EQP__CHECK(eqp__repair_shed(m));
    return eqp__repair_exchange(m);
}

int eqp__parts_repair(int64_t n, const double *weight, const eqp_hypergraph *graph, int nparts, const double *share,
                      double imbalance_tol, int *part, eqp_repair_result *result)
{
    eqp__repairing m = {.n = n, .weight = weight, .nparts = nparts};
    eqp_part_loads before;
    int code;

    EQP_TRY(eqp__parts_load(n, weight, part, nparts, share, NULL, &before));
    *result = (eqp_repair_result){.imbalance_before = before.imbalance};
    const bool fillable = before.empty && n > nparts - before.empty;
    if (fillable || before.imbalance > imbalance_tol + EQP__IMBALANCE_SLACK) {
        if (graph) {
            m.graph = *graph;
        }
        EQP_TRY(eqp__repair_open(&m, eqp__shares_reduce(nparts, share), imbalance_tol, part, before.total));
        EQP_TRY(run_stages(&m));
        for (int64_t i = 0; i < n; i++) {
            result->moved += part[i] != m.part[i];
            part[i] = m.part[i];
        }
    }
done:
    eqp__repair_close(&m);
    return code;
}

/* Repair of a distributed assignment. Rank 0 does the work: few items move. */

static int repair(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result)
{
    eqp_hypergraph graph = {0};
    eqp_repair_result repaired;
    int code;

    EQP_TRY(eqp__items_graph(items, &graph));
    EQP_TRY(eqp__parts_repair(items->n, items->weight, &graph, options->nparts, options->share, options->imbalance_tol,
                              part, &repaired));
    result->repaired = repaired.moved;
done:
    eqp__hypergraph_free(&graph);
    return code;
}

int eqp__repair_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                    double imbalance_tol, int *part, eqp_balance_result *result)
{
    eqp_balance_options here = *options;
    eqp_part_loads loads;
    int64_t total;

    here.imbalance_tol = imbalance_tol;
    EQP__CHECK(eqp__parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, &loads));
    EQP__CHECK(eqp_scan_int64(comm, items->n, NULL, &total));
    result->imbalance_unrepaired = loads.imbalance;
    result->repaired = 0;
    const bool fillable = loads.empty > 0 && total > options->nparts - loads.empty;
    if (fillable || loads.imbalance > imbalance_tol + EQP__IMBALANCE_SLACK) {
        EQP__CHECK(eqp__gather_and_assign(comm, items, &here, EQP__PINS, repair, part, result));
    }
    return EQP_OK;
}

/* Repairs the present parts, or the parts of the curve if present ones are unknown. */
static int assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result)
{
    int code = eqp__present_parts(comm, items, options, part);

    if (code || options->nphases > 1) {
        return code ? code : eqp__repair_cycle(comm, items, options, part, result);
    }
    return eqp__repair_all(comm, items, options, options->imbalance_tol, part, result);
}

const eqp_method eqp__method_repair = {.name = "repair",
                                       .summary = "the present parts, mended by moving a few items",
                                       .flags = EQP_NEEDS_WEIGHTS,
                                       .assign = assign};
